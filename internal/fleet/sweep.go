package fleet

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

const (
	// adoptEvery is how often a hub of several looks for what a dead one left.
	adoptEvery = 3 * time.Second
	// seenEvery is how often the store learns when machines were last heard.
	seenEvery = 5 * time.Minute
	// judgeEvery is how often verdicts that depend on age are made anew.
	judgeEvery = time.Hour
)

// sweep does what is due, until the fleet closes.
func (f *Fleet) sweep() {
	tick := time.NewTicker(f.d.Limits.Sweep)
	defer tick.Stop()
	last := struct{ adopt, seen, judge time.Time }{f.since, f.since, f.since}
	for {
		select {
		case <-tick.C:
		case <-f.ctx.Done():
			return
		}
		now := time.Now()
		f.report("queued calls cannot be looked through", f.expire(f.ctx))
		f.report("updates cannot be looked through", f.updates.MarkSilent(f.ctx, now))
		f.lookAfter(now)
		if !f.d.Alone {
			f.report("other hubs' changes cannot be read", f.cluster.catchUp(f.ctx))
			if now.Sub(last.adopt) >= adoptEvery {
				last.adopt = now
				f.report("what dead hubs left cannot be taken up", f.recover(f.ctx))
			}
		}
		if now.Sub(last.seen) >= seenEvery {
			last.seen = now
			f.report("times of machines are not stored", f.storeSeen(f.ctx))
		}
		if now.Sub(last.judge) >= judgeEvery {
			last.judge = now
			for _, m := range f.all() {
				f.rejudge(f.ctx, m)
			}
		}
	}
}

func (f *Fleet) report(what string, err error) {
	if err != nil && f.ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
		f.d.Log.Warn("machines: something has to wait", "what", what, "error", err)
	}
}

// lookAfter checks every machine for what only time brings: overdue, cool-downs
// that are over, keys whose grace ended.
func (f *Fleet) lookAfter(now time.Time) {
	for _, m := range f.all() {
		rec := m.record()
		if s := m.current(); s != nil && s.key != "" && !rec.allows(s.key, now) {
			s.close(kenny.CloseUnauthorized, "the key's grace ended")
		}
		if level := f.trouble(m, rec, now); level != rec.alerts.Level && f.mine(m, rec) {
			f.watchHealth(m, now)
		}
	}
}

// mine reports whether this hub tells about a machine: the one that has it, or had
// it last.
func (f *Fleet) mine(m *machine, rec record) bool {
	return f.d.Alone || m.current() != nil || rec.state != wasOnline || rec.hub == f.hub
}

// storeSeen writes when this hub's machines were last heard.
func (f *Fleet) storeSeen(ctx context.Context) error {
	for _, m := range f.all() {
		s := m.current()
		if s == nil {
			continue
		}
		err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE fleet_machines SET last_seen = ? WHERE id = ? AND last_seen < ?`, store.Micros(s.Heard()), m.id, store.Micros(s.Heard()))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hubLease is the sign of life of a hub's fleet.
func hubLease(hub string) string { return "fleet.hub." + hub }

// recover takes up what dead hubs, and former lives of this one, left: machines
// that show online, calls that were sent or wait for a person, roll-outs.
func (f *Fleet) recover(ctx context.Context) error {
	if _, err := f.d.Leases.Acquire(ctx, hubLease(f.hub)); err != nil {
		return err
	}
	var hubs []string
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.Into(&hubs), `SELECT hub FROM fleet_machines WHERE state = 'online' AND hub <> ? UNION SELECT hub FROM fleet_queue WHERE state IN ('asking', 'sent') AND hub <> ?
			UNION SELECT hub FROM fleet_calls WHERE state = 'sent' AND hub <> ?`, f.hub, f.hub, f.hub)
	})
	if err != nil {
		return err
	}
	for _, hub := range hubs {
		if owner, err := f.d.Leases.Owner(ctx, hubLease(hub)); err != nil || owner != "" {
			continue
		}
		held, err := f.d.Leases.Acquire(ctx, hubLease(hub))
		if _, taken := errors.AsType[*lease.HeldError](err); taken {
			continue // another hub is at it
		}
		if err != nil {
			return err
		}
		err = f.adopt(ctx, hub)
		if err := errors.Join(err, held.Release(ctx)); err != nil {
			return err
		}
	}
	if err := f.loadWaiting(ctx); err != nil {
		return err
	}
	return f.updates.Resume(ctx)
}

// adopt does what a dead hub cannot do any more.
func (f *Fleet) adopt(ctx context.Context, hub string) error {
	now := store.Micros(time.Now())
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_machines SET state = 'cut', changed_at = ? WHERE hub = ? AND state = 'online'`, now, hub)
		return err
	})
	if err != nil {
		return err
	}
	if err := f.loadMachines(ctx); err != nil {
		return err
	}
	for _, m := range f.all() {
		if r := m.record(); r.hub == hub {
			f.tell(Change{Kind: "machine", Machine: m.id})
		}
	}
	if err := f.closeLost(ctx, hub); err != nil {
		return err
	}
	left, err := f.leftBy(ctx, hub)
	if err != nil {
		return err
	}
	for _, d := range left {
		f.takeUp(ctx, d)
	}
	return nil
}

