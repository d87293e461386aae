package talk

import (
	"context"
	"errors"
	"io"
	"slices"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/identity"
	"parley.internal/internal/owner"
	"parley.internal/internal/talk/memory"
)

// Delete removes a conversation and all of it. A run is killed first.
func (t *Talk) Delete(ctx context.Context, who identity.Actor, id string) error {
	if _, err := t.get(ctx, who, id); err != nil {
		return err
	}
	t.note(who.String(), audit.TalkDeleted, id, nil)
	return t.remove(ctx, id)
}

func (t *Talk) remove(ctx context.Context, id string) error {
	_, err := t.convs.Ask(ctx, id, question{Op: ctlDelete})
	return unavailable(err)
}

// remove ends the conversation for good: its goroutine deletes it as the last
// thing it does.
func (c *conversation) remove(ctx context.Context) error {
	c.cancelRun(brain.ErrKilled)
	result := make(chan error, 1)
	err := c.do(ctx, func() {
		if c.isEnding() {
			result <- owner.ErrGone
			return
		}
		c.end()
		c.cancelRun(brain.ErrKilled)
		c.mu.Lock()
		waiting := slices.Concat(c.steers, c.queue)
		c.steers, c.queue = nil, nil
		c.mu.Unlock()
		if len(waiting) > 0 {
			if err := c.drop(brain.StopKilled, brain.ErrKilled, waiting...); err != nil {
				result <- err
				return
			}
		}
		c.removed = result
	})
	if err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// removeNow deletes what is stored, as its owner.
func (c *conversation) removeNow(ctx context.Context) {
	err := c.t.d.Memory.Delete(ctx, c.lease, c.id)
	if err == nil {
		c.feed.publish(Event{Kind: Deleted})
		c.feed.cut(nil, func(*sub) bool { return true })
	}
	c.removed <- err
}

// Import reads a JSONL conversation. A turn may not run where it goes.
func (t *Talk) Import(ctx context.Context, who identity.Actor, r io.Reader, opts memory.ImportOptions) (memory.Imported, error) {
	opts.Check = func(key Key) error {
		if _, err := keyOf(who, key); err != nil {
			return err
		}
		c := t.loadedKey(key)
		if c == nil {
			return nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.current != nil {
			return ErrBusy
		}
		return nil
	}
	out, err := t.d.Memory.Import(ctx, r, opts)
	if err != nil || opts.DryRun {
		return out, err
	}
	t.note(who.String(), audit.TalkImported, out.ID, map[string]any{"messages": out.Messages, "archives": out.Archives})
	return out, t.changed(ctx, out.ID)
}

// changed tells the owner that somebody else wrote to a conversation.
func (t *Talk) changed(ctx context.Context, id string) error {
	c := t.loaded(id)
	if c == nil {
		err := t.control(ctx, id, question{Op: ctlStale})
		if errors.Is(err, ErrNotActive) {
			return nil
		}
		return err
	}
	conv, err := t.d.Memory.Get(ctx, id)
	if err != nil {
		return err
	}
	err = c.do(ctx, func() { c.stale = true })
	if errors.Is(err, owner.ErrGone) {
		return nil
	}
	c.feed.publish(Event{Kind: stored, Seq: conv.LastSeq})
	return err
}

func (t *Talk) loadedKey(key Key) *conversation {
	for _, c := range t.convs.All() {
		if c.key == key {
			return c
		}
	}
	return nil
}
