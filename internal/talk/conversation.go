package talk

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/ids"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/store"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/workspace"
)

// writeTimeout is how long a step of a run may take to become durable. Writes of
// a run do not end with its cancel: what happened must be in the history.
const writeTimeout = 20 * time.Second

// conversation is a loaded one. Its goroutine owns the window, the queue and the
// job; while a job runs, the window is lent to it. What control needs (cancel,
// steer, reply) is behind mu instead, so that it never waits for a run.
type conversation struct {
	t     *Talk
	id    string
	key   Key
	lease *lease.Lease
	feed  *feed
	// caller is the conversation whose run delegated this one; nil for one of a person.
	caller *conversation
	// person is whose inbox questions go to.
	person string
	// whose folder its agents work in.
	whose workspace.Whose

	mail     chan func()
	finished chan settled
	gone     chan struct{}

	window  window
	queue   []*turn // changed by its goroutine only, with setQueue
	job     *job
	retries int // failed automatic compactions in a row
	stale   bool
	removed chan error // set when all of it is to be deleted at the end
	lost    bool       // another hub owns it
	used    time.Time

	mu      sync.Mutex
	ending  bool
	current *job
	steers  []*turn
	asks    []*ask
}

// job is what a conversation is doing: a turn or a compaction.
type job struct {
	turn   *turn
	cancel context.CancelCauseFunc
	// joined are steers that became part of the run; their clients follow it.
	joined []*turn
	// over is set once no further model call can come.
	over bool
}

// settled is how a job ended.
type settled struct {
	end       *Event      // of a turn; told once its conversation is free again
	compact   *compaction // to be done before the next turn
	firstTurn bool
}

func newConversation(t *Talk, l *lease.Lease, f *feed, s memory.Loaded) *conversation {
	c := &conversation{
		t: t, id: s.Conversation.ID, key: s.Conversation.Key, lease: l, feed: f, person: t.d.PersonOf(s.Conversation.Sender), whose: t.d.WhoseOf(s.Conversation.Sender),
		mail: make(chan func()), finished: make(chan settled, 1), gone: make(chan struct{}),
		window: window{Window: s.Window}, used: time.Now(),
	}
	for _, w := range s.Queue {
		tn, err := restoredTurn(w)
		if err != nil {
			t.d.Log.Error("a waiting turn cannot be read", "run", w.Run, "error", err)
			continue
		}
		c.queue = append(c.queue, tn)
	}
	return c
}

// loop is the conversation's goroutine.
func (c *conversation) loop() {
	defer c.t.work.Done()
	idle := time.NewTicker(c.t.d.Limits.Idle / 4)
	defer idle.Stop()
	lost := c.lease.Lost()
	c.next()
	for {
		select {
		case fn := <-c.mail:
			c.used = time.Now()
			fn()
		case s := <-c.finished:
			c.afterJob(s)
		case <-lost:
			lost = nil
			c.lose()
		case <-idle.C:
			c.unloadIfIdle()
		}
		if c.job == nil && c.isEnding() {
			c.unload()
			return
		}
		c.next()
	}
}

// do runs fn on the conversation's goroutine.
func (c *conversation) do(ctx context.Context, fn func()) error {
	select {
	case c.mail <- fn:
		return nil
	case <-c.gone:
		return owner.ErrGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *conversation) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

func (c *conversation) end() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.t.convs.Leaving(c.id, c)
}

// next begins what waits first, if nothing is being done.
func (c *conversation) next() {
	if c.job != nil || len(c.queue) == 0 || c.isEnding() {
		return
	}
	tn := c.queue[0]
	c.setQueue(func(q []*turn) []*turn { return q[1:] })
	c.begin(tn)
	c.positions()
}

