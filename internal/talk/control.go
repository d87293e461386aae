package talk

import (
	"context"
	"errors"
	"slices"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/identity"
	"parley.internal/internal/owner"
	"parley.internal/internal/store"
	"parley.internal/internal/talk/memory"
)

// cancelRun cancels what is being done, if anything is.
func (c *conversation) cancelRun(cause error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return false
	}
	c.current.cancel(cause)
	return true
}

// Cancel ends the running turn, or the one that is named.
func (t *Talk) Cancel(ctx context.Context, who identity.Actor, key Key, run string) error {
	conv, err := t.find(ctx, who, key)
	if err != nil {
		return notActive(err)
	}
	return t.cancel(ctx, conv.ID, run)
}

func (t *Talk) cancel(ctx context.Context, id, run string) error {
	return t.control(ctx, id, question{Op: ctlCancel, Run: run})
}

// cancelTurn does not wait for the conversation's goroutine where a run goes on.
func (c *conversation) cancelTurn(ctx context.Context, run string) error {
	c.mu.Lock()
	j := c.current
	running := j != nil && (run == "" && j.turn.Kind == orderTurn || j.turn.id == run ||
		slices.ContainsFunc(j.joined, func(tn *turn) bool { return tn.id == run }))
	if running {
		j.cancel(brain.ErrCancelled)
	}
	c.mu.Unlock()
	if running {
		return nil
	}
	if run == "" {
		return ErrNotActive
	}
	result := make(chan error, 1)
	if err := c.do(ctx, func() { result <- c.cancelWaiting(run) }); err != nil {
		return notActive(err)
	}
	return <-result
}

// cancelWaiting drops a turn that has not begun.
func (c *conversation) cancelWaiting(run string) error {
	if tn := c.takeSteer(run); tn != nil {
		return c.drop(brain.StopCancelled, brain.ErrCancelled, tn)
	}
	i := slices.IndexFunc(c.queue, func(tn *turn) bool { return tn.id == run })
	if i < 0 {
		return ErrNotActive
	}
	tn := c.queue[i]
	c.setQueue(func(q []*turn) []*turn { return slices.Delete(q, i, i+1) })
	err := c.drop(brain.StopCancelled, brain.ErrCancelled, tn)
	c.positions()
	return err
}

func (c *conversation) takeSteer(run string) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.steers, func(tn *turn) bool { return tn.id == run })
	if i < 0 {
		return nil
	}
	tn := c.steers[i]
	c.steers = slices.Delete(c.steers, i, i+1)
	return tn
}

// drop ends turns that will never begin.
func (c *conversation) drop(stop brain.Stop, why error, turns ...*turn) error {
	err := c.write(func(tx *store.Tx) error {
		for _, tn := range turns {
			if err := c.t.d.Memory.Dequeue(tx, tn.id); err != nil {
				return err
			}
		}
		return nil
	})
	for _, tn := range turns {
		if tn.Kind == orderCompact {
			tn.answer(compacted{err: why})
			continue
		}
		c.feed.publish(Event{Kind: End, Run: tn.id, Agent: tn.speaker(c.key.Agent), Stop: stop, Error: why.Error(), Usage: usageOf(noUsage)})
	}
	return err
}

// Kill cancels the run, ends waiting turns and unloads. It returns when that is
// done, which no run, tool or provider can delay for long.
func (t *Talk) Kill(ctx context.Context, who identity.Actor, key Key) error {
	conv, err := t.find(ctx, who, key)
	if err != nil {
		return notActive(err)
	}
	t.note(who.String(), audit.TalkKilled, conv.ID, nil)
	return t.kill(ctx, conv.ID)
}

func (t *Talk) kill(ctx context.Context, id string) error {
	return t.control(ctx, id, question{Op: ctlKill})
}

func (c *conversation) kill(ctx context.Context) error {
	c.cancelRun(brain.ErrKilled)
	result := make(chan error, 1)
	err := c.do(ctx, func() {
		c.end()
		c.cancelRun(brain.ErrKilled) // one that began meanwhile
		c.mu.Lock()
		waiting := slices.Concat(c.steers, c.queue)
		c.steers, c.queue = nil, nil
		c.mu.Unlock()
		if len(waiting) == 0 {
			result <- nil
			return
		}
		result <- c.drop(brain.StopKilled, brain.ErrKilled, waiting...)
	})
	if errors.Is(err, owner.ErrGone) {
		return nil // somebody else unloaded it
	}
	if err != nil {
		return err
	}
	if err := <-result; err != nil {
		return err
	}
	return waitFor(ctx, c.gone)
}

// notActive is how control answers for what is not there.
func notActive(err error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, owner.ErrGone) {
		return ErrNotActive
	}
	return err
}

// find looks a conversation up for somebody.
func (t *Talk) find(ctx context.Context, who identity.Actor, key Key) (conv memory.Conversation, err error) {
	if key, err = keyOf(who, key); err != nil {
		return conv, err
	}
	return t.d.Memory.Find(ctx, key)
}
