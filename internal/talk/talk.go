package talk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/brain"
	"parley/internal/lease"
	"parley/internal/talk/memory"
)

// Talk is the conversations of one hub.
type Talk struct {
	d     Deps
	hub   string
	since time.Time
	slots chan struct{} // one per run that may go on at a time

	// ctx ends when the hub has drained; work counts everything that must end
	// before Close returns.
	ctx  context.Context
	stop context.CancelCauseFunc
	work sync.WaitGroup

	cluster   *cluster
	schedules *scheduler

	mu       sync.Mutex
	live     map[string]*conversation
	loading  map[string]*loading
	feeds    map[string]*feed
	watchers map[*watcher]struct{}
	watched  atomic.Int64 // how many there are, for every event of every run
	closing  bool
}

var _ API = (*Talk)(nil)

// New makes the conversations of a hub. Start them before the first request.
func New(d Deps) (*Talk, error) {
	if d.Memory == nil || d.Leases == nil || d.Bus == nil || d.Agents == nil || d.Models == nil {
		return nil, errors.New("talk needs memory, leases, bus, agents and models")
	}
	d.defaults()
	ctx, stop := context.WithCancelCause(context.Background())
	t := &Talk{
		d: d, hub: d.Leases.ID(), since: time.Now(), ctx: ctx, stop: stop, slots: make(chan struct{}, d.Limits.Runs),
		live: map[string]*conversation{}, loading: map[string]*loading{}, feeds: map[string]*feed{}, watchers: map[*watcher]struct{}{},
	}
	t.cluster = &cluster{t: t, snapshots: map[string][]byte{}, devices: map[string]map[string]deviceCount{}, wake: make(chan struct{}, 1), quit: make(chan struct{})}
	t.schedules = &scheduler{t: t, wake: make(chan struct{}, 1)}
	return t, nil
}

// Start listens to other hubs, takes up what a former life or a dead hub left
// unfinished, and fires schedules, until Close.
func (t *Talk) Start(ctx context.Context) error {
	if err := t.cluster.listen(); err != nil {
		return err
	}
	if err := t.sweep(ctx); err != nil {
		t.cluster.close()
		return err
	}
	t.work.Go(t.housekeeping)
	t.work.Go(t.schedules.loop)
	return nil
}

// housekeeping looks for abandoned conversations and old delegations.
func (t *Talk) housekeeping() {
	tick := time.NewTicker(t.d.Limits.Sweep)
	defer tick.Stop()
	cleaned := time.Time{}
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-tick.C:
		}
		if t.isClosing() {
			continue
		}
		if err := t.sweep(t.ctx); err != nil && t.ctx.Err() == nil {
			t.d.Log.Warn("cannot look for abandoned conversations", "error", err)
		}
		t.cluster.refresh()
		if now := time.Now(); now.Sub(cleaned) > time.Hour {
			cleaned = now
			if err := t.d.Memory.DeleteHidden(t.ctx, now.Add(-delegationLife)); err != nil && t.ctx.Err() == nil {
				t.d.Log.Warn("cannot remove old delegations", "error", err)
			}
		}
	}
}

// sweep takes over what no living hub owns.
func (t *Talk) sweep(ctx context.Context) error {
	ids, err := t.d.Memory.Abandoned(ctx, 200)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := t.load(ctx, id); err != nil {
			if _, held := errors.AsType[*lease.HeldError](err); !held {
				t.d.Log.Warn("cannot take over a conversation", "conversation", id, "error", err)
			}
		}
	}
	return nil
}

func (t *Talk) isClosing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}

// loading is a conversation on its way.
type loading struct {
	done chan struct{}
	c    *conversation
	err  error
}

// load gives the loaded conversation, loading it if need be. The error is a
// *lease.HeldError when another hub has it.
func (t *Talk) load(ctx context.Context, id string) (*conversation, error) {
	for {
		c, l, mine, err := t.lookup(id)
		switch {
		case err != nil:
			return nil, err
		case c != nil && !c.isEnding():
			return c, nil
		case c != nil:
			if err := waitFor(ctx, c.gone); err != nil {
				return nil, err
			}
			continue
		case mine:
			l.c, l.err = t.take(context.WithoutCancel(ctx), id)
			t.mu.Lock()
			delete(t.loading, id)
			t.mu.Unlock()
			close(l.done)
		default:
			if err := waitFor(ctx, l.done); err != nil {
				return nil, err
			}
		}
		return l.c, l.err
	}
}