// closeLost ends, in the call log and the trail, the calls that were under way when
// a hub died. Those that outlive their request are taken up instead.
func (f *Fleet) closeLost(ctx context.Context, hub string) error {
	const why = "the hub stopped during the call; it may have run and is not repeated"
	return f.d.DB.Write(ctx, func(tx *store.Tx) error {
		var lost []audit.Entry
		err := tx.Each(func(row *sql.Rows) error {
			var id, tool string
			e := audit.Entry{Action: audit.FleetCall, Outcome: string(fault.Lost)}
			err := row.Scan(&id, &e.Target, &tool, &e.Actor, &e.OnBehalf, &e.Digest)
			e.Detail = map[string]any{"call": id, "tool": tool, "hub": hub}
			lost = append(lost, e)
			return err
		}, `SELECT id, machine, tool, actor, on_behalf, digest FROM fleet_calls WHERE state = 'sent' AND hub = ? AND `+notQueued, hub)
		if err != nil {
			return err
		}
		for _, e := range lost {
			if err := f.d.Audit.AppendTx(tx, e); err != nil {
				return err
			}
		}
		_, err = tx.Exec(`UPDATE fleet_calls SET state = ?, code = ?, message = ? WHERE state = 'sent' AND hub = ? AND `+notQueued, string(call.StateLost), string(fault.Lost), why, hub)
		return err
	})
}

// notQueued leaves out calls that go on in the queue.
const notQueued = `NOT EXISTS (SELECT 1 FROM fleet_queue q WHERE q.id = fleet_calls.id AND q.state IN ('asking', 'queued', 'sent'))`

func (f *Fleet) leftBy(ctx context.Context, hub string) (left []deferred, err error) {
	err = f.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.IntoBy(&left, scanDeferred), `SELECT `+deferredColumns+` FROM fleet_queue WHERE hub = ? AND state IN ('asking', 'sent') ORDER BY place`, hub)
	})
	return left, err
}

// takeUp goes on with a call whose hub died: one that was sent is asked again only
// if it changes nothing; one that waits for a person goes on waiting here.
func (f *Fleet) takeUp(ctx context.Context, d deferred) {
	p := f.fromRow(d)
	if d.machine == "" {
		f.abandonFan(p, d)
		return
	}
	if d.state == call.StateSent {
		if p.tool.Class != kenny.Mutating && d.queueFor == 0 {
			gone := fault.Errorf(fault.Offline, "the hub stopped during the call")
			f.closeDeferred(p, nil, gone)
			f.logOutcome(p, nil, gone, 0)
			return
		}
		f.interrupted(p, 0)
		return
	}
	if f.d.Inbox == nil {
		return
	}
	pending, err := f.d.Inbox.Resume(ctx, d.approvalID)
	if err != nil {
		gone := fault.Errorf(fault.ApprovalTimeout, "the question was lost; nothing ran")
		f.closeDeferred(p, nil, gone)
		f.logDeclined(p, gone)
		return
	}
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_queue SET hub = ? WHERE id = ? AND state = 'asking'`, f.hub, d.id)
		return err
	})
	if err == nil {
		f.resume(p, pending)
	}
	f.report("a call that waits for a person is not taken up", err)
}

// abandonFan ends a call on many machines whose hub died: which of them it had
// reached only their own calls know.
func (f *Fleet) abandonFan(p *prepared, d deferred) {
	why := fault.Errorf(fault.Lost, "the hub stopped during the calls; the log has those that were made")
	if d.state == call.StateAsking {
		f.withdraw(d.approvalID)
		why = fault.Errorf(fault.Cancelled, "the hub stopped before anybody answered; nothing ran")
	}
	f.closeDeferred(p, nil, why)
}

// loadWaiting learns for which machines calls are queued.
func (f *Fleet) loadWaiting(ctx context.Context) error {
	var ids []string
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.Into(&ids), `SELECT DISTINCT machine FROM fleet_queue WHERE state = 'queued'`)
	})
	for _, id := range ids {
		if m := f.find(id); m != nil {
			m.change(func(r *record) { r.waiting = true })
			if s := m.current(); s != nil {
				f.startDelivery(s)
			}
		}
	}
	return err
}
