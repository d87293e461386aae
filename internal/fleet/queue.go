package fleet

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/audit"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// errQueueFull says that as many calls wait for a machine as may.
var errQueueFull = errors.New("queue full")

// enqueue keeps a call for a machine that is away.
func (f *Fleet) enqueue(ctx context.Context, p *prepared) (*call.Result, error) {
	expires := p.created.Add(p.queueFor)
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		var waiting int
		if err := tx.QueryRow(`SELECT count(*) FROM fleet_queue WHERE machine = ? AND state = 'queued'`, p.machine).Scan(&waiting); err != nil {
			return err
		}
		if waiting >= f.d.Limits.Queued {
			return errQueueFull
		}
		e := p.entry(f)
		e.State = call.StateQueued
		if err := f.log.PutTx(tx, e); err != nil {
			return err
		}
		if err := storeQueued(tx, p, expires); err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, p.trail(f.hub, audit.FleetCallQueued))
	})
	switch {
	case errors.Is(err, errQueueFull):
		err = fault.Errorf(fault.Busy, "%d calls wait for this machine already", f.d.Limits.Queued)
		f.logOutcome(p, nil, err, 0)
		return nil, err
	case store.IsConflict(err):
		return nil, fault.Errorf(fault.Conflict, "there is a call of that id already")
	case err != nil:
		return nil, err
	}
	f.queuedFor(p.machine)
	f.tell(Change{Kind: "call", Machine: p.machine, CallID: p.id, State: call.StateQueued})
	return &call.Result{CallID: p.id, Machine: p.machine, Tool: p.tool.Name, State: call.StateQueued, Expires: expires.UTC()}, nil
}

// storeQueued writes a call down that waits for its machine; one that waited for a person
// before is there already.
func storeQueued(tx *store.Tx, p *prepared, expires time.Time) error {
	if !p.deferred {
		return insertDeferred(tx, p, call.StateQueued, "", expires, "")
	}
	_, err := tx.Exec(`UPDATE fleet_queue SET state = 'queued', expires_at = ?, hub = '' WHERE id = ? AND state = 'sent'`, store.Micros(expires), p.id)
	return err
}

// queuedFor has a machine that came back meanwhile served, wherever it is.
func (f *Fleet) queuedFor(id string) {
	if m := f.find(id); m != nil {
		m.change(func(r *record) { r.waiting = true })
		if s := m.current(); s != nil {
			f.startDelivery(s)
			return
		}
	}
	f.cluster.publish(news{Queued: id})
}

// startDelivery serves the queue of a machine that is connected here, if anything
// may wait for it and nobody does already.
func (f *Fleet) startDelivery(s *Session) {
	if f.d.Alone && !s.m.record().waiting {
		return // nobody else can have queued anything
	}
	s.mu.Lock()
	busy := s.delivering || s.gone
	s.delivering, s.again = true, busy && s.delivering
	s.mu.Unlock()
	if busy {
		return
	}
	f.work.Go(func() { f.deliver(s) })
}

// deliver sends what waits, in order and one at a time, beside live calls.
func (f *Fleet) deliver(s *Session) {
	if !f.rest(s, max(0, f.d.Limits.Settle-time.Since(s.opened))) {
		return
	}
	for {
		d, err := f.nextQueued(s.m.id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			if f.deliveryEnds(s) {
				return
			}
			continue
		case err != nil:
			f.logger(s.m).Warn("the queue cannot be read", "error", err)
			if !f.rest(s, time.Second) {
				return
			}
			continue
		}
		if wait := f.deliverOne(s, d); wait < 0 || wait > 0 && !f.rest(s, wait) {
			return
		}
	}
}

// deliveryEnds lets go of the queue unless something came meanwhile.
func (f *Fleet) deliveryEnds(s *Session) bool {
	s.m.change(func(r *record) { r.waiting = false })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again && !s.gone {
		s.again = false
		s.m.change(func(r *record) { r.waiting = true })
		return false
	}
	s.delivering = false
	return true
}

// rest waits; false when the session or the hub ends first.
func (f *Fleet) rest(s *Session, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.done:
	case <-f.ctx.Done():
	}
	return false
}

func (f *Fleet) nextQueued(machine string) (d deferred, err error) {
	ctx, cancel := context.WithTimeout(f.ctx, writeTime)
	defer cancel()
	err = f.d.DB.Read(ctx, func(tx *store.Tx) error {
		d, err = scanDeferred(tx.QueryRow(`SELECT `+deferredColumns+` FROM fleet_queue WHERE machine = ? AND state = 'queued' ORDER BY place LIMIT 1`, machine))
		return err
	})
	return d, err
}

