package hosts

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/lease"
	"parley.internal/internal/skill"
	"parley.internal/internal/wake"
	"parley.internal/protocol/mmp/meeting"
)

// stay is a visit that this hub runs: an agent at another place. What counts of a visit
// is in the store, as it outlives its hub.
type stay struct {
	hosts *Hosts
	id    string
	lease *lease.Lease
	stop  context.CancelFunc
	// news says that the store knows more than we do.
	news  wake.Bell
	ended chan struct{}

	mu     sync.Mutex
	seen   skill.Visit // as the store had it last
	here   presence    // nil until it is there
	looked time.Time   // when the place was last seen to be the one it was
}

const (
	// placeEvery is how often a visited place is looked at, and placeSure how long
	// a look is good for before something is sent.
	placeEvery   = 30 * time.Second
	placeSure    = 10 * time.Second
	farewellTime = 5 * time.Second
)

func (v *stay) tell() {
	v.news.Ring()
}

func (v *stay) state() skill.Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen
}

func (v *stay) saw(now skill.Visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = now
}

func (v *stay) there() presence {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.here
}

func (v *stay) entered(p presence) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.here = p
}

// run is a visit from here to its end, or until this hub must let go of it.
func (v *stay) run(ctx context.Context) {
	defer close(v.ended)
	defer v.stop()
	d := v.hosts.d
	reason := v.attend(ctx)
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
	defer cancel()
	at := v.state()
	if reason != "" {
		v.leave(leaving, at, reason)
	}
	d.Skills.Leave(at.Agent, at.Place)
	if p := v.there(); p != nil {
		_ = p.Close()
	}
	if v.hosts.ctx.Err() == nil {
		_ = v.lease.Release(leaving)
	}
	v.hosts.mu.Lock()
	delete(v.hosts.stays, v.id)
	v.hosts.mu.Unlock()
}

// attend receives until the visit is over, and says why it is. It is empty when this
// hub only lets go of it: it stops, lost its lease, or somebody struck the visit off.
func (v *stay) attend(ctx context.Context) string {
	receiving, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.receive(receiving)
	}()
	defer func() {
		stop()
		<-done
	}()
	silent := false
	for ctx.Err() == nil {
		now, err := v.hosts.d.Skills.Interacted(ctx, v.lease, v.id, 0)
		switch {
		case errors.Is(err, skill.ErrNotFound), errors.Is(err, lease.ErrLost):
			return ""
		case err == nil && silent && now.Problem == "":
			return "" // a person looked; it begins anew
		case err == nil:
			v.saw(now)
			if reason := now.Over(time.Now()); reason != "" {
				return reason
			}
			if now.Problem != "" && !silent {
				silent = true
				stop()
				v.hosts.d.Skills.Leave(now.Agent, now.Place)
			}
		}
		v.wait(ctx, silent)
	}
	return ""
}

// wait ends when there is news, when something is due, and now and then, when the
// place is looked at.
func (v *stay) wait(ctx context.Context, silent bool) {
	now, pause := v.state(), placeEvery
	for _, due := range []time.Time{now.WarnAt(), now.Until} {
		if d := time.Until(due); d > 0 {
			pause = min(pause, d)
		}
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-v.lease.Lost():
	case <-v.news:
	case <-timer.C:
		if p := v.there(); p != nil && !silent {
			_ = v.verify(ctx, p) // what it finds is in the store
		}
	}
}

// receive takes what the relay there brings, until the visit ends.
func (v *stay) receive(ctx context.Context) {
	d := v.hosts.d
	for ctx.Err() == nil {
		err := v.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		at := v.state()
		d.Log.Warn("a visit is disturbed; it goes on", "agent", at.Agent, "place", at.URL, "error", err)
		if errors.Is(err, skill.ErrPlaceChanged) {
			v.tell()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(hostPause):
		}
	}
}

func (v *stay) attempt(ctx context.Context) error {
	at := v.state()
	p := v.there()
	if p == nil {
		var err error
		if p, err = v.hosts.enter(ctx, at); err != nil {
			return err
		}
		v.entered(p)
	}
	host, err := v.hosts.d.Host(at.Agent)
	if err != nil {
		return err
	}
	if err := v.verify(ctx, p); err != nil {
		return err
	}
	line := p.line()
	shelf, atPlace := line.(skill.Shelf)
	if line = (visitLine{line, p, v}); atPlace {
		line = visitShelf{line.(visitLine), shelf} //nolint:forcetypeassert // made in the line above
	}
	v.hosts.d.Skills.Join(host, at.Place, line)
	if atPlace && at.Deposit {
		defer beside(ctx, func(ctx context.Context) { v.hosts.keepShelf(ctx, at.Agent, shelf, func() bool { return true }) })()
	}
	take := v.hosts.handler(at.Agent, at.Place)
	return p.receive(ctx, func(ctx context.Context, m mmpagent.Message) error {
		err := take(ctx, m)
		if err == nil {
			v.count(ctx)
		}
		return err
	})
}

// verify looks whether whoever is there is who it was.
func (v *stay) verify(ctx context.Context, p presence) error {
	v.mu.Lock()
	sure := time.Since(v.looked) < placeSure
	v.mu.Unlock()
	if sure {
		return nil
	}
	if err := p.same(ctx); err != nil {
		if errors.Is(err, skill.ErrPlaceChanged) {
			v.tell()
		}
		return err
	}
	v.mu.Lock()
	v.looked = time.Now()
	v.mu.Unlock()
	return nil
}

// count notes a message in or out.
func (v *stay) count(ctx context.Context) {
	now, err := v.hosts.d.Skills.Interacted(ctx, v.lease, v.id, 1)
	if err != nil && ctx.Err() == nil {
		v.hosts.d.Log.Warn("counting the messages of a visit", "visit", v.id, "error", err)
	}
	if err == nil && now.Over(time.Now()) != "" {
		v.tell()
	}
}

// leave says goodbye, unless whoever is there now is not whom we visited.
func (v *stay) leave(ctx context.Context, at skill.Visit, reason string) {
	d := v.hosts.d
	if p := v.there(); p != nil && at.Problem == "" {
		d.Skills.Farewell(ctx, at, reason)
		if !at.Keep {
			if shelf, ok := p.line().(skill.Shelf); ok && at.Deposit {
				_, _ = d.Skills.Stock(ctx, at.Agent, shelf, false) // a place may keep what nobody withdraws
			}
			p.leave(ctx) // what cannot be ended there expires
		}
	}
	if err := d.Skills.EndedVisit(ctx, v.lease, at, reason); err != nil {
		d.Log.Warn("ending a visit", "visit", v.id, "error", err)
	}
}

// visitLine counts what is sent, and sends nothing to whoever is another than it was.
type visitLine struct {
	skill.Line
	to presence
	v  *stay
}

// Send implements skill.Line.
func (l visitLine) Send(ctx context.Context, to string, m meeting.Message) error {
	if err := l.v.verify(ctx, l.to); err != nil {
		return err
	}
	if err := l.Line.Send(ctx, to, m); err != nil {
		return err
	}
	if m.Action != meeting.ActionGoodbye {
		l.v.count(ctx)
	}
	return nil
}
