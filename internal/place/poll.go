package place

import (
	"context"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/relay"
)

// Poll is a Receive that waits in nobody's goroutine: its owner looks when it is
// woken or when it is time, and closes it in the end. One goroutine at a time.
//
//	poll, err := p.Poll(who, q, wake)
//	for out, again, err := poll.Look(ctx); !again.IsZero(); out, again, err = poll.Look(ctx) {
//		// … until wake was called, or again
//	}
//	poll.Close()
type Poll struct {
	p   *Place
	who Visitor
	q   relay.ReceiveQuery
	one *waiter
	end time.Time
}

// Poll begins one. From now on wake is called when there may be something, by any
// goroutine; it must not block.
func (p *Place) Poll(who Visitor, q relay.ReceiveQuery, wake func()) (*Poll, error) {
	if who.Agent == "" {
		p.touch(q.AgentID)
	}
	o := &Poll{p: p, who: who, q: q, one: &waiter{call: wake, gone: make(chan struct{})}, end: time.Now().Add(q.Wait)}
	if !p.waiters.add(q.AgentID, p.c.MaxPolls, o.one) {
		return nil, mmp.ErrTooManyPolls.WithRetry(1)
	}
	return o, nil
}

// Close ends the poll.
func (o *Poll) Close() { o.p.waiters.leave(o.q.AgentID, o.one) }

// Look hands out what is there. When nothing is, it tells when to look again if not
// woken before; without such a time the answer is the last.
func (o *Poll) Look(ctx context.Context) (out relay.ReceiveAnswer, again time.Time, err error) {
	if o.who.token != "" {
		if _, err := o.p.session(ctx, o.who.token); err != nil {
			return relay.ReceiveAnswer{}, time.Time{}, err
		}
	}
	over := o.over() // asked before looking: what comes last is not left behind
	out, lapse, err := o.p.take(ctx, o.who, o.q)
	if err != nil || out.Count > 0 || over {
		return out, time.Time{}, err
	}
	return out, o.again(lapse), nil
}

func (o *Poll) over() bool {
	select {
	case <-o.one.gone:
		return true
	default:
		return !time.Now().Before(o.end)
	}
}

// again is the poll's end, or earlier when a lease lapses, or when other hubs might
// have stored something and the bus lost their word.
func (o *Poll) again(lapse time.Time) time.Time {
	now, at := time.Now(), o.end
	sooner := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	if o.p.d.Clustered {
		sooner(now.Add(recheck))
	}
	if !lapse.IsZero() {
		sooner(now.Add(max(lapse.Sub(o.p.now()), 0) + time.Millisecond))
	}
	return at
}