// deliverOne sends one waiting call. It returns how long to rest before the next,
// or less than nothing when this connection is over.
func (f *Fleet) deliverOne(s *Session, d deferred) time.Duration {
	p := f.fromRow(d)
	if refusal := f.stillDue(f.ctx, d, p); refusal != nil {
		f.closeDeferred(p, nil, refusal)
		f.logOutcome(p, nil, refusal, 0)
		f.notifyFinished(p, refusal)
		return 0
	}
	p.sent = time.Now()
	if ok, err := f.markSent(s, p); err != nil || !ok {
		if err != nil {
			f.logger(s.m).Warn("a queued call is not sent", "call", p.id, "error", err)
			return time.Second
		}
		return 0 // cancelled a moment ago
	}
	began := time.Now()
	result, sent, err := s.call(f.ctx, p.id, p.tool.Name, p.wire, p.patience())
	f.learn(p, err)
	return f.delivered(p, result, sent, err, time.Since(began))
}

// stillDue checks expiry, scope and mirror again.
func (f *Fleet) stillDue(ctx context.Context, d deferred, p *prepared) *fault.Error {
	if time.Now().After(d.expires) {
		return fault.Errorf(fault.Expired, "the machine did not come back in time; nothing ran")
	}
	if err := f.stillAllowed(ctx, p); err != nil {
		return err
	}
	if os := p.m.meta().OS; os != "" {
		if err := p.tool.CheckOS(os); err != nil {
			return fault.FromWire(err)
		}
	}
	return nil
}

// markSent puts on disk that the call is on its way, with the intent in the trail,
// before the frame is written.
func (f *Fleet) markSent(s *Session, p *prepared) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(f.ctx, writeTime)
	defer cancel()
	trail := p.trail(f.hub, audit.FleetCallIntent)
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.check(tx); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE fleet_queue SET state = 'sent', hub = ? WHERE id = ? AND state = 'queued'`, f.hub, p.id)
		ok = n > 0
		if err != nil || !ok {
			return err
		}
		return f.logIntentTx(tx, p, trail)
	})
	return ok, err
}

// delivered decides what an outcome means for a queued call.
func (f *Fleet) delivered(p *prepared, result jsontext.Value, sent bool, err error, took time.Duration) time.Duration {
	switch {
	case !sent && fault.CodeOf(err) == fault.Busy:
		f.requeue(p.id)
		return time.Second
	case !sent:
		f.requeue(p.id)
		return -1
	case fault.CodeOf(err) == fault.Offline || fault.CodeOf(err) == fault.Cancelled && f.ctx.Err() != nil:
		f.interrupted(p, took)
		return -1
	}
	f.closeDeferred(p, result, err)
	f.logOutcome(p, result, err, took)
	f.notifyFinished(p, err)
	return 0
}

// interrupted is a call whose connection ended after the frame was written. What
// only looks may be asked again; what changes something may have happened.
func (f *Fleet) interrupted(p *prepared, took time.Duration) {
	if p.tool.Class != kenny.Mutating {
		f.requeue(p.id)
		return
	}
	lost := fault.Errorf(fault.Lost, "the connection ended after the call was sent; it may have run and is not repeated")
	f.closeDeferred(p, nil, lost)
	f.logOutcome(p, nil, lost, took)
	f.notifyFinished(p, lost)
}

// requeue puts a call back that certainly did nothing, in its old place.
func (f *Fleet) requeue(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_queue SET state = 'queued', hub = '' WHERE id = ? AND state = 'sent'`, id)
		return err
	})
	if err != nil {
		f.d.Log.Error("a call is not back in the queue", "call", id, "error", err)
	}
	if d, err := f.deferredRow(ctx, id); err == nil {
		if m := f.find(d.machine); m != nil {
			m.change(func(r *record) { r.waiting = true })
		}
	}
}

// expire ends queued calls whose time is over.
func (f *Fleet) expire(ctx context.Context) error {
	var due []deferred
	now := time.Now()
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.IntoBy(&due, scanDeferred), `SELECT `+deferredColumns+` FROM fleet_queue WHERE state = 'queued' AND expires_at < ? LIMIT 100`, store.Micros(now))
	})
	if err != nil {
		return err
	}
	for _, d := range due {
		p := f.fromRow(d)
		gone := fault.Errorf(fault.Expired, "the machine did not come back in time; nothing ran")
		f.closeDeferred(p, nil, gone)
		f.logOutcome(p, nil, gone, 0)
		f.notifyFinished(p, gone)
	}
	return nil
}

// Waiting counts the calls in the queue.
func (f *Fleet) Waiting(ctx context.Context) (n int64, err error) {
	err = f.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM fleet_queue WHERE state = 'queued'`).Scan(&n)
	})
	return n, err
}

func digestOf(v jsontext.Value) string {
	d, err := audit.Digest(v)
	if err != nil {
		return ""
	}
	return d
}
