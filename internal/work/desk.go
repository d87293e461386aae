package work

import (
	"context"
	"errors"
	"math"
	"sync"

	"parley.internal/protocol/viber"
)

// Screen is where a desk shows things: one connection. Show and Lost are called one at
// a time, in order, and must not wait for anything nor call the desk.
type Screen interface {
	Show(s Shown)
	// Room waits until a long replay may go on; live events never wait for it.
	Room(ctx context.Context) error
	// Lost says that the desk can no longer tell what happens.
	Lost(err error)
}

// Shown is one thing a desk shows.
type Shown struct {
	Payload viber.Payload
	// ReplyTo is the request it answers, if any.
	ReplyTo string
	// Followed says that it is of a task the desk follows, so that nothing may be left
	// out of its numbers. Own is a task that was submitted here.
	Followed, Own bool
}

// Desk is what one connection is shown of its person's tasks, in one order:
//
//   - of a task it follows, every event, as the log has it;
//   - of the person's other tasks, the events of their lives and the questions;
//   - behind each event, the state of the agent that it changed;
//   - what a request of the connection led to, in its place among the rest.
//
// Each event comes once: either from the log or as news, whichever the desk is at. A
// desk is safe for concurrent use.
type Desk struct {
	w        *Work
	person   string
	screen   Screen
	audience *audience
	ctx      context.Context
	cancel   context.CancelFunc
	pumps    sync.WaitGroup

	mu     sync.Mutex // guards the rest; taken after the audience's
	closed bool
	agents *agents
	tasks  map[string]*deskTask
	awaits map[string][]string // requests that an event will answer
}

// deskTask is a task that the desk follows, or has followed and of which some news that
// it showed already is still to come.
type deskTask struct {
	stream *Stream // nil: not followed (any more)
	own    bool
	// shown and heard are the numbers of the last news: shown from the log, and heard.
	shown, heard int64
	// later is news the log's reader has not come to yet.
	later []viber.TaskEvent
}

// Desk opens the desk of a connection. See [API].
func (w *Work) Desk(ctx context.Context, person string, screen Screen, begin func()) (*Desk, error) {
	d := &Desk{w: w, person: person, screen: screen, tasks: map[string]*deskTask{}, awaits: map[string][]string{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.audience = w.enter(person)
	var err error
	select {
	case <-d.audience.ready:
		err = d.audience.admit(d, begin)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close ends the desk: nothing is shown any more when it returns.
func (d *Desk) Close() {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	d.mu.Unlock()
	if !first {
		return
	}
	d.cancel()
	d.audience.leave(d)
	d.pumps.Wait()
}

// hear shows what the audience heard, unless the log shows it.
func (d *Desk) hear(ev viber.TaskEvent, own bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ref := ev.Ref()
	t := d.tasks[ref.TaskID]
	if t == nil || ref.TaskID == "" {
		d.tell(ev, own)
		return
	}
	if !own {
		return // followed: the log has it
	}
	t.heard = max(t.heard, ref.Seq)
	switch {
	case ref.Seq <= t.shown:
		if _, open := d.agents.open[ref.TaskID]; open {
			d.showState(ev) // only a snapshot has told it so far
		}
	case t.stream != nil:
		t.later = append(t.later, ev)
	default:
		d.tell(ev, own)
	}
	d.forget(ref.TaskID, t)
}

// tell shows an event of a task that is not followed.
func (d *Desk) tell(ev viber.TaskEvent, own bool) {
	if _, only := ev.(*viber.TaskProgress); !only {
		d.show(ev, Shown{Payload: ev})
	}
	if own {
		d.showState(ev)
	}
}

// show shows something once for every request it answers, or just once.
func (d *Desk) show(p viber.Payload, s Shown) {
	if d.closed {
		return
	}
	replies := d.answeredBy(p)
	if s.ReplyTo != "" || len(replies) == 0 {
		d.screen.Show(s)
	}
	for _, s.ReplyTo = range replies {
		d.screen.Show(s)
	}
}

// showState shows what an event made of its agent.
func (d *Desk) showState(ev viber.TaskEvent) {
	if s := d.agents.take(ev); s != nil && !d.closed {
		d.screen.Show(Shown{Payload: s})
	}
}

// forget drops a task that is not followed, once all that was shown of it was heard.
func (d *Desk) forget(id string, t *deskTask) {
	if t.stream == nil && t.heard >= t.shown {
		delete(d.tasks, id)
	}
}

// noNews is what has been heard of a task of which no news will come.
const noNews = math.MaxInt64

// begin makes a stream the one by which a task is shown. One that was there before
// shows nothing any more. It needs mu.
func (d *Desk) begin(s *Stream, own bool) *deskTask {
	t := d.tasks[s.TaskID]
	if t == nil {
		t = &deskTask{}
		d.tasks[s.TaskID] = t
		if _, open := d.agents.open[s.TaskID]; !open && s.Snapshot != nil || s.principal != d.person {
			t.heard = noNews
		}
	}
	t.stream, t.own = s, t.own || own
	return t
}

// pump shows a stream's events. Until the present is reached it goes as fast as the
// screen takes them; from then on a screen that does not is cut.
func (d *Desk) pump(s *Stream, replyTo string) {
	if d.closed {
		return
	}
	d.pumps.Go(func() {
		var present int64
		if s.Snapshot != nil {
			present = s.Snapshot.LastSeq
		}
		for ev, err := range s.Events(d.ctx) {
			if err == nil && ev.Ref().Seq < present {
				err = d.screen.Room(d.ctx)
			}
			if err != nil {
				d.broken(s, err)
				return
			}
			if !d.advance(s, ev, replyTo) {
				return
			}
			replyTo = ""
		}
	})
}

// broken says that a stream has ended before its task.
func (d *Desk) broken(s *Stream, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tasks[s.TaskID]; d.ctx.Err() == nil && t != nil && t.stream == s && !errors.Is(err, context.Canceled) {
		d.screen.Lost(err)
	}
}

// advance shows the next event of a stream; false if another has taken its place.
func (d *Desk) advance(s *Stream, ev viber.TaskEvent, replyTo string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tasks[s.TaskID]
	if d.closed || t == nil || t.stream != s {
		return false
	}
	d.show(ev, Shown{Payload: ev, ReplyTo: replyTo, Followed: true, Own: t.own})
	if isNews(ev) {
		t.shown = max(t.shown, ev.Ref().Seq)
		for len(t.later) > 0 && t.later[0].Ref().Seq <= t.shown {
			t.later = t.later[1:]
		}
		if s.principal == d.person {
			d.showState(ev)
		}
	}
	if viber.Ends(ev) {
		t.stream = nil
		d.forget(s.TaskID, t)
		return false
	}
	return true
}
