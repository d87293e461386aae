package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/talk/memory"
)

// What a conversation is asked, from any hub.
const (
	ctlWake     = "wake" // a turn waits in the store
	ctlCancel   = "cancel"
	ctlKill     = "kill"
	ctlLeave    = "leave"
	ctlDetach   = "detach" // it goes on when its client leaves
	ctlReply    = "reply"
	ctlCompact  = "compact"
	ctlDelete   = "delete"
	ctlStale    = "stale"    // somebody else wrote to it
	ctlSnapshot = "snapshot" // what is going on
)

// question comes from this hub or another of the cluster, which has checked whether
// whoever asks may.
type question struct {
	Op      string `json:"op"`
	Run     string `json:"run,omitzero"`
	Ask     string `json:"ask,omitzero"`
	Content string `json:"content,omitzero"`
}

type answer struct {
	Join     string          `json:"join,omitzero"`
	Replay   bool            `json:"replay,omitzero"`
	Archive  *memory.Archive `json:"archive,omitzero"`
	Snapshot *snapshot       `json:"snapshot,omitzero"`
}

// newThings is how conversations are found, loaded and asked.
func (t *Talk) newThings() *owner.Things[*conversation, question, answer] {
	return owner.New(owner.Deps{Bus: t.d.Bus, Leases: t.d.Leases, Clustered: t.d.Clustered, Log: t.d.Log}, owner.Kind[*conversation, question, answer]{
		Name: "talk", Do: t.answer, Load: t.begin,
		Holds: func(c *conversation) *lease.Lease { return c.lease },
		Errors: []owner.Named{
			owner.Error("not_active", ErrNotActive), owner.Error("no_question", ErrNoQuestion), owner.Error("not_found", ErrNotFound),
			owner.Error("nothing", ErrNothing), owner.Error("queue_full", ErrQueueFull), owner.Error("summary", ErrSummary),
			owner.Error("unavailable", ErrUnavailable), owner.Error("busy", ErrBusy),
		},
	})
}

// unavailable turns what can be wrong with an owner into what callers know.
func unavailable(err error) error {
	if errors.Is(err, owner.ErrMoving) || errors.Is(err, owner.ErrSilent) || errors.Is(err, owner.ErrClosed) || errors.Is(err, errLate) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// control asks a conversation to do something if some hub has it.
func (t *Talk) control(ctx context.Context, id string, q question) error {
	if c := t.loaded(id); c != nil {
		_, err := t.answer(ctx, c, q)
		return err
	}
	if !t.d.Clustered {
		return ErrNotActive
	}
	hub, err := t.d.Leases.Owner(ctx, memory.LeaseName(id))
	if err != nil {
		return err
	}
	if hub == "" || hub == t.hub {
		return ErrNotActive
	}
	_, err = t.askAt(ctx, hub, id, q)
	if errors.Is(err, owner.ErrMoving) {
		return ErrNotActive // it is just being loaded, or was unloaded
	}
	return unavailable(err)
}

var errLate = errors.New("the hub that has the conversation takes too long")

// askAt asks the hub that should have a conversation; nothing it is asked takes long.
func (t *Talk) askAt(ctx context.Context, hub, id string, q question) (answer, error) {
	if !t.d.Clustered {
		return answer{}, owner.ErrMoving // a former life of this hub; it will be over soon
	}
	ctx, cancel := context.WithTimeoutCause(ctx, controlTimeout, errLate)
	defer cancel()
	return t.convs.AskAt(ctx, hub, id, q)
}

// moved tells that the hub that owned a conversation a moment ago does not answer for
// it any more; somebody will own it soon.
func moved(err error) bool {
	return errors.Is(err, owner.ErrMoving) || errors.Is(err, owner.ErrSilent) || errors.Is(err, errLate)
}

// answer is what a loaded conversation says. Control does not wait for its goroutine.
func (t *Talk) answer(ctx context.Context, c *conversation, q question) (a answer, err error) {
	switch q.Op {
	case ctlWake:
		return c.woken(ctx, q.Run)
	case ctlSnapshot:
		a.Snapshot = c.feed.snapshot()
	case ctlCompact:
		var archive memory.Archive
		archive, err = c.compact(ctx, q.Content)
		a.Archive = &archive
	case ctlCancel:
		err = c.cancelTurn(ctx, q.Run)
	case ctlKill:
		err = c.kill(ctx)
	case ctlLeave:
		c.leave(q.Run)
	case ctlDetach:
		c.detach(q.Run)
	case ctlReply:
		err = c.reply(q.Ask, q.Content)
	case ctlDelete:
		err = c.remove(ctx)
	case ctlStale:
		err = t.changed(ctx, c.id)
	default:
		err = fmt.Errorf("an unknown question about a conversation: %q", q.Op)
	}
	return a, err
}

// woken takes a turn from the store that another hub put there.
func (c *conversation) woken(ctx context.Context, run string) (a answer, err error) {
	w, err := c.t.d.Memory.GetWaiting(ctx, run)
	if errors.Is(err, memory.ErrNotFound) {
		return a, nil // begun already
	}
	if err != nil {
		return a, err
	}
	tn := &turn{id: w.Run, durable: true, followers: 1}
	if err := json.Unmarshal(w.Order, &tn.order); err != nil {
		return a, err
	}
	accepted := make(chan acceptance, 1)
	tn.accepted = accepted
	err = c.do(ctx, func() {
		if c.has(run) {
			tn.accept(acceptance{})
			return
		}
		c.accept(tn)
	})
	if err != nil {
		return a, err
	}
	select {
	case how := <-accepted:
		a.Join, a.Replay = how.join, how.replay != nil
		if how.replay != nil {
			a.Join = how.replay.ID
		}
		return a, how.err
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
}

// snapshot is what another hub needs to follow from here on.
func (f *feed) snapshot() *snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.barrier = true
	s := &snapshot{At: f.at, Text: f.now.text.String()}
	s.Now.Seq, s.Now.Start, s.Now.Segment, s.Now.Open, s.Now.Waiting = f.now.Seq, f.now.Start, f.now.Segment, slices.Clone(f.now.Open), slices.Clone(f.now.Waiting)
	return s
}
