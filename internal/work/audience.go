package work

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	"parley.internal/internal/store"
	"parley.internal/internal/wake"
	"parley.internal/protocol/viber"
)

// maxNews is how much may wait to be passed on before a person's desks are ended.
const maxNews = 4096

// audience is the desks of one person. They share one watch of what happens to the
// person's tasks, so that a desk that only listens costs next to nothing.
type audience struct {
	w      *Work
	person string
	cancel context.CancelFunc
	users  int           // the audiences' mu guards it
	ready  chan struct{} // closed when the present is known, or when it failed
	done   chan struct{} // closed when nothing is passed on any more
	wake   wake.Bell

	heardMu sync.Mutex
	heard   []any // *news, approval.Event or error, in the order they came
	lagged  bool

	mu      sync.Mutex // guards the rest; taken before a desk's
	err     error
	desks   map[*Desk]struct{}
	agents  *agents
	waiting []asked
}

// asked is a question that waits for the person until a time.
type asked struct {
	event viber.ApprovalRequired
	until time.Time
}

func newAsked(q *viber.ApprovalRequired, now time.Time) asked {
	return asked{*q, now.Add(time.Duration(q.TimeoutMS) * time.Millisecond)}
}

// audiences are those of a hub.
type audiences struct {
	mu  sync.Mutex
	all map[string]*audience
}

// enter finds or makes the audience of a person.
func (w *Work) enter(person string) *audience {
	w.audiences.mu.Lock()
	defer w.audiences.mu.Unlock()
	a := w.audiences.all[person]
	if a == nil {
		ctx, cancel := context.WithCancel(context.Background())
		a = &audience{
			w: w, person: person, cancel: cancel, ready: make(chan struct{}), done: make(chan struct{}), wake: wake.New(),
			desks: map[*Desk]struct{}{}, agents: newAgents(),
		}
		w.audiences.all[person] = a
		go a.run(ctx) // the last desk that leaves waits for its end
	}
	a.users++
	return a
}

// leave takes a desk out; the last one ends the watch.
func (a *audience) leave(d *Desk) {
	a.mu.Lock()
	delete(a.desks, d)
	a.mu.Unlock()
	if a.release() {
		a.cancel()
		<-a.done
	}
}

func (a *audience) release() (last bool) {
	all := &a.w.audiences
	all.mu.Lock()
	defer all.mu.Unlock()
	if a.users--; a.users > 0 {
		return false
	}
	a.strikeOff()
	return true
}

// strikeOff lets whoever comes next begin with another audience. It needs the
// audiences' mu.
func (a *audience) strikeOff() {
	if a.w.audiences.all[a.person] == a {
		delete(a.w.audiences.all, a.person)
	}
}

// run passes on what happens until nobody is left or something breaks.
func (a *audience) run(ctx context.Context) {
	defer close(a.done)
	ready := sync.OnceFunc(func() { close(a.ready) })
	defer ready()
	if err := a.watch(ctx, ready); err != nil && ctx.Err() == nil {
		a.fail(err)
	}
}

// fail ends the desks: what they were shown is no longer the whole truth.
func (a *audience) fail(err error) {
	a.w.audiences.mu.Lock()
	a.strikeOff()
	a.w.audiences.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
	for d := range a.desks {
		d.screen.Lost(err)
	}
}

// watch listens first: what happens while the present is read is news.
func (a *audience) watch(ctx context.Context, ready func()) error {
	sub, err := a.w.d.Bus.Subscribe(newsSubject(a.person), func(m bus.Msg) {
		var n news
		if json.Unmarshal(m.Data, &n) == nil {
			a.hear(&n)
		}
	})
	if err != nil {
		return err
	}
	defer sub.Close()
	ctx, cancel := context.WithCancel(ctx)
	var inbox sync.WaitGroup
	defer inbox.Wait()
	defer cancel()
	if err := a.present(ctx); err != nil {
		return err
	}
	inbox.Go(func() { a.watchInbox(ctx) })
	for {
		for _, item := range a.takeHeard() {
			if err := a.pass(ctx, item, ready); err != nil {
				return err
			}
		}
		select {
		case <-a.wake:
		case <-sub.Lagged():
			return ErrLagged
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.w.ctx.Done():
			return ErrShuttingDown
		}
	}
}

func (a *audience) hear(item any) {
	a.heardMu.Lock()
	if len(a.heard) >= maxNews {
		a.heard, a.lagged = []any{ErrLagged}, true
	}
	if !a.lagged {
		a.heard = append(a.heard, item)
	}
	a.heardMu.Unlock()
	a.wake.Ring()
}

func (a *audience) takeHeard() (list []any) {
	a.heardMu.Lock()
	defer a.heardMu.Unlock()
	list, a.heard = a.heard, nil
	return list
}

// watchInbox brings in the questions that are no events of the person's own tasks:
// conversations, machines, and what others want this person to agree to.
func (a *audience) watchInbox(ctx context.Context) {
	for ev, err := range a.w.d.Inbox.Watch(ctx, a.person) {
		switch {
		case err != nil:
			if ctx.Err() == nil {
				a.hear(err)
			}
			return
		case ev.Kind == approval.Ready || ev.Item.Task == "" || ev.Item.Principal != a.person:
			a.hear(ev)
		}
	}
}

// present reads what the person's tasks wait for, and what agents are doing.
func (a *audience) present(ctx context.Context) error {
	now := time.Now()
	return a.w.d.DB.Read(ctx, func(tx *store.Tx) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.agents, a.waiting = newAgents(), nil
		if err := a.agents.read(tx, a.person); err != nil {
			return err
		}
		list, err := pendingApprovals(tx, `principal = ?`, a.person)
		for _, q := range list {
			a.waiting = append(a.waiting, newAsked(&q, now))
			if t, open := a.agents.open[q.TaskID]; open {
				t.asks[q.ApprovalID] = true
			}
		}
		for _, t := range a.agents.open {
			a.agents.shown[t.agent] = a.agents.state(t.agent, "").Status
		}
		return err
	})
}

// pass gives one thing that was heard to every desk.
func (a *audience) pass(ctx context.Context, item any, ready func()) error {
	switch item := item.(type) {
	case error:
		return item
	case approval.Event:
		if item.Kind == approval.Ready {
			ready() // everything that waited has been passed on
			return nil
		}
		a.deliver(a.w.questionEvent(ctx, item), false)
	case *news:
		if ev := a.w.newsEvent(ctx, item); ev != nil {
			a.deliver(ev, true)
		}
	}
	return nil
}

// deliver passes an event on; own tells that it is one of the person's own tasks.
func (a *audience) deliver(ev viber.TaskEvent, own bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if own && a.agents.knows(ev) {
		return // the present had it already
	}
	if own {
		a.agents.take(ev)
	}
	switch e := ev.(type) {
	case *viber.ApprovalRequired:
		a.waiting = append(a.waiting, newAsked(e, time.Now()))
	case *viber.ApprovalResolved:
		a.waiting = slices.DeleteFunc(a.waiting, func(q asked) bool { return q.event.ApprovalID == e.ApprovalID })
	}
	for d := range a.desks {
		d.hear(ev, own)
	}
}

// admit shows a desk what waits and counts it in, in one step.
func (a *audience) admit(d *Desk, begin func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	d.agents = a.agents.clone()
	begin()
	now := time.Now()
	for _, q := range a.waiting {
		ev := q.event
		ev.TimeoutMS = max(q.until.Sub(now).Milliseconds(), 1)
		d.screen.Show(Shown{Payload: &ev})
	}
	a.desks[d] = struct{}{}
	return nil
}
