package fleet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// Calls lists the call log, newest first.
func (f *Fleet) Calls(ctx context.Context, who identity.Actor, filter call.Filter) (call.Page, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return call.Page{}, err
	}
	where, refusal := f.callFilter(who, filter)
	if refusal != nil {
		return call.Page{}, refusal
	}
	return f.log.List(ctx, where.Where(), where.Args, pageSize(filter.Limit, mostPage))
}

func (f *Fleet) callFilter(who identity.Actor, q call.Filter) (*store.Filter, *fault.Error) {
	where, refusal := f.filterFor(who, q.Machine)
	if refusal != nil {
		return nil, refusal
	}
	where.Text("tool", q.Tool)
	where.Text("actor", q.Actor)
	if len(q.States) > 0 {
		where.In("state", anys(q.States))
	}
	where.Between("at", q.Since, q.Until)
	if q.Cursor != "" {
		at, id, ok := strings.Cut(q.Cursor, ".")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !ok {
			return nil, fault.Errorf(fault.BadArgs, "not a cursor of this list")
		}
		where.Add("(at < ? OR at = ? AND id < ?)", n, n, id)
	}
	return where, nil
}

// ExportCalls writes the call log as JSON lines, newest first.
func (f *Fleet) ExportCalls(ctx context.Context, who identity.Actor, filter call.Filter, w io.Writer) error {
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
func (f *Fleet) CallStatus(ctx context.Context, who identity.Actor, id string) (call.Status, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return call.Status{}, err
	}
	st, err := f.callStatus(ctx, who, id)
	if err != nil {
		return call.Status{}, err
	}
	if tool, ok := kenny.Lookup(st.Tool); ok && may(who, scopeOf(tool)) != nil {
		st.Result = nil
	}
	return st, nil
}

// callStatus finds a call that the caller may know of: one on a machine within their
// limits, or a fan-out of their own.
func (f *Fleet) callStatus(ctx context.Context, who identity.Actor, id string) (st call.Status, err error) {
	var by identity.Actor
	row, err := f.deferredRow(ctx, id)
	switch fl := f.underWay(id); {
	case err == nil:
		st, by = row.status(), row.caller
	case !errors.Is(err, sql.ErrNoRows):
		return st, err
	case fl != nil:
		st, by = call.Status{CallID: id, Machine: fl.p.machine, Tool: fl.p.tool.Name, State: fl.now(), Created: fl.p.created}, fl.p.who
	default:
		if st, err = f.loggedStatus(ctx, id); err != nil {
			return st, err
		}
	}
	if st.Machine == "" {
		if !made(who, by) {
			return call.Status{}, fault.Errorf(fault.NotFound, "there is no call %q", fault.Quotable(id))
		}
		return st, nil
	}
	if _, refusal := f.known(who, st.Machine); refusal != nil {
		return call.Status{}, refusal
	}
	return st, nil
}

// loggedStatus is a call of which only the log knows.
func (f *Fleet) loggedStatus(ctx context.Context, id string) (call.Status, error) {
	e, err := f.log.Find(ctx, id)
	if err != nil {
		return call.Status{}, err
	}
	if e == nil {
		return call.Status{}, fault.Errorf(fault.NotFound, "there is no call %q", fault.Quotable(id))
	}
	st := call.Status{CallID: id, Machine: e.Machine, Tool: e.Tool, State: e.State, Created: e.At}
	if e.Code != "" {
		st.Error = &call.Failure{Code: e.Code, Message: e.Message}
	}
	return st, nil
}

// CancelCall ends a call: one that waits never runs; of one that was sent only the
// wait ends, because the wire cannot take it back.
func (f *Fleet) CancelCall(ctx context.Context, who identity.Actor, id string) (call.Status, error) {
	st, err := f.CallStatus(ctx, who, id)
	if err != nil {
		return st, err
	}
	if tool, ok := kenny.Lookup(st.Tool); ok {
		if err := may(who, scopeOf(tool)); err != nil {
			return call.Status{}, err
		}
	}
	if st.State.Final() {
		return st, nil
	}
	if st.State == call.StateQueued {
		if err := f.cancelQueued(ctx, id); err != nil {
			return st, err
		}
	} else if fl := f.underWay(id); fl != nil {
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
