package talk

import (
	"context"
	"errors"
	"slices"

	"parley.internal/internal/brain"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/owner"
	"parley.internal/internal/store"
	"parley.internal/internal/talk/memory"
)

// submit hands a turn to the conversation and returns once it is durable.
func (c *conversation) submit(ctx context.Context, tn *turn) (*Run, error) {
	tn.id, tn.durable, tn.followers = ids.New(), false, 1
	accepted := make(chan acceptance, 1)
	tn.accepted = accepted
	run := newRun(tn.id, c.key)
	s := c.follow(run)
	if tn.left {
		tn.followers = 0
		run.leave = func() { c.feed.leave(s); c.t.forget(c.feed) }
	}
	if err := c.do(ctx, func() { c.accept(tn) }); err != nil {
		c.feed.leave(s)
		return nil, err
	}
	select {
	case a := <-accepted:
		return c.accepted(run, s, a)
	case <-ctx.Done():
		run.Leave() // accepted or not, nobody waits any more
		return nil, context.Cause(ctx)
	}
}

// follow makes a run hear its events.
func (c *conversation) follow(run *Run) *sub {
	s := &sub{run: run.ID, put: run.events.put, end: run.events.close}
	run.leave = func() { c.leave(run.ID); c.feed.leave(s); c.t.forget(c.feed) }
	run.cancel = func(ctx context.Context) error { return c.t.cancel(ctx, c.id, run.ID) }
	run.detach = func(ctx context.Context) error { return c.t.control(ctx, c.id, question{Op: ctlDetach, Run: run.ID}) }
	c.feed.join(s)
	return s
}

func (c *conversation) accepted(run *Run, s *sub, a acceptance) (*Run, error) {
	if a.err == nil && a.join == "" && a.replay == nil {
		return run, nil
	}
	c.feed.leave(s)
	switch {
	case a.err != nil:
		return nil, a.err
	case a.replay != nil:
		return replayed(c.key, *a.replay), nil
	}
	joined := newRun(a.join, c.key)
	c.follow(joined)
	return joined, nil
}

// replayed shows a run that has ended.
func replayed(key Key, r memory.Run) *Run {
	run := newRun(r.ID, key)
	run.events.put(Event{Kind: Start, Run: r.ID, Agent: r.Speaker, Seq: r.UserSeq})
	if r.Text != "" {
		run.events.put(Event{Kind: Chunk, Run: r.ID, Text: r.Text})
	}
	end := Event{
		Kind: End, Run: r.ID, Agent: r.Speaker, Error: r.Error, Stop: brain.Stop(r.Stop),
		Provider: r.Provider, Model: r.Model, Usage: usageOf(r.Usage), Seq: r.UserSeq,
	}
	if end.Stop == brain.StopInterrupted {
		end.Code, end.Error = CodeNotRepeated, "interrupted after it had begun to act: look what it did, and send it under another key"
	}
	run.events.put(end)
	run.events.close(nil)
	return run
}

// accept decides what a turn does: begin, join, interrupt or wait. It runs on the
// conversation's goroutine.
func (c *conversation) accept(tn *turn) {
	if c.isEnding() {
		tn.accept(acceptance{err: owner.ErrGone})
		return
	}
	if tn.Key != "" {
		if a := c.known(tn.Key); a != nil {
			c.unqueue(tn)
			tn.accept(*a)
			return
		}
	}
	if err := c.fits(tn); err != nil {
		c.unqueue(tn)
		tn.accept(acceptance{err: err})
		return
	}
	if c.job == nil && len(c.queue) == 0 {
		c.begin(tn) // the job answers, once the words are stored
		return
	}
	err := c.enqueue(tn)
	if err != nil {
		c.unqueue(tn)
	}
	tn.accept(acceptance{err: err})
	if err == nil {
		c.positions()
	}
}

// unqueue takes a turn that another hub put into the store out again.
func (c *conversation) unqueue(tn *turn) {
	if !tn.durable {
		return
	}
	if err := c.write(func(tx *store.Tx) error { return c.t.d.Memory.Dequeue(tx, tn.id) }); err != nil {
		c.t.d.Log.Warn("cannot drop a refused turn", "run", tn.id, "error", err)
	}
}

// has tells whether a turn is here already.
func (c *conversation) has(run string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	here := slices.Concat(c.queue, c.steers)
	if c.current != nil {
		here = append(append(here, c.current.turn), c.current.joined...)
	}
	return slices.ContainsFunc(here, func(tn *turn) bool { return tn.id == run })
}

func (tn *turn) accept(a acceptance) {
	if tn.accepted != nil {
		tn.accepted <- a
		tn.accepted = nil
	}
}

