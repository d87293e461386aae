package mmpagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// Verdict is what came of one requirement.
type Verdict string

// The verdicts.
const (
	Pass          Verdict = "PASS"
	Fail          Verdict = "FAIL"
	NotApplicable Verdict = "N/A"
)

// Finding is one line of a compliance report.
type Finding struct {
	Number      int     `json:"number"` // 1 to 5; 0 for a note
	Requirement string  `json:"requirement"`
	Result      Verdict `json:"result"`
	Detail      string  `json:"detail"`
}

// Report is a server held against the protocol's compliance list.
type Report struct {
	Place    string    `json:"place"`
	Direct   string    `json:"direct"`
	Findings []Finding `json:"findings"`
	Notes    []string  `json:"notes"`
	OK       bool      `json:"ok"`
}

// CheckOptions say how to look at a server.
type CheckOptions struct {
	// Direct is where its agent is met; empty is the place's own address.
	Direct   string
	HTTP     *http.Client
	Insecure bool
	// Keys saves making two pairs; for tests.
	Keys []Keys
}

// ErrUnreachable says that nothing that speaks HTTP answered.
var ErrUnreachable = errors.New("the server cannot be reached")

// checker runs the list with two throw-away agents.
type checker struct {
	opts     CheckOptions
	a, b     *Agent
	direct   *Direct
	report   *Report
	unsigned bool
}

// Check holds a server against the protocol's compliance list, with throw-away
// agents that leave when it is done.
func Check(ctx context.Context, place string, opts CheckOptions) (*Report, error) {
	c := &checker{opts: opts, report: &Report{Place: place, Direct: opts.Direct, OK: true}}
	if opts.Direct == "" {
		c.report.Direct = place
	}
	if err := c.prepare(ctx, place); err != nil {
		return nil, err
	}
	defer c.leave(context.WithoutCancel(ctx))
	c.coreActions(ctx)
	c.messageFormat(ctx)
	c.unknownAction(ctx)
	c.encryption(ctx)
	c.contentHashes(ctx)
	return c.report, nil
}

func (c *checker) add(number int, requirement string, result Verdict, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{number, requirement, result, fmt.Sprintf(format, args...)})
	c.report.OK = c.report.OK && result != Fail
}

func (c *checker) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
}

