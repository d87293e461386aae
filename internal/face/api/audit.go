package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"parley/internal/audit"
	"parley/internal/identity"
	"parley/internal/witness"
)

// Audit is the trail and what is kept of it outside the database.
type Audit struct {
	Trail *audit.Log
	// Ledger keeps checkpoints of other hubs.
	Ledger *witness.Ledger
	// Kept reads everything that was kept; Ends is the last of it, without reading.
	Kept, Ends func() []audit.Kept
}

// RegisterAudit adds the audit trail.
func RegisterAudit(a *API, deps Audit) {
	read := func(path, summary string) route {
		return route{Method: "GET", Path: path, Scope: identity.AuditRead, Tag: "audit", Summary: summary}
	}
	t := auditRoutes{deps, deps.Trail}
	add(a, read("/api/audit", "Entries, newest first"), t.list)
	add(a, read("/api/audit/hours", "How much happened, by hour"), t.hours)
	add(a, read("/api/audit/verify", "Walk the whole chain, and hold it against the checkpoints kept outside the database"), t.verify)
	registerCheckpoints(a, t)
	addRaw(a, rawRoute{read("/api/audit/export", "The whole trail as JSON lines that can be verified elsewhere"), "application/jsonl"}, t.export)
}

type auditRoutes struct {
	Audit
	trail *audit.Log
}

type auditQuery struct {
	Actor   string    `query:"actor"`
	Action  string    `query:"action" doc:"matches as a prefix"`
	Target  string    `query:"target"`
	Outcome string    `query:"outcome"`
	Since   time.Time `query:"since"`
	Until   time.Time `query:"until"`
	After   int64     `query:"after" minimum:"0" doc:"only numbers above"`
	Before  int64     `query:"before" minimum:"0" doc:"only numbers below"`
	Limit   int       `query:"limit" minimum:"0" maximum:"1000" default:"100"`
}

func (q auditQuery) filter() audit.Filter {
	return audit.Filter{
		Actor: q.Actor, Action: q.Action, Target: q.Target, Outcome: q.Outcome, Since: q.Since, Until: q.Until,
		After: q.After, Before: q.Before, Limit: q.Limit,
	}
}

type auditEntry struct {
	Seq        int64          `json:"seq"`
	At         time.Time      `json:"at"`
	Actor      string         `json:"actor"`
	OnBehalf   string         `json:"on_behalf_of,omitempty"`
	Action     string         `json:"action"`
	Target     string         `json:"target"`
	Outcome    string         `json:"outcome"`
	DurationMS float64        `json:"duration_ms,omitempty"`
	Digest     string         `json:"digest,omitempty"`
	Detail     map[string]any `json:"detail,omitempty"`
	Hash       string         `json:"hash"`
}

type auditList struct {
	Body struct {
		Entries []auditEntry `json:"entries"`
		Next    int64        `json:"next,omitempty" doc:"pass it as before to go on"`
	}
}

func (t auditRoutes) list(ctx context.Context, _ identity.Actor, in *auditQuery) (*auditList, error) {
	records, err := t.trail.Query(ctx, in.filter())
	if err != nil {
		return nil, err
	}
	out := &auditList{}
	out.Body.Entries = []auditEntry{}
	for _, r := range slices.Backward(records) {
		out.Body.Entries = append(out.Body.Entries, auditEntry{
			Seq: r.Seq, At: r.At, Actor: r.Actor, OnBehalf: r.OnBehalf, Action: string(r.Action), Target: r.Target, Outcome: r.Outcome,
			DurationMS: float64(r.Duration) / float64(time.Millisecond), Digest: r.Digest, Detail: r.Detail, Hash: r.Hash.String(),
		})
	}
	if len(records) > 0 && len(records) == in.Limit && records[0].Seq > 1 {
		out.Body.Next = records[0].Seq
	}
	return out, nil
}

type hoursQuery struct {
	Hours   int    `query:"hours" minimum:"1" maximum:"744" default:"24"`
	Actor   string `query:"actor"`
	Action  string `query:"action" doc:"matches as a prefix"`
	Target  string `query:"target"`
	Outcome string `query:"outcome"`
}

type hourCount struct {
	At     time.Time `json:"at"`
	Count  int64     `json:"count"`
	Failed int64     `json:"failed"`
}

type hoursAnswer struct {
	Body struct {
		Hours []hourCount `json:"hours"`
	}
}

// hours gives exactly as many as were asked for, empty ones too: a chart needs them.
func (t auditRoutes) hours(ctx context.Context, _ identity.Actor, in *hoursQuery) (*hoursAnswer, error) {
	first := time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(in.Hours-1) * time.Hour)
	out := &hoursAnswer{}
	out.Body.Hours = make([]hourCount, in.Hours)
	for i := range out.Body.Hours {
		out.Body.Hours[i].At = first.Add(time.Duration(i) * time.Hour)
	}
	counts, err := t.trail.Hours(ctx, audit.Filter{Since: first, Actor: in.Actor, Action: in.Action, Target: in.Target, Outcome: in.Outcome})
	for _, h := range counts {
		if i := int(h.Hour.Sub(first) / time.Hour); i >= 0 && i < in.Hours {
			out.Body.Hours[i].Count, out.Body.Hours[i].Failed = h.Count, h.Failed
		}
	}
	return out, err
}

type reportAnswer struct{ Body audit.Report }

func (t auditRoutes) verify(ctx context.Context, _ identity.Actor, _ *struct{}) (*reportAnswer, error) {
	report, err := t.trail.Verify(ctx, t.Kept()...)
	return &reportAnswer{report}, err
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