// enqueue makes a turn wait, durably.
func (c *conversation) enqueue(tn *turn) error {
	c.mu.Lock()
	waiting := len(c.queue) + len(c.steers)
	c.mu.Unlock()
	if waiting >= c.t.d.Limits.Waiting {
		return ErrQueueFull
	}
	if !tn.durable {
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		defer cancel()
		if err := c.t.d.Memory.Enqueue(ctx, c.lease, c.id, tn.waiting(), c.t.d.Limits.Waiting, tn.Mode == Interrupt); err != nil {
			return err
		}
		tn.durable = true
	}
	if tn.Mode == Steer && c.steer(tn) {
		return nil
	}
	if tn.Mode == Interrupt {
		c.setQueue(func(q []*turn) []*turn { return slices.Insert(q, 0, tn) })
		c.cancelRun(brain.ErrCancelled)
		return nil
	}
	c.setQueue(func(q []*turn) []*turn { return append(q, tn) })
	return nil
}

// steer lets a turn join the run at its next model call. Only the same speaker's
// run can take it, and only words of its own person, who could have started it: others
// would act with more than they have, with another's standing rules too, and wait for a run
// of their own instead. So do words that a model wrote over MCP.
func (c *conversation) steer(tn *turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.current
	if j == nil || j.over || j.turn.By.Person.ID != tn.By.Person.ID || (j.turn.By.Where == identity.AtMCP) != (tn.By.Where == identity.AtMCP) || j.turn.Kind != orderTurn || j.turn.Guest != tn.Guest || !j.turn.By.ForAgent("", identity.InConversation, c.id).Within(tn.By) {
		return false
	}
	c.steers = append(c.steers, tn)
	return true
}

// known finds what an earlier request with the same key became.
func (c *conversation) known(key string) *acceptance {
	if id := c.byKey(key); id != "" {
		return &acceptance{join: id}
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	r, err := c.t.d.Memory.RunByKey(ctx, c.id, key)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return nil
	case err != nil:
		return &acceptance{err: err}
	case brain.Stop(r.Stop) == brain.StopInterrupted:
		return c.afterInterruption(ctx, r)
	}
	return &acceptance{replay: &r}
}

// afterInterruption decides about the key of a turn that its hub's end cut off. Whoever
// repeats it was told to try again: a turn that called no tool is begun anew. One that did
// is shown as it ended, as final, since what it did may not be done twice.
func (c *conversation) afterInterruption(ctx context.Context, r memory.Run) *acceptance {
	acted, err := c.t.d.Memory.Acted(ctx, r)
	switch {
	case err != nil:
		return &acceptance{err: err}
	case !acted:
		return nil
	}
	return &acceptance{replay: &r}
}

// byKey looks among what runs and waits. A steer that joined is the run it joined.
func (c *conversation) byKey(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.current; j != nil {
		for _, tn := range append([]*turn{j.turn}, j.joined...) {
			if tn.Key == key {
				j.turn.followers++
				return j.turn.id
			}
		}
	}
	for _, tn := range slices.Concat(c.steers, c.queue) {
		if tn.Key == key {
			tn.followers++
			return tn.id
		}
	}
	return ""
}

// leave says that a client of a run is gone. A run nobody waits for is cancelled,
// unless it is detached or a device looks on; words that wait are kept, and no
// model is called for them.
func (c *conversation) leave(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.current; j != nil {
		for _, tn := range append([]*turn{j.turn}, j.joined...) {
			if tn.id == run {
				tn.followers--
				c.cancelUnwatched(j)
				return
			}
		}
	}
	for _, tn := range slices.Concat(c.steers, c.queue) {
		if tn.id == run {
			tn.followers--
		}
	}
}

// detach lets a turn go on without its client.
func (c *conversation) detach(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Concat(c.steers, c.queue)
	if c.current != nil {
		all = append(append(all, c.current.turn), c.current.joined...)
	}
	for _, tn := range all {
		tn.Detached = tn.Detached || tn.id == run
	}
}

// cancelUnwatched cancels a run that goes on for nobody; the caller holds mu.
func (c *conversation) cancelUnwatched(j *job) {
	if j.turn.Kind == orderTurn && !wanted(append([]*turn{j.turn}, j.joined...)) && c.watched() == 0 {
		j.cancel(brain.ErrCancelled)
	}
}

// wanted tells whether somebody waits for one of these turns.
func wanted(turns []*turn) bool {
	return slices.ContainsFunc(turns, func(tn *turn) bool { return tn.Detached || tn.followers > 0 })
}

// watched counts attached devices, here and on other hubs.
func (c *conversation) watched() int { return c.feed.devices() + c.t.cluster.devicesOf(c.id) }