// begin starts a job.
func (c *conversation) begin(tn *turn) {
	ctx, cancel := context.WithCancelCause(c.t.ctx)
	j := &job{turn: tn, cancel: cancel}
	c.mu.Lock()
	c.job, c.current = j, j
	c.mu.Unlock()
	if c.stale {
		c.stale = false
		c.reload(ctx)
	}
	go func() {
		defer cancel(nil)
		if tn.Kind == orderCompact {
			c.finished <- c.runCompaction(ctx, j)
			return
		}
		c.finished <- c.runTurn(ctx, j)
	}()
}

// afterJob takes a job's end in and decides what comes next.
func (c *conversation) afterJob(s settled) {
	c.used = time.Now()
	c.mu.Lock()
	left := c.steers
	c.steers, c.job, c.current = nil, nil, nil
	c.mu.Unlock()
	// Steers that found no further round are the next turns, behind whoever
	// interrupted.
	c.setQueue(func(q []*turn) []*turn {
		at := 0
		for at < len(q) && q[at].Mode == Interrupt {
			at++
		}
		return slices.Insert(q, at, left...)
	})
	if s.end != nil {
		c.feed.publish(*s.end)
	}
	if s.firstTurn {
		c.titleLater()
	}
	if s.compact != nil && !c.isEnding() {
		c.begin(&turn{order: order{Kind: orderCompact, Focus: s.compact.focus}, id: ids.New(), compaction: s.compact})
	}
	c.positions()
}

// setQueue changes the queue, which control looks at from outside.
func (c *conversation) setQueue(change func([]*turn) []*turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = change(c.queue)
}

// positions tells waiting turns where they stand, when that changed.
func (c *conversation) positions() {
	for i, tn := range c.queue {
		if tn.position != i+1 && tn.Kind == orderTurn {
			tn.position = i + 1
			c.feed.publish(Event{Kind: Queued, Run: tn.id, Position: i + 1})
		}
	}
}

// unloadIfIdle unloads a conversation nobody has used for a while. Devices that
// are attached keep it.
func (c *conversation) unloadIfIdle() {
	if c.job == nil && len(c.queue) == 0 && time.Since(c.used) >= c.t.d.Limits.Idle && c.feed.idle() {
		c.end()
	}
}

// lose gives up: another hub owns the conversation now. The run's own client is told
// that its run was cut, and devices that they have to come again.
func (c *conversation) lose() {
	c.lost = true
	c.end()
	c.cancelRun(brain.ErrInterrupted)
}

// unload is the last thing a conversation does.
func (c *conversation) unload() {
	t := c.t
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if c.removed != nil {
		c.removeNow(ctx)
	}
	if err := t.convs.LetGo(ctx, c.id, c); err != nil {
		t.d.Log.Warn("cannot release a conversation", "conversation", c.id, "error", err)
	}
	if c.lost {
		c.feed.cut(ErrLagged, func(s *sub) bool { return s.device }) // they have missed what the next owner did first
	}
	if !t.isClosing() && !c.feed.idle() {
		t.cluster.awaitNext(c.feed)
	}
	close(c.gone)
	t.forget(c.feed)
}

// drain stops beginning turns and unloads once nothing runs.
func (c *conversation) drain() {
	c.end()
	// The conversation looks at this when its mail or its job wakes it.
	_ = c.do(context.Background(), func() {
		c.feed.cut(ErrUnavailable, func(s *sub) bool { return s.run != "" && c.waits(s.run) })
	})
}

func (c *conversation) waits(run string) bool {
	return slices.ContainsFunc(c.queue, func(tn *turn) bool { return tn.id == run })
}

// write is a fenced transaction that outlives a cancel.
func (c *conversation) write(fn func(tx *store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return c.t.d.Memory.Write(ctx, func(tx *store.Tx) error {
		if err := c.lease.Check(tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// reload reads the window again after somebody else wrote to the conversation.
func (c *conversation) reload(ctx context.Context) {
	w, err := c.t.d.Memory.Window(ctx, c.id)
	if err != nil {
		c.t.d.Log.Error("cannot read a conversation again", "conversation", c.id, "error", err)
		return
	}
	c.window = window{Window: w}
}
