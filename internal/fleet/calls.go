package fleet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/identity"
	"parley/internal/store"
	"parley/protocol/kenny"
)

// LogEntry is one row of the call log.
type LogEntry struct {
	CallID   string         `json:"call_id"`
	At       time.Time      `json:"at"`
	Machine  string         `json:"agent_id"`
	Tool     string         `json:"tool"`
	Class    kenny.Class    `json:"class"`
	Actor    string         `json:"actor"`
	OnBehalf string         `json:"on_behalf_of,omitempty"`
	Surface  string         `json:"surface"`
	TokenID  string         `json:"token_id,omitempty"`
	Address  string         `json:"address,omitempty"`
	Hub      string         `json:"hub"`
	Digest   string         `json:"digest"`
	Args     jsontext.Value `json:"arguments" doc:"with secrets masked"`
	Approval *Approval      `json:"approval,omitempty"`
	State    State          `json:"state"`
	Code     Code           `json:"code,omitempty"`
	Message  string         `json:"message,omitempty"`
	ExitCode *int           `json:"exit_code,omitempty"`
	// DurationMS counts from the frame to its answer, QueueMS from the request to
	// the frame.
	DurationMS   int64  `json:"duration_ms"`
	QueueMS      int64  `json:"queue_ms"`
	ResultSize   int64  `json:"result_size"`
	ResultDigest string `json:"result_digest,omitempty"`
}

// Approval is how a call was approved.
type Approval struct {
	ID  string `json:"id,omitempty"`
	By  string `json:"by"`
	How string `json:"how"`
}

// CallFilter chooses rows of the call log, newest first.
type CallFilter struct {
	Machine, Tool, Actor string
	States               []State
	Since, Until         time.Time
	// Cursor continues after a page; Limit is 200 if 0, at most 500.
	Cursor string
	Limit  int
}

// CallPage is a page of the call log.
type CallPage struct {
	Calls []LogEntry `json:"calls"`
	Next  string     `json:"next_cursor,omitempty"`
}

const callColumns = `id, at, machine, tool, class, actor, on_behalf, surface, token_id, address, hub, digest, args, approval,
	state, code, message, exit_code, duration, queued, result_size, result_digest`

func scanCall(row *sql.Rows) (LogEntry, error) {
	var e LogEntry
	var at int64
	var args, app, exit string
	err := row.Scan(&e.CallID, &at, &e.Machine, &e.Tool, &e.Class, &e.Actor, &e.OnBehalf, &e.Surface, &e.TokenID, &e.Address, &e.Hub, &e.Digest, &args, &app,
		&e.State, &e.Code, &e.Message, &exit, &e.DurationMS, &e.QueueMS, &e.ResultSize, &e.ResultDigest)
	if err != nil {
		return e, err
	}
	e.At, e.Args = store.Time(at), jsontext.Value(args)
	if app != "" {
		if err := json.Unmarshal([]byte(app), &e.Approval); err != nil {
			return e, err
		}
	}
	if n, err := strconv.Atoi(exit); err == nil {
		e.ExitCode = &n
	}
	return e, nil
}

// Calls lists the call log, newest first.
func (f *Fleet) Calls(ctx context.Context, who identity.Actor, filter CallFilter) (CallPage, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return CallPage{}, err
	}
	where, refusal := f.callFilter(who, filter)
	if refusal != nil {
		return CallPage{}, refusal
	}
	f.log.flush(ctx)
	limit := pageSize(filter.Limit, mostPage)
	page := CallPage{Calls: []LogEntry{}}
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		page.Calls = page.Calls[:0]
		return tx.Each(func(row *sql.Rows) error {
			e, err := scanCall(row)
			page.Calls = append(page.Calls, e)
			return err
		}, `SELECT `+callColumns+` FROM fleet_calls WHERE `+where.where()+` ORDER BY at DESC, id DESC LIMIT ?`, append(where.args, limit+1)...)
	})
	if len(page.Calls) > limit {
		page.Calls = page.Calls[:limit]
		last := page.Calls[limit-1]
		page.Next = fmt.Sprintf("%d.%s", store.Micros(last.At), last.CallID)
	}
	return page, err
}

