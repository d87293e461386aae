package talk

import (
	"context"
	"errors"
	"iter"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/pause"
	"parley.internal/internal/talk/memory"
)

// attachPage is how many stored messages are read at a time.
const attachPage = 200

// Attach shows a conversation to a device. See [API].
func (t *Talk) Attach(ctx context.Context, who identity.Actor, key Key, afterSeq int64, history int) iter.Seq2[ConversationEvent, error] {
	return func(yield func(ConversationEvent, error) bool) {
		a := &attachment{t: t, ctx: ctx, events: newBox(eventText)}
		if err := a.open(who, key); err != nil {
			yield(ConversationEvent{}, err)
			return
		}
		defer a.close()
		a.show(afterSeq, history, yield)
	}
}

// attachment is one device looking on.
type attachment struct {
	t      *Talk
	ctx    context.Context
	conv   memory.Conversation
	feed   *feed
	sub    *sub
	events *box[Event]
	seq    int64
	going  []Event
}

// open finds the conversation, or makes it, and joins its feed here or, if another
// hub has it, through that hub.
func (a *attachment) open(who identity.Actor, key Key) (err error) {
	if key, err = keyOf(who, key); err != nil {
		return err
	}
	if _, err := a.t.agent(key.Agent); err != nil {
		if _, found := a.t.d.Memory.Find(a.ctx, key); found != nil {
			return err // neither an agent nor a memory of one
		}
	}
	if a.conv, err = a.t.d.Memory.Open(a.ctx, key, false); err != nil {
		return err
	}
	a.sub = &sub{device: true, put: a.events.put, end: a.events.close}
	for range moveTries {
		_, err = a.t.load(a.ctx, a.conv.ID)
		var held *lease.HeldError
		if err != nil && !errors.As(err, &held) {
			return err
		}
		a.feed = a.t.feed(a.conv)
		if held == nil {
			a.seq, a.going = a.feed.attach(a.sub)
			return nil
		}
		a.seq, a.going, err = a.t.cluster.attach(a.ctx, held.Owner, a.feed, a.sub)
		if !moved(err) {
			return err
		}
		if err := pause.For(a.ctx, movePause); err != nil {
			return err
		}
	}
	return ErrUnavailable
}

func (a *attachment) close() {
	a.feed.leave(a.sub)
	a.t.cluster.detached(a.feed)
	a.t.forget(a.feed)
	// A run that went on only because this device looked on has lost its reason.
	if c := a.t.loaded(a.conv.ID); c != nil {
		c.mu.Lock()
		if c.current != nil {
			c.cancelUnwatched(c.current)
		}
		c.mu.Unlock()
	}
}

// show gives the past, what is going on, and then what happens.
func (a *attachment) show(afterSeq int64, history int, yield func(ConversationEvent, error) bool) {
	if !a.past(afterSeq, history, yield) {
		return
	}
	for _, ev := range a.going {
		if !yield(a.event(ev), nil) {
			return
		}
	}
	if !yield(ConversationEvent{Key: a.conv.Key, Seq: a.seq, CaughtUp: true}, nil) {
		return
	}
	a.events.each(a.ctx, func(ev Event, err error) bool {
		if err != nil {
			return yield(ConversationEvent{}, err)
		}
		if ev.Kind == UserMessage && ev.Seq <= a.seq || ev.Kind == stored {
			return true // among the stored ones already
		}
		return yield(a.event(ev), nil) && ev.Kind != Deleted
	})
}

// past gives stored messages up to where the feed takes over.
func (a *attachment) past(after int64, history int, yield func(ConversationEvent, error) bool) bool {
	if history > 0 {
		from, err := a.lastOnes(history)
		if err != nil {
			yield(ConversationEvent{}, err)
			return false
		}
		after = max(after, from)
	}
	for after < a.seq {
		list, err := a.t.d.Memory.Messages(a.ctx, a.conv.ID, memory.Range{After: after, Before: a.seq + 1, Limit: attachPage, Oldest: true})
		if err != nil {
			yield(ConversationEvent{}, err)
			return false
		}
		if len(list) == 0 {
			return true
		}
		for i := range list {
			after = list[i].Seq
			if shown(list[i]) && !yield(ConversationEvent{Key: a.conv.Key, Seq: after, Run: list[i].Run, Message: &list[i]}, nil) {
				return false
			}
		}
	}
	return true
}

// lastOnes is the number before the last n messages that are shown. Those of a
// going run are always among them: its earlier rounds are not shown otherwise.
func (a *attachment) lastOnes(n int) (int64, error) {
	from := a.seq
	for _, ev := range a.going {
		if ev.Kind == Start && ev.Seq > 0 {
			from = min(from, ev.Seq-1)
		}
	}
	before := a.seq + 1
	for n > 0 && before > 1 {
		list, err := a.t.d.Memory.Messages(a.ctx, a.conv.ID, memory.Range{Before: before, Limit: attachPage})
		if err != nil || len(list) == 0 {
			return from, err
		}
		for i := len(list) - 1; i >= 0 && n > 0; i-- {
			before = list[i].Seq
			if shown(list[i]) {
				n--
				from = min(from, before-1)
			}
		}
	}
	return from, nil
}

// shown tells which messages people see: what was said, not what tools did.
func shown(m memory.Message) bool {
	return (m.Text != "" || len(m.Files) > 0) && (m.Role == model.User || m.Role == model.Assistant)
}

func (a *attachment) event(ev Event) ConversationEvent {
	out := ConversationEvent{Key: a.conv.Key, Seq: ev.Seq, Run: ev.Run}
	switch ev.Kind {
	case UserMessage:
		out.Message = &memory.Message{Seq: ev.Seq, Run: ev.Run, At: time.Now(), Message: model.Message{Role: model.User, Text: ev.Text, Files: ev.Files}}
	case Deleted:
		out.Deleted = true
	default:
		out.Event = &ev
	}
	return out
}
