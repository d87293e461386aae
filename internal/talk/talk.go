package talk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/wake"
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

	convs     *owner.Things[*conversation, question, answer]
	cluster   *cluster
	schedules *scheduler
	keeper    keeper

	mu       sync.Mutex
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
		feeds: map[string]*feed{}, watchers: map[*watcher]struct{}{},
	}
	t.convs = t.newThings()
	t.cluster = &cluster{t: t, devices: map[string]map[string]deviceCount{}, wake: wake.New(), quit: make(chan struct{})}
	t.schedules = &scheduler{t: t, wake: wake.New()}
	return t, nil
}

// Start listens to other hubs, takes up what a former life or a dead hub left
// unfinished, and fires schedules, until Close.
func (t *Talk) Start(ctx context.Context) error {
	if err := errors.Join(t.cluster.listen(), t.convs.Listen()); err != nil {
		return err
	}
	if err := t.sweep(ctx); err != nil {
		t.cluster.close()
		t.convs.Close()
		return err
	}
	t.work.Go(t.housekeeping)
	t.work.Go(t.schedules.loop)
	t.work.Go(func() { t.keeper.loop(t) })
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

// load gives the loaded conversation, loading it if need be. The error is a
// *lease.HeldError when another hub has it.
func (t *Talk) load(ctx context.Context, id string) (*conversation, error) {
	c, err := t.convs.Take(ctx, id)
	if errors.Is(err, owner.ErrClosed) {
		err = ErrUnavailable
	}
	return c, err
}

func waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin reads what a former owner left and starts the conversation.
func (t *Talk) begin(ctx context.Context, id string, l *lease.Lease) (*conversation, error) {
	state, err := t.d.Memory.Load(ctx, l, id, memory.Interruption{
		Stop: int(brain.StopInterrupted), Reason: brain.ErrInterrupted.Error(), Result: "interrupted: the hub stopped before this call had a result; it may or may not have happened",
	})
	if err != nil {
		return nil, err
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
	t.work.Add(1)
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
	if t.convs.Has(f.id) || !f.idle() || t.feeds[f.id] != f {
		t.mu.Unlock()
		return
	}
	delete(t.feeds, f.id)
	t.mu.Unlock()
	t.cluster.stopFollowing(f)
}

func (t *Talk) loaded(id string) *conversation {
	c, _ := t.convs.Get(id)
	return c
}

// Close drains: no new turns, runs may finish for a while, then they are
// cancelled; waiting turns stay in the store for whoever comes next.
func (t *Talk) Close(ctx context.Context) error {
	t.mu.Lock()
	already := t.closing
	t.closing = true
	t.mu.Unlock()
	if already {
		return nil
	}
	t.convs.Refuse()
	all := t.convs.All()
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
	t.convs.Close()
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
	return Stats{Since: t.since, Active: len(t.convs.All()), Runs: len(t.slots)}
}
