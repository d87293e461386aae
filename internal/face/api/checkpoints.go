package api

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"parley/internal/audit"
	"parley/internal/face/front"
	"parley/internal/identity"
)

// maxGiven bounds checkpoints that a caller holds the trail against: some ten thousand.
const maxGiven = 8 << 20

// registerCheckpoints adds what shows a cut of the trail.
func registerCheckpoints(a *API, t auditRoutes) {
	const tag = "audit"
	add(a, route{Method: "POST", Path: "/api/audit/verify", Scope: identity.AuditRead, Tag: tag, MaxBody: maxGiven, Summary: "The same, held against checkpoints the caller kept too"}, t.verifyGiven)
	add(a, route{Method: "GET", Path: "/api/audit/compare", Scope: identity.AuditRead, Tag: tag, Summary: "Hold the trail against the last checkpoints kept outside the database, without walking it"}, t.compare)
	add(a, route{Method: "GET", Path: "/api/audit/checkpoints", Scope: identity.AuditRead, Tag: tag, Summary: "Signed checkpoints, to be kept elsewhere"}, t.checkpoints)
	add(a, route{Method: "POST", Path: "/api/audit/acknowledge-cut", Scope: identity.Admin, Tag: tag, MaxBody: maxGiven, Summary: "Say in the trail that a cut is known, such as a restored backup"}, t.acknowledge)
	add(a, route{Method: "POST", Path: "/api/audit/witness", Scope: identity.AuditWitness, Tag: tag, Summary: "Leave checkpoints of another hub here"}, t.leave)
	add(a, route{Method: "GET", Path: "/api/audit/witnessed/{key}", Scope: identity.AuditRead, Tag: tag, Summary: "Checkpoints that another hub left here, by its public key in hex"}, t.witnessed)
}

// checkpoint is a checkpoint as an export has it; the library needs to see its members.
type checkpoint struct {
	At        int64  `json:"at" doc:"Unix microseconds"`
	Hash      string `json:"hash"`
	PublicKey string `json:"public_key"`
	Seq       int64  `json:"seq"`
	Signature string `json:"signature"`
}

func show(cps []audit.Checkpoint) []checkpoint {
	out := make([]checkpoint, len(cps))
	for i, cp := range cps {
		out[i] = checkpoint{cp.At.UnixMicro(), cp.Hash.String(), hex.EncodeToString(cp.PublicKey), cp.Seq, hex.EncodeToString(cp.Signature)}
	}
	return out
}

// givenBody carries checkpoints as GET /api/audit/checkpoints gives them.
type givenBody struct {
	Checkpoints []checkpoint `json:"checkpoints,omitempty" maxItems:"20000" doc:"as /api/audit/checkpoints gives them"`
	Where       string       `json:"where,omitempty" maxLength:"200" doc:"where they were kept, for the report"`
}

func (g givenBody) read() ([]audit.Checkpoint, error) {
	out := make([]audit.Checkpoint, len(g.Checkpoints))
	for i, c := range g.Checkpoints {
		text, err := json.Marshal(c)
		if err == nil {
			err = json.Unmarshal(text, &out[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the checkpoint over entry %d: %w", audit.ErrInvalid, c.Seq, err)
		}
	}
	return out, nil
}

// with adds what the caller kept to what the hub did.
func (t auditRoutes) with(g givenBody) ([]audit.Kept, error) {
	given, err := g.read()
	return append(t.Kept(), audit.Kept{Where: cmp.Or(g.Where, "what the caller kept"), Checkpoints: given}), err
}

type verifyInput struct{ Body givenBody }

func (t auditRoutes) verifyGiven(ctx context.Context, _ identity.Actor, in *verifyInput) (*reportAnswer, error) {
	kept, err := t.with(in.Body)
	if err != nil {
		return nil, err
	}
	report, err := t.trail.Verify(ctx, kept...)
	return &reportAnswer{report}, err
}

type compareAnswer struct{ Body audit.Comparison }

func (t auditRoutes) compare(ctx context.Context, _ identity.Actor, _ *struct{}) (*compareAnswer, error) {
	c, err := t.trail.Compare(ctx, t.Ends()...)
	return &compareAnswer{c}, err
}

type checkpointsQuery struct {
	After int64 `query:"after" minimum:"0" doc:"only those that sign more entries than this"`
	Limit int   `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
}

type checkpointsAnswer struct {
	Body struct {
		Checkpoints []checkpoint `json:"checkpoints"`
	}
}

func (t auditRoutes) checkpoints(ctx context.Context, _ identity.Actor, in *checkpointsQuery) (*checkpointsAnswer, error) {
	found, err := t.trail.Checkpoints(ctx, in.After, in.Limit)
	out := &checkpointsAnswer{}
	out.Body.Checkpoints = show(found)
	return out, err
}

type acknowledgeInput struct {
	Body struct {
		Checkpoints []checkpoint `json:"checkpoints,omitempty" maxItems:"20000" doc:"what the caller kept, as for verify"`
		Where       string       `json:"where,omitempty" maxLength:"200"`
		Reason      string       `json:"reason" doc:"why the trail is shorter than it was"`
	}
}

type cutsAnswer struct {
	Body struct {
		Cuts []audit.Cut `json:"cuts"`
	}
}

// acknowledge is a person's word: no agent or machine gives it, whatever its token may.
func (t auditRoutes) acknowledge(ctx context.Context, who identity.Actor, in *acknowledgeInput) (*cutsAnswer, error) {
	if who.Person.Kind != identity.KindPerson {
		return nil, front.NewProblem(http.StatusForbidden, "forbidden", "only a person can say that a cut is known", nil)
	}
	kept, err := t.with(givenBody{in.Body.Checkpoints, in.Body.Where})
	if err != nil {
		return nil, err
	}
	out := &cutsAnswer{}
	out.Body.Cuts, err = t.trail.AcknowledgeCuts(ctx, who.String(), in.Body.Reason, kept...)
	return out, err
}

type witnessAnswer struct {
	Body struct {
		Added int64 `json:"added"`
	}
}

func (t auditRoutes) leave(ctx context.Context, who identity.Actor, in *verifyInput) (*witnessAnswer, error) {
	cps, err := in.Body.read()
	if err != nil {
		return nil, err
	}
	out := &witnessAnswer{}
	out.Body.Added, err = t.Ledger.Keep(ctx, who.String(), cps)
	return out, err
}

type witnessedQuery struct {
	Key   string `path:"key" pattern:"^[0-9a-f]{64}$"`
	After int64  `query:"after" minimum:"0"`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
}

func (t auditRoutes) witnessed(ctx context.Context, _ identity.Actor, in *witnessedQuery) (*checkpointsAnswer, error) {
	key, err := hex.DecodeString(in.Key)
	if err != nil {
		return nil, err
	}
	found, err := t.Ledger.Of(ctx, ed25519.PublicKey(key), in.After, in.Limit)
	out := &checkpointsAnswer{}
	out.Body.Checkpoints = show(found)
	return out, err
}
