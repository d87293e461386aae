package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/audit"
)

// confirmFor is how long a person may take to answer in their client.
const confirmFor = 15 * time.Minute

// question is the name of what a client is asked; there is one at a time.
const question = "approval"

// inputRequired ends a call of a request that stands alone: the client asks the
// person and calls again with the answer.
type inputRequired struct{ ask, state string }

func (*inputRequired) Error() string { return "a person has to answer first" }

func (q *inputRequired) result() *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{question: confirmation(q.ask)}, RequestState: q.state}
}

// confirmation asks for a yes or no; there is nothing to fill in.
func confirmation(text string) *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Mode: "form", Message: text,
		RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}},
	}
}

// CanConfirm reports whether the client can put a question to its person.
func (c *Call) CanConfirm() bool {
	caps := c.req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return false
	}
	// Naming neither form means the only one there was at first.
	return caps.Elicitation.Form != nil || caps.Elicitation.URL == nil
}

// Confirm asks the person at the client. binding is what the yes is for: the
// exact target and arguments. In a session the answer is waited for; a request
// that stands alone ends here with an error to be passed on, and comes back with
// the answer.
func (c *Call) Confirm(ctx context.Context, text string, binding []byte) (yes bool, err error) {
	asked := time.Now()
	var answer *sdk.ElicitResult
	if c.Revision >= firstAlone {
		answer, err = c.confirmAlone(text, binding)
	} else {
		ctx, cancel := context.WithTimeout(ctx, confirmFor)
		defer cancel()
		answer, err = c.req.Session.Elicit(ctx, confirmation(text))
	}
	if _, pending := errors.AsType[*inputRequired](err); pending {
		return false, err // nobody has answered yet
	}
	c.noteAnswer(binding, answer, err, time.Since(asked))
	return err == nil && answer != nil && answer.Action == accepted, err
}

// accepted is what a client answers for a person who said yes.
const accepted = "accept"

// noteAnswer puts into the trail what a person said in their client. The inbox keeps its
// own record; this is the only one of questions that never were there.
func (c *Call) noteAnswer(binding []byte, answer *sdk.ElicitResult, err error, waited time.Duration) {
	if c.face.d.Trail == nil {
		return
	}
	outcome := "rejected"
	switch _, ours := errors.AsType[*Error](err); {
	case ours:
		outcome = "invalid"
	case errors.Is(err, context.DeadlineExceeded):
		outcome = "expired"
	case err != nil || answer == nil || answer.Action == "cancel":
		outcome = "cancelled"
	case answer.Action == accepted:
		outcome = "approved"
	}
	sum := sha256.Sum256(binding)
	c.face.d.Trail.Note(audit.Entry{
		Actor: c.Who.String(), Action: audit.ApprovalElicited, Target: c.Tool, Outcome: outcome, Duration: waited, Digest: hex.EncodeToString(sum[:]),
		Detail: map[string]any{"token": c.Who.TokenID, "address": c.Who.Address, "client": short(c.Client)},
	})
}

// sealedQuestion is what a client carries from a question to its answer. It
// proves that this hub asked this token exactly this, and not long ago.
type sealedQuestion struct {
	Nonce   string `json:"n"`
	Owner   string `json:"o"`
	Tool    string `json:"t"`
	Binding string `json:"b"`
	Expires int64  `json:"e"`
}

func (c *Call) confirmAlone(text string, binding []byte) (*sdk.ElicitResult, error) {
	sum := sha256.Sum256(binding)
	asked := sealedQuestion{Owner: ownerOf(c.Who), Tool: c.Tool, Binding: hex.EncodeToString(sum[:])}
	state := c.req.Params.RequestState
	if state == "" {
		asked.Nonce, asked.Expires = rand.Text(), time.Now().Add(confirmFor).Unix()
		return nil, &inputRequired{ask: text, state: c.face.seal(asked)}
	}
	got, ok := c.face.open(state)
	asked.Nonce, asked.Expires = got.Nonce, got.Expires
	if !ok || got != asked || time.Now().Unix() > got.Expires || !c.face.once(got) {
		return nil, Errorf("bad_args", "the answer does not belong to this call; call again without requestState to be asked anew")
	}
	answer, _ := c.req.Params.InputResponses[question].(*sdk.ElicitResult)
	return answer, nil
}

// seal writes a question so that only this cluster could have.
func (f *Face) seal(q sealedQuestion) string {
	text, _ := json.Marshal(q) // strings and a number: cannot fail
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(f.mac(text))
}

func (f *Face) open(state string) (q sealedQuestion, ok bool) {
	body, tag, _ := strings.Cut(state, ".")
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return q, false
	}
	mac, err := base64.RawURLEncoding.DecodeString(tag)
	if err != nil || !hmac.Equal(mac, f.mac(text)) {
		return q, false
	}
	return q, json.Unmarshal(text, &q) == nil
}

func (f *Face) mac(text []byte) []byte {
	h := hmac.New(sha256.New, f.key)
	h.Write(text)
	return h.Sum(nil)
}

// once lets an answer count a single time.
func (f *Face) once(q sealedQuestion) bool {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for nonce, until := range f.answered {
		if now.After(until) {
			delete(f.answered, nonce)
		}
	}
	if _, used := f.answered[q.Nonce]; used {
		return false
	}
	f.answered[q.Nonce] = time.Unix(q.Expires, 0)
	return true
}
