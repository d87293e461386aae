package place

import (
	"context"
	"time"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	wire "parley.internal/protocol/mmp/relay"
)

// recheck is how often a waiting request looks by itself when other hubs might
// have stored something and the bus lost their word.
const recheck = 5 * time.Second

// Receive hands out the queue, in order. Without messages it waits as long as the
// query says. A caller whose context ends consumes nothing.
func (p *Place) Receive(ctx context.Context, who Visitor, q wire.ReceiveQuery) (wire.ReceiveAnswer, error) {
	if who.Agent == "" {
		p.touch(q.AgentID)
	}
	if q.Wait <= 0 {
		out, _, err := p.take(ctx, who, q)
		return out, err
	}
	one, ok := p.waiters.join(q.AgentID, p.c.MaxPolls)
	if !ok {
		return wire.ReceiveAnswer{}, mmp.ErrTooManyPolls.WithRetry(1)
	}
	defer p.waiters.leave(q.AgentID, one)
	return p.wait(ctx, who, q, one)
}

// wait looks, sleeps until something changed, and looks again. The waiter was
// there before the first look, so no wake-up is missed.
func (p *Place) wait(ctx context.Context, who Visitor, q wire.ReceiveQuery, one *waiter) (wire.ReceiveAnswer, error) {
	end := time.NewTimer(q.Wait)
	defer end.Stop()
	for {
		out, lapse, err := p.take(ctx, who, q)
		if err != nil || out.Count > 0 {
			return out, err
		}
		again, stop := p.again(lapse)
		select {
		case <-one.wake:
		case <-again:
		case <-one.gone:
			stop()
			return out, nil
		case <-end.C:
			stop()
			return out, nil
		case <-ctx.Done():
			stop()
			return wire.ReceiveAnswer{}, ctx.Err()
		}
		stop()
		if who.token != "" {
			if _, err := p.session(ctx, who.token); err != nil {
				return wire.ReceiveAnswer{}, err
			}
		}
	}
}

// again is when to look without being woken: when a lease lapses, and now and
// then if other hubs are around. Alone and without leases it is never.
func (p *Place) again(lapse time.Time) (at <-chan time.Time, stop func() bool) {
	in := time.Hour // longer than anybody waits
	if p.d.Clustered {
		in = recheck
	} else if lapse.IsZero() {
		return nil, func() bool { return true }
	}
	if !lapse.IsZero() {
		in = min(in, max(lapse.Sub(p.now()), 0)+time.Millisecond)
	}
	t := time.NewTimer(in)
	return t.C, t.Stop
}

// take hands out what is there now; lapse is when the next lease ends.
func (p *Place) take(ctx context.Context, who Visitor, q wire.ReceiveQuery) (out wire.ReceiveAnswer, lapse time.Time, err error) {
	out.Messages = []wire.Message{}
	// Looking costs no write: most polls find nothing.
	if q.Limit == 0 || !p.hints.use(q.AgentID) {
		some, lapse, err := p.anything(ctx, who, q)
		if err != nil || !some || q.Limit == 0 {
			out.More = err == nil && some
			return out, lapse, err
		}
	}
	if err := ctx.Err(); err != nil {
		return out, lapse, err
	}
	t := &relay.Receiving{Who: who, Queue: q.AgentID, Limit: q.Limit}
	if q.ManualAck {
		t.Lease = q.Lease
	}
	if err := p.storage(p.relay.Receive(ctx, t)); err != nil {
		return wire.ReceiveAnswer{}, lapse, err
	}
	out.More = t.More
	if len(t.Took) == 0 && q.Wait > 0 {
		// The hint was stale; a waiting caller must know when a lease ends.
		_, lapse, err = p.anything(ctx, who, q)
	}
	return p.handed(q, t.Took, out), lapse, err
}

func (p *Place) handed(q wire.ReceiveQuery, took []*relay.Message, out wire.ReceiveAnswer) wire.ReceiveAnswer {
	for _, m := range took {
		w := m.Wire()
		if q.ManualAck {
			w.Attempt, w.LeasedUntil = m.Attempt, mmp.At(m.LeasedUntil)
		}
		out.Messages = append(out.Messages, w)
	}
	out.Count = len(out.Messages)
	if out.Count > 0 {
		p.figures.stale()
	}
	return out
}

// anything tells whether something can be handed out, and else when the first
// lease ends. Who is going to wait has another goroutine look: the database needs a
// large stack, and thousands that wait would each keep one.
func (p *Place) anything(ctx context.Context, who Visitor, q wire.ReceiveQuery) (some bool, lapse time.Time, err error) {
	if q.Wait <= 0 {
		return p.look(ctx, who, q.AgentID)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.caught(&err)
		some, lapse, err = p.look(ctx, who, q.AgentID)
	}()
	<-done
	return some, lapse, err
}

func (p *Place) look(ctx context.Context, who Visitor, agent string) (some bool, lapse time.Time, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, agent); err != nil {
			return err
		}
		some, lapse, err = p.relay.Waits(tx, agent)
		return err
	})
	return some, lapse, err
}
