package api

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"parley.internal/internal/audit"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// maxGiven bounds checkpoints that a caller holds the trail against: some ten thousand.
const maxGiven = 8 << 20

// registerCheckpoints adds what shows a cut of the trail.
func registerCheckpoints(a *API, t auditRoutes) {
	read := access{Scope: identity.AuditRead, Tag: "audit"}
	large := access{Scope: identity.AuditRead, Tag: "audit", MaxBody: maxGiven}
	addBody(a, large, rest.VerifyAuditGiven, t.verifyGiven)
	add(a, read, rest.CompareAudit, t.compare)
	add(a, read, rest.ListCheckpoints, t.checkpoints)
	addBody(a, access{Scope: identity.Admin, Tag: "audit", MaxBody: maxGiven}, rest.AcknowledgeCut, t.acknowledge)
	addBody(a, access{Scope: identity.AuditWitness, Tag: "audit"}, rest.LeaveCheckpoints, t.leave)
	add(a, read, rest.WitnessedOf, t.witnessed)
}

func viewCheckpoint(cp audit.Checkpoint) rest.Checkpoint {
	return rest.Checkpoint{At: cp.At.UnixMicro(), Hash: cp.Hash.String(), PublicKey: hex.EncodeToString(cp.PublicKey), Seq: cp.Seq, Signature: hex.EncodeToString(cp.Signature)}
}

// viewReport is a report as callers see it.
func viewReport(r audit.Report) rest.AuditReport {
	return rest.AuditReport{
		OK: r.OK, Entries: r.Entries, Checkpoints: r.Checkpoints, LastSigned: r.LastSigned, Head: r.Head.String(), BadSeq: r.BadSeq, Problem: r.Problem,
		AuditComparison: viewComparison(r.Comparison), Acknowledged: r.Acknowledged,
	}
}

func viewComparison(c audit.Comparison) rest.AuditComparison {
	return rest.AuditComparison{
		Kept: each(c.Kept, func(k audit.KeptReport) rest.AuditKept { return rest.AuditKept(k) }),
		Cuts: each(c.Cuts, viewCut),
	}
}

func viewCut(c audit.Cut) rest.AuditCut {
	return rest.AuditCut{
		After: c.After, Exact: c.Exact, UpTo: c.UpTo, Kept: c.Kept, Rewritten: c.Rewritten, Acknowledged: (*rest.AuditAcknowledgement)(c.Acknowledged),
	}
}

// readCheckpoints reads what a caller kept.
func readCheckpoints(g rest.KeptCheckpoints) ([]audit.Checkpoint, error) {
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
func (t auditRoutes) with(g rest.KeptCheckpoints) ([]audit.Kept, error) {
	given, err := readCheckpoints(g)
	return append(t.Kept(), audit.Kept{Where: cmp.Or(g.Where, "what the caller kept"), Checkpoints: given}), err
}

func (t auditRoutes) verifyGiven(ctx context.Context, _ identity.Actor, in *rest.KeptCheckpoints) (rest.AuditReport, error) {
	kept, err := t.with(*in)
	if err != nil {
		return rest.AuditReport{}, err
	}
	report, err := t.trail.Verify(ctx, kept...)
	return viewReport(report), err
}

func (t auditRoutes) compare(ctx context.Context, _ identity.Actor, _ *rest.None) (rest.AuditComparison, error) {
	c, err := t.trail.Compare(ctx, t.Ends()...)
	return viewComparison(c), err
}

func (t auditRoutes) checkpoints(ctx context.Context, _ identity.Actor, in *rest.CheckpointQuery) (rest.Checkpoints, error) {
	found, err := t.trail.Checkpoints(ctx, in.After, in.Limit)
	return rest.Checkpoints{Checkpoints: each(found, viewCheckpoint)}, err
}

// acknowledge is a person's word: no agent or machine gives it, whatever its token may.
func (t auditRoutes) acknowledge(ctx context.Context, who identity.Actor, in *rest.CutAcknowledgement) (rest.AuditCuts, error) {
	if who.Person.Kind != identity.KindPerson {
		return rest.AuditCuts{}, front.NewProblem(http.StatusForbidden, "forbidden", "only a person can say that a cut is known", nil)
	}
	kept, err := t.with(in.KeptCheckpoints)
	if err != nil {
		return rest.AuditCuts{}, err
	}
	cuts, err := t.trail.AcknowledgeCuts(ctx, who.String(), in.Reason, kept...)
	return rest.AuditCuts{Cuts: each(cuts, viewCut)}, err
}

func (t auditRoutes) leave(ctx context.Context, who identity.Actor, in *rest.KeptCheckpoints) (rest.Witnessed, error) {
	cps, err := readCheckpoints(*in)
	if err != nil {
		return rest.Witnessed{}, err
	}
	added, err := t.Ledger.Keep(ctx, who.String(), cps)
	return rest.Witnessed{Added: added}, err
}

func (t auditRoutes) witnessed(ctx context.Context, _ identity.Actor, in *rest.WitnessedQuery) (rest.Checkpoints, error) {
	key, err := hex.DecodeString(in.Key)
	if err != nil {
		return rest.Checkpoints{}, err
	}
	found, err := t.Ledger.Of(ctx, ed25519.PublicKey(key), in.After, in.Limit)
	return rest.Checkpoints{Checkpoints: each(found, viewCheckpoint)}, err
}
