package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/witness"
	"parley.internal/protocol/rest"
)

// Audit is the trail and what is kept of it outside the database.
type Audit struct {
	Trail *audit.Chain
	// Ledger keeps checkpoints of other hubs.
	Ledger *witness.Ledger
	// Kept reads everything that was kept; Ends is the last of it, without reading.
	Kept, Ends func() []audit.Kept
}

// RegisterAudit adds the audit trail.
func RegisterAudit(a *API, deps Audit) {
	read := access{Scope: identity.AuditRead, Tag: "audit"}
	t := auditRoutes{deps, deps.Trail}
	add(a, read, rest.ListAudit, t.list)
	add(a, read, rest.AuditByHour, t.hours)
	add(a, read, rest.VerifyAudit, t.verify)
	registerCheckpoints(a, t)
	addRaw(a, read, rest.ExportAudit, t.export)
}

type auditRoutes struct {
	Audit
	trail *audit.Chain
}

func (t auditRoutes) list(ctx context.Context, _ identity.Actor, in *rest.AuditQuery) (rest.AuditEntries, error) {
	records, err := t.trail.Query(ctx, audit.Filter{
		Actor: in.Actor, Action: in.Action, Target: in.Target, Outcome: in.Outcome, Since: in.Since, Until: in.Until,
		After: in.After, Before: in.Before, Limit: in.Limit,
	})
	if err != nil {
		return rest.AuditEntries{}, err
	}
	out := rest.AuditEntries{Entries: []rest.AuditEntry{}}
	for _, r := range slices.Backward(records) {
		out.Entries = append(out.Entries, rest.AuditEntry{
			Seq: r.Seq, At: r.At, Actor: r.Actor, OnBehalf: r.OnBehalf, Action: string(r.Action), Target: r.Target, Outcome: r.Outcome,
			DurationMS: float64(r.Duration) / float64(time.Millisecond), Digest: r.Digest, Detail: r.Detail, Hash: r.Hash.String(),
		})
	}
	if len(records) > 0 && len(records) == in.Limit && records[0].Seq > 1 {
		out.Next = records[0].Seq
	}
	return out, nil
}

// hours gives exactly as many as were asked for, empty ones too: a chart needs them.
func (t auditRoutes) hours(ctx context.Context, _ identity.Actor, in *rest.AuditHoursQuery) (rest.AuditHours, error) {
	first := time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(in.Hours-1) * time.Hour)
	out := rest.AuditHours{Hours: make([]rest.AuditHour, in.Hours)}
	for i := range out.Hours {
		out.Hours[i].At = first.Add(time.Duration(i) * time.Hour)
	}
	counts, err := t.trail.Hours(ctx, audit.Filter{Since: first, Actor: in.Actor, Action: in.Action, Target: in.Target, Outcome: in.Outcome})
	for _, h := range counts {
		if i := int(h.Hour.Sub(first) / time.Hour); i >= 0 && i < in.Hours {
			out.Hours[i].Count, out.Hours[i].Failed = h.Count, h.Failed
		}
	}
	return out, err
}

func (t auditRoutes) verify(ctx context.Context, _ identity.Actor, _ *rest.None) (rest.AuditReport, error) {
	report, err := t.trail.Verify(ctx, t.Kept()...)
	return viewReport(report), err
}

func (t auditRoutes) export(w http.ResponseWriter, r *http.Request, _ identity.Actor) error {
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", `attachment; filename="parley-audit.jsonl"`)
	for line, err := range t.trail.Export(r.Context()) {
		if err != nil {
			// The answer has begun: cutting it is the only honest way to say so.
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return nil
		}
	}
	return nil
}
