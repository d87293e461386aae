package fleet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// deferred is a row of fleet_queue: a call that outlives its request, because it
// waits for a person or for its machine.
type deferred struct {
	place      int64
	id         string
	machine    string
	tool       string
	args       jsontext.Value
	timeout    time.Duration
	queueFor   time.Duration
	caller     identity.Actor
	approvalID string
	approval   *call.Approval
	state      call.State
	code       fault.Code
	message    string
	result     jsontext.Value
	hub        string
	created    time.Time
	expires    time.Time
}

const deferredColumns = `place, id, machine, tool, args, timeout, queue_for, caller, approval_id, approval, state, code, message, result, hub, created_at, expires_at`

func scanDeferred(row store.Row) (deferred, error) {
	var d deferred
	var args, caller, app string
	var result []byte
	var timeout, queueFor, created, expires int64
	err := row.Scan(&d.place, &d.id, &d.machine, &d.tool, &args, &timeout, &queueFor, &caller, &d.approvalID, &app, &d.state, &d.code, &d.message, &result, &d.hub, &created, &expires)
	if err != nil {
		return d, err
	}
	d.args, d.result = jsontext.Value(args), jsontext.Value(result)
	d.timeout, d.queueFor = time.Duration(timeout)*time.Microsecond, time.Duration(queueFor)*time.Microsecond
	d.created, d.expires = store.Time(created), store.Time(expires)
	if app != "" {
		if err := json.Unmarshal([]byte(app), &d.approval); err != nil {
			return d, err
		}
	}
	return d, json.Unmarshal([]byte(caller), &d.caller)
}

func (d deferred) status() call.Status {
	st := call.Status{CallID: d.id, Machine: d.machine, Tool: d.tool, State: d.state, Created: d.created, Expires: d.expires}
	if d.state == call.StateDone {
		st.Result = d.result
	}
	if d.code != "" {
		st.Error = &call.Failure{Code: d.code, Message: d.message}
	}
	return st
}

// prepared is the call of a row, as it was frozen.
func (f *Fleet) fromRow(d deferred) *prepared {
	tool, _ := kenny.Lookup(d.tool)
	p := &prepared{
		id: d.id, m: f.find(d.machine), machine: d.machine, tool: tool, wire: d.args, timeout: d.timeout, queueFor: d.queueFor,
		who: d.caller, approval: d.approval, deferred: true, created: d.created,
	}
	if p.m == nil {
		p.m = &machine{id: d.machine}
	}
	p.digest = digestOf(d.args)
	return p
}

func (f *Fleet) deferredRow(ctx context.Context, id string) (d deferred, err error) {
	err = f.d.DB.Read(ctx, func(tx *store.Tx) error {
		d, err = scanDeferred(tx.QueryRow(`SELECT `+deferredColumns+` FROM fleet_queue WHERE id = ?`, id))
		return err
	})
	return d, err
}

// storeAsking writes a call down that waits for a person.
func (f *Fleet) storeAsking(ctx context.Context, p *prepared) error {
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		return insertDeferred(tx, p, call.StateAsking, f.hub, p.created.Add(f.d.Limits.ApprovalWait), approvalID(p.id))
	})
	if store.IsConflict(err) {
		return fault.Errorf(fault.Conflict, "there is a call of that id already")
	}
	p.deferred = err == nil
	return err
}

func insertDeferred(tx *store.Tx, p *prepared, state call.State, hub string, expires time.Time, approvalID string) error {
	app := ""
	if p.approval != nil {
		app = text(p.approval)
	}
	_, err := tx.Exec(`INSERT INTO fleet_queue (id, machine, tool, class, args, timeout, queue_for, caller, approval_id, approval, state, code, message, result, hub, created_at, expires_at, finished_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', ?, ?, ?, ?, 0)`,
		p.id, p.machine, p.tool.Name, string(p.tool.Class), string(p.wire), p.timeout.Microseconds(), p.queueFor.Microseconds(), text(p.who), approvalID, app,
		string(state), []byte{}, hub, store.Micros(p.created), store.Micros(expires))
	return err
}

