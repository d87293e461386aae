package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/audit"
	"parley/internal/fit"
	"parley/internal/store"
	"parley/protocol/kenny"
)

// callLog writes what becomes of calls behind the caller's back. Outcomes that
// cannot be written are kept and tried again: they never fail the call.
type callLog struct {
	f     *Fleet
	queue chan logItem
}

type logItem struct {
	entry LogEntry
	trail audit.Entry
	mark  chan struct{}
}

const (
	logQueue = 8192
	logBatch = 256
	// spoolMost bounds what waits for a database that is away.
	spoolMost  = 20_000
	spoolRetry = time.Second
)

func newCallLog(f *Fleet) *callLog {
	return &callLog{f: f, queue: make(chan logItem, logQueue)}
}

// entry is the row of a call before its outcome.
func (p *prepared) entry(f *Fleet) LogEntry {
	if p.masked == "" {
		p.masked = string(f.d.Mask.GuessJSON(p.wire))
	}
	return LogEntry{
		CallID: p.id, At: p.created, Machine: p.machine, Tool: p.tool.Name, Class: p.tool.Class, Actor: p.who.String(), OnBehalf: p.who.OnBehalf(),
		Surface: surfaceOf(p.who), TokenID: p.who.TokenID, Address: p.who.Address, Hub: f.hub, Digest: p.digest,
		Args: jsontext.Value(p.masked), Approval: p.approval, State: StateSent,
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

// intent writes down that a call is about to be made. One that changes a machine
// is not made otherwise.
func (l *callLog) intent(ctx context.Context, p *prepared) error {
	trail := p.trail(l.f.hub, audit.FleetCallIntent)
	if p.tool.Class != kenny.Mutating {
		l.f.d.Audit.Note(trail)
		return nil
	}
	err := l.f.d.DB.Write(ctx, func(tx *store.Tx) error { return l.intentTx(tx, p, trail) })
	if err != nil {
		return errorf(Unavailable, "the trail cannot be written, so nothing was sent: %w", err)
	}
	return nil
}

func (l *callLog) intentTx(tx *store.Tx, p *prepared, trail audit.Entry) error {
	if err := putCall(tx, p.entry(l.f)); err != nil {
		return err
	}
	return l.f.d.Audit.AppendTx(tx, trail)
}

// outcome records how a call ended; it does not wait.
func (l *callLog) outcome(p *prepared, result jsontext.Value, err error, took time.Duration) {
	e, trail := p.entry(l.f), p.trail(l.f.hub, audit.FleetCall)
	e.State, e.DurationMS = StateDone, took.Milliseconds()
	if !p.sent.IsZero() {
		e.QueueMS = p.sent.Sub(p.created).Milliseconds()
	}
	if err != nil {
		e.Code = CodeOf(err)
		e.State, e.Message = stateOf(e.Code), fit.Cut(fit.Storable(failureText(err)), 4096)
	} else {
		sum := sha256.Sum256(result)
		e.ResultSize, e.ResultDigest = int64(len(result)), hex.EncodeToString(sum[:])
		e.ExitCode = exitCode(p.tool, result)
	}
	trail.Outcome, trail.Duration = string(e.Code), took
	trail.Detail["queue_ms"], trail.Detail["result_size"], trail.Detail["result_digest"] = e.QueueMS, e.ResultSize, e.ResultDigest
	l.f.stats.call(p.tool.Name, e.Code, took)
	l.put(logItem{entry: e, trail: trail})
}

// refused keeps what a rule forbade beside the calls that were made, so that one
// list tells everything that was tried.
func (l *callLog) refused(p *prepared, why *Error) {
	e := p.entry(l.f)
	e.State, e.Code, e.Message = StateFailed, why.Code, fit.Cut(fit.Storable(why.Message), 4096)
	l.put(logItem{entry: e})
}

// declined records a call that was asked about and may not run: somebody said no, or
// nobody said anything. Of a fan-out that is a call on every one of its machines.
func (l *callLog) declined(p *prepared, why error) {
	if p.fan == nil {
		l.outcome(p, nil, why, 0)
		return
	}
	for i, share := range p.fan.shares {
		if i > 0 && i%(logQueue/2) == 0 {
			l.flush(l.f.ctx) // more would not fit
		}
		l.outcome(share, nil, why, 0)
	}
}

func failureText(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
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

func (l *callLog) put(item logItem) {
	select {
	case l.queue <- item:
	default:
		l.f.stats.drop("call_log")
		l.f.d.Log.Error("the outcome of a call is not in the call log", "call", item.entry.CallID)
	}
}

// flush waits until everything recorded before is on disk, or cannot be now.
func (l *callLog) flush(ctx context.Context) {
	if !l.f.started.Load() {
		return
	}
	mark := make(chan struct{})
	select {
	case l.queue <- logItem{mark: mark}:
	case <-ctx.Done():
		return
	case <-l.f.ctx.Done():
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	case <-l.f.ctx.Done():
	}
}

func (l *callLog) run() {
	var spool []logItem
	retry := time.NewTicker(spoolRetry)
	defer retry.Stop()
	for {
		select {
		case item := <-l.queue:
			spool = l.write(l.gather(append(spool, item)))
		case <-retry.C:
			if len(spool) > 0 {
				spool = l.write(spool)
			}
		case <-l.f.ctx.Done():
			for len(l.queue) > 0 {
				spool = append(spool, <-l.queue)
			}
			if spool = l.write(spool); len(spool) > 0 {
				l.f.d.Log.Error("outcomes of calls are lost", "count", len(spool))
			}
			return
		}
	}
}

func (l *callLog) gather(batch []logItem) []logItem {
	for len(batch) < logBatch {
		select {
		case next := <-l.queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// write returns what could not be written.
func (l *callLog) write(batch []logItem) []logItem {
	var entries []logItem
	for _, item := range batch {
		if item.mark == nil {
			entries = append(entries, item)
		}
	}
	var err error
	if len(entries) > 0 {
		err = l.store(entries)
	}
	for _, item := range batch {
		if item.mark != nil {
			close(item.mark)
		}
	}
	if err == nil {
		for _, item := range entries {
			if item.trail.Action != "" { // what was refused is in the trail already
				l.f.d.Audit.Note(item.trail)
			}
			l.f.tell(Change{Kind: "call", Machine: item.entry.Machine, CallID: item.entry.CallID, State: item.entry.State})
		}
		return nil
	}
	l.f.d.Log.Warn("outcomes of calls wait for the store", "count", len(entries), "error", err)
	if extra := len(entries) - spoolMost; extra > 0 {
		l.f.stats.drop("call_log")
		entries = entries[extra:]
	}
	return entries
}

func (l *callLog) store(entries []logItem) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.f.ctx), writeTime)
	defer cancel()
	return l.f.d.DB.Write(ctx, func(tx *store.Tx) error { return putCalls(tx, entries) })
}

// putCalls writes many rows at a time; a call that is in the list twice has its
// later row after the earlier.
func putCalls(tx *store.Tx, items []logItem) error {
	calls, seen := make([]LogEntry, len(items)), make(map[string]bool, len(items))
	for i, item := range items {
		calls[i], seen[item.entry.CallID] = item.entry, true
	}
	if len(seen) == len(items) {
		return putCall(tx, calls...)
	}
	for _, e := range calls {
		if err := putCall(tx, e); err != nil {
			return err
		}
	}
	return nil
}

// putCall writes rows of the call log, or what is new about them; each call once.
func putCall(tx *store.Tx, calls ...LogEntry) error {
	args := make([]any, 0, 22*len(calls))
	for _, e := range calls {
		exit, app := "", ""
		if e.ExitCode != nil {
			exit = strconv.Itoa(*e.ExitCode)
		}
		if e.Approval != nil {
			app = text(e.Approval)
		}
		args = append(args, e.CallID, store.Micros(e.At), e.Machine, e.Tool, string(e.Class), fit.Storable(e.Actor), fit.Storable(e.OnBehalf), e.Surface, e.TokenID,
			e.Address, e.Hub, e.Digest, fit.Storable(string(e.Args)), app, string(e.State), string(e.Code), fit.Storable(e.Message), exit, e.DurationMS, e.QueueMS,
			e.ResultSize, e.ResultDigest)
	}
	return newCalls.Exec(tx, args)
}

var newCalls = store.ManyRows(`INSERT INTO fleet_calls (id, at, machine, tool, class, actor, on_behalf, surface, token_id, address, hub, digest, args, approval,
		state, code, message, exit_code, duration, queued, result_size, result_digest) VALUES `,
	`(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	` ON CONFLICT (id) DO UPDATE SET approval = excluded.approval, state = excluded.state, code = excluded.code, message = excluded.message, exit_code = excluded.exit_code,
		duration = excluded.duration, queued = excluded.queued, result_size = excluded.result_size, result_digest = excluded.result_digest`)
