package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// entry is the row of a call before its outcome.
func (p *prepared) entry(f *Fleet) call.Entry {
	if p.masked == "" {
		p.masked = string(f.d.Mask.GuessJSON(p.wire))
	}
	return call.Entry{
		CallID: p.id, At: p.created, Machine: p.machine, Tool: p.tool.Name, Class: p.tool.Class, Actor: p.who.String(), OnBehalf: p.who.OnBehalf(),
		Surface: surfaceOf(p.who), TokenID: p.who.TokenID, Address: p.who.Address, Hub: f.hub, Digest: p.digest,
		Args: jsontext.Value(p.masked), Approval: p.approval, State: call.StateSent,
	}
}

// trail is the entry of the hub's trail for a call; action tells intent and
// outcome apart.
func (p *prepared) trail(hub string, action audit.Action) audit.Entry {
	detail := map[string]any{
		"call": p.id, "tool": p.tool.Name, "class": string(p.tool.Class), "surface": surfaceOf(p.who), "token": p.who.TokenID,
		"address": p.who.Address, "hub": hub,
	}
	if p.approval != nil {
		detail["approval"] = map[string]any{"id": p.approval.ID, "by": p.approval.By, "how": p.approval.How}
	}
	return audit.Entry{Actor: p.who.String(), OnBehalf: p.who.OnBehalf(), Action: action, Target: p.machine, Digest: p.digest, Detail: detail}
}

// logIntent writes down that a call is about to be made. One that changes a machine
// is not made otherwise.
func (f *Fleet) logIntent(ctx context.Context, p *prepared) error {
	trail := p.trail(f.hub, audit.FleetCallIntent)
	if p.tool.Class != kenny.Mutating {
		f.d.Audit.Note(trail)
		return nil
	}
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error { return f.logIntentTx(tx, p, trail) })
	if err != nil {
		return fault.Errorf(fault.Unavailable, "the trail cannot be written, so nothing was sent: %w", err)
	}
	return nil
}

func (f *Fleet) logIntentTx(tx *store.Tx, p *prepared, trail audit.Entry) error {
	if err := f.log.PutTx(tx, p.entry(f)); err != nil {
		return err
	}
	return f.d.Audit.AppendTx(tx, trail)
}

// logOutcome records how a call ended; it does not wait.
func (f *Fleet) logOutcome(p *prepared, result jsontext.Value, err error, took time.Duration) {
	e, trail := p.entry(f), p.trail(f.hub, audit.FleetCall)
	e.State, e.DurationMS = call.StateDone, took.Milliseconds()
	if !p.sent.IsZero() {
		e.QueueMS = p.sent.Sub(p.created).Milliseconds()
	}
	if err != nil {
		e.Code = fault.CodeOf(err)
		e.State, e.Message = call.StateOf(e.Code), fit.Cut(fit.Storable(failureText(err)), 4096)
	} else {
		sum := sha256.Sum256(result)
		e.ResultSize, e.ResultDigest = int64(len(result)), hex.EncodeToString(sum[:])
		e.ExitCode = exitCode(p.tool, result)
	}
	trail.Outcome, trail.Duration = string(e.Code), took
	trail.Detail["queue_ms"], trail.Detail["result_size"], trail.Detail["result_digest"] = e.QueueMS, e.ResultSize, e.ResultDigest
	f.stats.call(p.tool.Name, e.Code, took)
	f.log.Put(e, trail)
}

// logRefused keeps what a rule forbade beside the calls that were made, so that one
// list tells everything that was tried.
func (f *Fleet) logRefused(p *prepared, why *fault.Error) {
	e := p.entry(f)
	e.State, e.Code, e.Message = call.StateFailed, why.Code, fit.Cut(fit.Storable(why.Message), 4096)
	f.log.Put(e, audit.Entry{})
}

// logDeclined records a call that was asked about and may not run: somebody said no, or
// nobody said anything. Of a fan-out that is a call on every one of its machines.
func (f *Fleet) logDeclined(p *prepared, why error) {
	if p.fan == nil {
		f.logOutcome(p, nil, why, 0)
		return
	}
	for i, share := range p.fan.shares {
		if i > 0 && i%(call.LogQueue/2) == 0 {
			f.log.Flush(f.ctx) // more would not fit
		}
		f.logOutcome(share, nil, why, 0)
	}
}

func failureText(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// exitCode is a script's own status.
func exitCode(t kenny.Tool, result jsontext.Value) *int {
	if !t.TimeoutOnWire() {
		return nil
	}
	var r struct {
		ExitCode *int `json:"exit_code"`
	}
	if json.Unmarshal(result, &r) != nil {
		return nil
	}
	return r.ExitCode
}