func (c *checker) prepare(ctx context.Context, place string) error {
	keys := c.opts.Keys
	for len(keys) < 2 {
		k, err := NewKeys()
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	var err error
	for i, agent := range []**Agent{&c.a, &c.b} {
		*agent, err = Open(place, Options{
			ID: "check-" + strings.TrimPrefix(mmp.NewAgentID(), "agent_"), Name: "Compliance check", Description: "Leaves in a moment",
			Keys: keys[i], HTTP: c.opts.HTTP, Insecure: c.opts.Insecure,
		})
		if err != nil {
			return err
		}
	}
	info, err := c.a.Info(ctx)
	if _, answered := errors.AsType[*Error](err); err != nil && !answered {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err == nil {
		c.note("%s: policy %s, protocol %s, features %s", orElse(info.Name, "a place"), orElse(info.Auth, "not told"), orElse(info.ProtocolVersion, "not told"), orElse(strings.Join(info.Features, " "), "not told"))
	} else {
		c.note("there is no /place/v1/info: %s", err)
	}
	c.register(ctx)
	if c.direct, err = c.a.Direct(c.report.Direct); err != nil {
		return err
	}
	return nil
}

// register goes in signed; a server that refuses signatures is tried without.
func (c *checker) register(ctx context.Context) {
	for _, agent := range []*Agent{c.a, c.b} {
		out, err := agent.Register(ctx)
		if err != nil && agent.Token() == "" {
			c.note("a signed registration was refused: %s", err)
			c.unsigned = true
			agent.mu.Lock()
			ring := agent.opts.Keys
			agent.opts.Keys = Keys{}
			agent.mu.Unlock()
			if _, err = agent.Register(ctx); err != nil {
				c.note("so was an unsigned one: %s", err)
			}
			agent.mu.Lock()
			agent.opts.Keys = ring
			agent.mu.Unlock()
			if err := agent.PublishKey(ctx); err != nil {
				c.note("a key could not be registered: %s", err)
			}
			continue
		}
		if err == nil && !out.ExpiresAt.IsZero() && agent == c.a {
			c.note("a registration lives %s", out.ExpiresAt.Sub(agent.opts.Now()).Round(time.Second))
		}
	}
}

func (c *checker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	for _, agent := range []*Agent{c.a, c.b} {
		if _, err := agent.Unregister(ctx); err != nil && !errors.Is(err, ErrNotFound) {
			c.note("a throw-away agent could not leave: %s", err)
		}
		_ = agent.Close()
	}
}

// message makes one of the throw-away agent's.
func (c *checker) message(action string, payload any) (meeting.Message, error) {
	return meeting.NewMessage(action, c.a.ID(), "", payload, c.a.opts.Now())
}

// absent tells whether there is no agent to talk to.
func absent(err error) bool { return errors.Is(err, ErrNotFound) }

func (c *checker) coreActions(ctx context.Context) {
	const what = "core actions: introduce, goodbye, error"
	payloads := map[string]any{
		meeting.ActionIntroduce: map[string]any{"identity": map[string]string{"name": "Compliance check", "instance_id": c.a.ID()}, "capabilities": meeting.CoreActions(), "extensions": []string{}},
		meeting.ActionGoodbye:   meeting.GoodbyePayload{Reason: meeting.GoodbyeSessionComplete},
		meeting.ActionError:     meeting.ErrorPayload{ErrorCode: meeting.CodeInternal, Message: "a test", Recoverable: true},
	}
	for _, action := range meeting.CoreActions() {
		m, err := c.message(action, payloads[action])
		var out map[string]mmp.Raw
		if err == nil {
			out, err = c.say(ctx, m)
		}
		switch {
		case absent(err):
			c.add(1, what, NotApplicable, "no agent answers at %s/meeting/v1; name one with --direct", c.report.Direct)
			return
		case err != nil:
			c.add(1, what, Fail, "%s: %s", action, err)
			return
		case text(out["status"]) == meeting.ResultError:
			c.add(1, what, Fail, "%s was answered with status error", action)
			return
		}
	}
	c.add(1, what, Pass, "all three are accepted")
}

// say is what the agent's answer has, member by member.
func (c *checker) say(ctx context.Context, m meeting.Message) (out map[string]mmp.Raw, err error) {
	answer, err := c.direct.Say(ctx, m)
	if err == nil {
		err = mmp.DecodeTolerant(answer, &out)
	}
	return out, err
}

func text(raw mmp.Raw) string {
	var s string
	_ = mmp.Decode(raw, &s) // what is no text is none
	return s
}

func (c *checker) messageFormat(ctx context.Context) {
	const what = "the standard message format"
	var body mmp.Raw
	err := c.direct.agent.fetch(ctx, c.direct.base, request{method: "GET", path: "/introduce"}, &body)
	if absent(err) {
		c.add(2, what, NotApplicable, "no agent answers at %s/meeting/v1", c.report.Direct)
		return
	}
	if err != nil {
		c.add(2, what, Fail, "its introduction: %s", err)
		return
	}
	if !meeting.HasAction(body) {
		c.note("GET introduce is a bare introduction, not a message")
	} else if _, err := meeting.DecodeMessage(body); err != nil {
		c.add(2, what, Fail, "its introduction is no message: %s", err)
		return
	}
	err = c.direct.agent.fetch(ctx, c.direct.base, request{method: "POST", path: "/message", body: map[string]string{"action": meeting.ActionIntroduce, "from": c.a.ID()}}, nil)
	if e, refused := errors.AsType[*Error](err); !refused || e.Status < 400 || e.Status > 499 {
		c.add(2, what, Fail, "a message without id and timestamp was not refused (%v)", err)
		return
	}
	c.add(2, what, Pass, "makes messages, and refuses incomplete ones: %s", err)
}

func (c *checker) unknownAction(ctx context.Context) {
	const what = "an unknown action gives an error, and the server lives"
	m, err := c.message("check_no_such_action", map[string]any{})
	if err != nil {
		c.add(3, what, Fail, "%s", err)
		return
	}
	out, err := c.say(ctx, m)
	e, refused := errors.AsType[*Error](err)
	switch {
	case absent(err):
		c.add(3, what, NotApplicable, "no agent answers at %s/meeting/v1", c.report.Direct)
		return
	case refused && e.Status < 500:
		c.note("an unknown action is answered with HTTP %d", e.Status)
	case err != nil:
		c.add(3, what, Fail, "%s", err)
		return
	case text(out["status"]) != meeting.ResultError:
		c.add(3, what, Fail, "status is %q, not error", text(out["status"]))
		return
	}
	if err := c.a.try(ctx, request{method: "GET", path: "/agents"}, nil); err != nil {
		c.add(3, what, Fail, "afterwards: %s", err)
		return
	}
	c.add(3, what, Pass, "%s", orElse(text(out["error"]), "refused"))
}

func (c *checker) encryption(ctx context.Context) {
	const what = "end-to-end encryption for the relay"
	if problem := c.keysExact(ctx); problem != "" {
		c.add(4, what, Fail, "%s", problem)
		return
	}
	detail, err := c.crosses(ctx)
	if err != nil {
		c.add(4, what, Fail, "%s", err)
		return
	}
	c.add(4, what, Pass, "%s", detail)
}

func (c *checker) keysExact(ctx context.Context) string {
	var k mmp.KeyAnswer
	if err := c.a.call(ctx, request{method: "GET", path: "/keys/" + c.b.ID()}, &k); err != nil {
		return "the key cannot be fetched: " + err.Error()
	}
	public := c.b.ring().RSA.Public()
	switch {
	case k.PublicKey != public.PEM():
		return "the key did not come back byte for byte"
	case k.Fingerprint != "" && k.Fingerprint != public.Fingerprint():
		c.note("the place's fingerprint is of another form: %s", k.Fingerprint)
	}
	return ""
}

// crosses sends both kinds of envelope and opens them at the other end.
func (c *checker) crosses(ctx context.Context) (string, error) {
	secret := "the tea is in the third tin " + mmp.NewMessageID()
	blob, err := mmp.Seal1(c.b.ring().RSA.Public(), []byte(secret))
	if err != nil {
		return "", err
	}
	if _, err := c.a.SendBlob(ctx, c.b.ID(), "check", blob, mmp.NewNonce()); err != nil {
		return "", fmt.Errorf("sending: %w", err)
	}
	if stranger, err := mmp.ParseEnvelope(blob); err != nil {
		return "", err
	} else if _, err := stranger.Open1(c.a.ring().RSA); err == nil {
		return "", errors.New("a stranger could open the message")
	}
	kinds := "envelope 1"
	if c.a.offers(ctx, board.FeatureEnvelope2) && !c.unsigned {
		sent, err := c.a.Send(ctx, c.b.ID(), "check", secret)
		if err != nil || sent.Version != 2 {
			return "", fmt.Errorf("envelope 2 is offered and was not sent (version %d): %w", sent.Version, err)
		}
		kinds = "envelopes 1 and 2"
	}
	return kinds + " crossed; a stranger cannot open them", c.arrived(ctx, secret, blob)
}

func (c *checker) arrived(ctx context.Context, secret, blob string) error {
	got, err := c.b.Receive(ctx, ReceiveOptions{})
	if err != nil {
		return fmt.Errorf("receiving: %w", err)
	}
	got = slices.DeleteFunc(got, func(m Message) bool { return m.MessageType != "check" })
	if len(got) == 0 {
		return errors.New("the message did not arrive")
	}
	for _, m := range got {
		if m.Problem != nil {
			return fmt.Errorf("the message cannot be opened: %w", m.Problem)
		}
		if !bytes.Equal(m.Plain, []byte(secret)) {
			return errors.New("the message changed on the way")
		}
	}
	if got[0].Blob != blob {
		return errors.New("the blob did not come back byte for byte")
	}
	return nil
}

// contentHashes: a skill whose hash does not fit its text must not be taken, by the
// shelf or by the agent; a blob whose hash does not fit must not be relayed.
func (c *checker) contentHashes(ctx context.Context) {
	const what = "content hashes are verified"
	blob := "Y2hlY2s="
	err := c.a.call(ctx, request{method: "POST", path: "/relay/send", body: map[string]string{
		"from": c.a.ID(), "to": c.b.ID(), "encrypted_blob": blob, "blob_hash": mmp.HashOf("another").Prefixed(), "message_type": "check",
	}}, nil)
	relayChecks := err != nil
	m, err := c.message(meeting.ActionSkillContent, meeting.SkillContentPayload{
		SkillID: "check", SkillName: "check", Format: meeting.FormatMarkdown, Content: "# Check\n", ContentHash: mmp.HashOf("another").Bare(),
	})
	if err != nil {
		c.add(5, what, Fail, "%s", err)
		return
	}
	out, err := c.say(ctx, m)
	agentChecks := err != nil && !absent(err) || text(out["status"]) == meeting.ResultError || text(out["status"]) == meeting.ResultRejected
	shelf := c.shelfChecks(ctx)
	switch {
	case err == nil && !agentChecks:
		c.add(5, what, Fail, "a skill whose hash does not fit was taken")
	case shelf == Fail:
		c.add(5, what, Fail, "a deposit whose hash does not fit was taken")
	case !relayChecks:
		c.note("the relay does not check blob_hash")
		fallthrough
	default:
		if absent(err) && shelf == NotApplicable && !relayChecks {
			c.add(5, what, NotApplicable, "neither an agent nor a shelf to try it on")
			return
		}
		c.add(5, what, Pass, "what does not fit is refused (relay: %t, agent: %t, shelf: %s)", relayChecks, agentChecks, shelf)
	}
}

func (c *checker) shelfChecks(ctx context.Context) Verdict {
	if !c.a.offers(ctx, board.FeatureDeposit) || c.a.Token() == "" {
		return NotApplicable
	}
	err := c.a.call(ctx, request{method: "POST", path: "/deposit", body: map[string]any{
		"skill_id": "check", "content": "# Check\n", "content_hash": mmp.HashOf("another").Bare(),
	}}, nil)
	if err == nil {
		return Fail
	}
	return Pass
}