// sentDeferred marks an approved call as on its way, before anything is sent.
func (f *Fleet) sentDeferred(ctx context.Context, p *prepared) error {
	var n int64
	err := f.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Exec(`UPDATE fleet_queue SET state = ?, approval = ?, hub = ? WHERE id = ? AND state = ?`, string(call.StateSent), text(p.approval), f.hub, p.id, string(call.StateAsking))
		return err
	})
	if err == nil && n == 0 {
		return fault.Errorf(fault.Cancelled, "the call was cancelled; nothing ran")
	}
	return err
}

// settleDeferred closes a deferred call with its outcome; one that was queued
// meanwhile stays open.
func (f *Fleet) settleDeferred(p *prepared, res *call.Result, err error) {
	switch {
	case err != nil:
		f.closeDeferred(p, nil, err)
	case res != nil && res.State.Final():
		f.closeDeferred(p, res.Result, nil)
	}
}

// closeDeferred writes the outcome of a deferred call. The arguments go: nothing
// needs them any more, and they may hold secrets.
func (f *Fleet) closeDeferred(p *prepared, result jsontext.Value, failure error) {
	state, code, message := call.StateDone, fault.Code(""), ""
	if failure != nil {
		code = fault.CodeOf(failure)
		state, message = call.StateOf(code), fit.Cut(fit.Storable(failureText(failure)), 4096)
	}
	if result == nil {
		result = jsontext.Value{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_queue SET state = ?, code = ?, message = ?, result = ?, args = '{}', finished_at = ? WHERE id = ? AND state IN ('asking', 'queued', 'sent')`,
			string(state), string(code), message, []byte(result), store.Micros(time.Now()), p.id)
		return err
	})
	if err != nil {
		f.d.Log.Error("the outcome of a deferred call is not on record", "call", p.id, "error", err)
	}
	f.tell(Change{Kind: "call", Machine: p.machine, CallID: p.id, State: state})
}

// notifyFinished leaves a note for whoever asked, once a call ended without them.
func (f *Fleet) notifyFinished(p *prepared, failure error) {
	if f.d.Inbox == nil {
		return
	}
	title := p.tool.Name + " on " + p.where() + " is done"
	if failure != nil {
		title = p.tool.Name + " on " + p.where() + ": " + fault.Quotable(failureText(failure))
	}
	f.leaveNote("fleet-done-"+p.id, f.person(p.who), p.machine, title, "call "+p.id)
}

// noteLife is how long notes stay in the inbox.
const noteLife = 7 * 24 * time.Hour

// leaveNote shows something in the inbox that nobody has to answer; the same id is
// shown once.
func (f *Fleet) leaveNote(id, person, machine, title, reason string) {
	if f.d.Inbox == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	_, err := f.d.Inbox.Ask(ctx, approval.Request{
		ID: id, Principal: person, Kind: approval.KindNote, Title: fit.Storable(title), Target: machine, Reason: reason, RequestedBy: "hub", Timeout: noteLife,
	})
	if err != nil && !errors.Is(err, approval.ErrInvalid) && !errors.Is(err, approval.ErrClosed) {
		f.d.Log.Warn("a note is not in the inbox", "id", id, "error", err)
	}
}

// cancelQueued takes a call out of the queue.
func (f *Fleet) cancelQueued(ctx context.Context, id string) error {
	var d deferred
	var n int64
	err := f.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		d, err = scanDeferred(tx.QueryRow(`SELECT `+deferredColumns+` FROM fleet_queue WHERE id = ?`, id))
		if err != nil {
			return err
		}
		n, err = tx.Exec(`UPDATE fleet_queue SET state = 'cancelled', code = 'cancelled', message = 'the caller cancelled it', args = '{}', finished_at = ? WHERE id = ? AND state = 'queued'`,
			store.Micros(time.Now()), id)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return fault.Errorf(fault.NotFound, "there is no call %q", fault.Quotable(id))
	}
	if err == nil && n > 0 {
		p := f.fromRow(d)
		f.logOutcome(p, nil, fault.Errorf(fault.Cancelled, "the caller cancelled it"), 0)
		f.tell(Change{Kind: "call", Machine: d.machine, CallID: id, State: call.StateCancelled})
	}
	return err
}