func (f *Fleet) callFilter(who identity.Actor, q CallFilter) (*filter, *Error) {
	where, refusal := f.filterFor(who, q.Machine)
	if refusal != nil {
		return nil, refusal
	}
	where.text("tool", q.Tool)
	where.text("actor", q.Actor)
	if len(q.States) > 0 {
		where.in("state", anys(q.States))
	}
	where.between("at", q.Since, q.Until)
	if q.Cursor != "" {
		at, id, ok := strings.Cut(q.Cursor, ".")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !ok {
			return nil, errorf(BadArgs, "not a cursor of this list")
		}
		where.add("(at < ? OR at = ? AND id < ?)", n, n, id)
	}
	return where, nil
}

// ExportCalls writes the call log as JSON lines, newest first.
func (f *Fleet) ExportCalls(ctx context.Context, who identity.Actor, filter CallFilter, w io.Writer) error {
	enc := json.NewEncoder(w)
	filter.Limit = mostPage
	for {
		page, err := f.Calls(ctx, who, filter)
		if err != nil {
			return err
		}
		for _, e := range page.Calls {
			if err := enc.Encode(e); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		filter.Cursor = page.Next
	}
}

// CallStatus looks at a call later. Its result is shown to whoever could have made
// the call.
func (f *Fleet) CallStatus(ctx context.Context, who identity.Actor, id string) (CallStatus, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return CallStatus{}, err
	}
	st, err := f.callStatus(ctx, who, id)
	if err != nil {
		return CallStatus{}, err
	}
	if tool, ok := kenny.Lookup(st.Tool); ok && may(who, scopeOf(tool)) != nil {
		st.Result = nil
	}
	return st, nil
}

// callStatus finds a call that the caller may know of: one on a machine within their
// limits, or a fan-out of their own.
func (f *Fleet) callStatus(ctx context.Context, who identity.Actor, id string) (st CallStatus, err error) {
	var by identity.Actor
	row, err := f.deferredRow(ctx, id)
	switch fl := f.flying(id); {
	case err == nil:
		st, by = row.status(), row.caller
	case !errors.Is(err, sql.ErrNoRows):
		return st, err
	case fl != nil:
		st, by = CallStatus{CallID: id, Machine: fl.p.machine, Tool: fl.p.tool.Name, State: fl.now(), Created: fl.p.created}, fl.p.who
	default:
		if st, err = f.loggedStatus(ctx, id); err != nil {
			return st, err
		}
	}
	if st.Machine == "" {
		if !made(who, by) {
			return CallStatus{}, errorf(NotFound, "there is no call %q", quotable(id))
		}
		return st, nil
	}
	if _, refusal := f.known(who, st.Machine); refusal != nil {
		return CallStatus{}, refusal
	}
	return st, nil
}

// loggedStatus is a call of which only the log knows.
func (f *Fleet) loggedStatus(ctx context.Context, id string) (CallStatus, error) {
	f.log.flush(ctx)
	var e *LogEntry
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(func(row *sql.Rows) error {
			got, err := scanCall(row)
			e = &got
			return err
		}, `SELECT `+callColumns+` FROM fleet_calls WHERE id = ?`, id)
	})
	if err != nil {
		return CallStatus{}, err
	}
	if e == nil {
		return CallStatus{}, errorf(NotFound, "there is no call %q", quotable(id))
	}
	st := CallStatus{CallID: id, Machine: e.Machine, Tool: e.Tool, State: e.State, Created: e.At}
	if e.Code != "" {
		st.Error = &CallError{Code: e.Code, Message: e.Message}
	}
	return st, nil
}

// CancelCall ends a call: one that waits never runs; of one that was sent only the
// wait ends, because the wire cannot take it back.
func (f *Fleet) CancelCall(ctx context.Context, who identity.Actor, id string) (CallStatus, error) {
	st, err := f.CallStatus(ctx, who, id)
	if err != nil {
		return st, err
	}
	if tool, ok := kenny.Lookup(st.Tool); ok {
		if err := may(who, scopeOf(tool)); err != nil {
			return CallStatus{}, err
		}
	}
	if st.State.Final() {
		return st, nil
	}
	if st.State == StateQueued {
		if err := f.cancelQueued(ctx, id); err != nil {
			return st, err
		}
	} else if fl := f.flying(id); fl != nil {
		fl.cancel()
		select {
		case <-fl.done:
		case <-ctx.Done():
		}
	} else {
		f.cluster.publish(news{Cancel: id})
	}
	return f.CallStatus(ctx, who, id)
}