func (t *Talk) lookup(id string) (c *conversation, l *loading, mine bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, nil, false, ErrUnavailable
	}
	if c := t.live[id]; c != nil {
		return c, nil, false, nil
	}
	if l := t.loading[id]; l != nil {
		return nil, l, false, nil
	}
	l = &loading{done: make(chan struct{})}
	t.loading[id] = l
	return nil, l, true, nil
}

func waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take acquires the lease and starts the conversation.
func (t *Talk) take(ctx context.Context, id string) (*conversation, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	l, err := t.d.Leases.Acquire(ctx, memory.LeaseName(id))
	if err != nil {
		return nil, err
	}
	state, err := t.d.Memory.Load(ctx, l, id, memory.Interruption{
		Stop: int(brain.StopInterrupted), Reason: brain.ErrInterrupted.Error(), Result: "interrupted: the hub stopped before this call had a result; it may or may not have happened",
	})
	if err != nil {
		return nil, errors.Join(err, l.Release(ctx))
	}
	if len(state.Interrupted) > 0 && t.d.Inbox != nil {
		if _, err := t.d.Inbox.CancelConversation(ctx, id, "interrupted"); err != nil {
			t.d.Log.Warn("cannot withdraw old questions", "conversation", id, "error", err)
		}
	}
	f := t.feed(state.Conversation)
	t.cluster.stopFollowing(f)
	f.own(l.Epoch(), state.Conversation.LastSeq)
	c := newConversation(t, l, f, state)
	t.mu.Lock()
	if t.closing {
		t.mu.Unlock()
		return nil, errors.Join(ErrUnavailable, l.Release(ctx))
	}
	t.live[id] = c
	t.work.Add(1)
	t.mu.Unlock()
	for _, r := range state.Interrupted {
		f.publish(Event{
			Kind: End, Run: r.ID, Agent: r.Speaker, Stop: brain.StopInterrupted, Error: brain.ErrInterrupted.Error(),
			Provider: r.Provider, Model: r.Model, Usage: usageOf(r.Usage), Seq: state.Conversation.LastSeq,
		})
	}
	go c.loop()
	return c, nil
}

// feed gives the feed of a conversation.
func (t *Talk) feed(c memory.Conversation) *feed {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.feeds[c.ID]
	if f == nil {
		f = &feed{id: c.ID, key: c.Key, hidden: c.Hidden, relay: t.relay, subs: map[*sub]struct{}{}}
		f.now.Seq = c.LastSeq
		t.feeds[c.ID] = f
	}
	return f
}

// forget drops a feed nobody needs any more.
func (t *Talk) forget(f *feed) {
	t.mu.Lock()
	if t.live[f.id] != nil || t.loading[f.id] != nil || !f.idle() || t.feeds[f.id] != f {
		t.mu.Unlock()
		return
	}
	delete(t.feeds, f.id)
	t.mu.Unlock()
	t.cluster.stopFollowing(f)
}

func (t *Talk) loaded(id string) *conversation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live[id]
}

// Close drains: no new turns, runs may finish for a while, then they are
// cancelled; waiting turns stay in the store for whoever comes next.
func (t *Talk) Close(ctx context.Context) error {
	t.mu.Lock()
	already := t.closing
	t.closing = true
	var all []*conversation
	for _, c := range t.live {
		all = append(all, c)
	}
	t.mu.Unlock()
	if already {
		return nil
	}
	for _, c := range all {
		c.drain()
	}
	timer := time.NewTimer(t.d.Limits.Drain)
	defer timer.Stop()
	err := t.drained(ctx, all, timer.C)
	for _, c := range all {
		c.cancelRun(brain.ErrCancelled)
	}
	for _, c := range all {
		<-c.gone
	}
	t.stop(ErrUnavailable)
	t.cluster.close()
	t.endListeners()
	t.work.Wait()
	return err
}

// drained waits until nothing runs any more.
func (t *Talk) drained(ctx context.Context, all []*conversation, late <-chan time.Time) error {
	for _, c := range all {
		select {
		case <-c.gone:
		case <-late:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("runs were cut short: %w", context.Cause(ctx))
		}
	}
	return nil
}

func (t *Talk) endListeners() {
	t.mu.Lock()
	feeds, watchers := t.feeds, t.watchers
	t.feeds, t.watchers = map[string]*feed{}, map[*watcher]struct{}{}
	t.mu.Unlock()
	for _, f := range feeds {
		f.cut(ErrUnavailable, func(*sub) bool { return true })
	}
	for w := range watchers {
		w.box.close(ErrUnavailable)
	}
}

// Stats are figures of this hub.
func (t *Talk) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Since: t.since, Active: len(t.live), Runs: len(t.slots)}
}
