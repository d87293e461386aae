package talk

import (
	"context"
	"iter"
	"strings"
	"sync"
)

// Run is an accepted turn as its client follows it.
type Run struct {
	// ID names the run.
	ID string
	// Key is the conversation it is of.
	Key Key

	events *box[Event]
	once   sync.Once
	leave  func()
	cancel func(ctx context.Context) error
	detach func(ctx context.Context) error
}

func newRun(id string, key Key) *Run {
	return &Run{ID: id, Key: key, events: newBox(eventText)}
}

func eventText(e *Event) (*string, string, Kind) { return &e.Text, e.Run, e.Kind }

// Events are the run's, from queued or start to its one end, which is the last.
// An error in place of the end means that this reader was cut or the hub closes;
// the run is not affected. A reader that stops may go on later; only one reads at a
// time.
func (r *Run) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r.events.each(ctx, yield)
	}
}

// Tell is Events for a reader that never waits: put is called where an event
// happens, one at a time, with locks of the conversation held. It must not block and
// must not ask this package for anything. Tell returns after the run's end with nil.
func (r *Run) Tell(ctx context.Context, put func(Event)) error {
	return r.events.tell(ctx, put)
}

// Cancel ends the run; what it said so far is kept.
func (r *Run) Cancel(ctx context.Context) error {
	if r.cancel == nil {
		return ErrNotActive
	}
	return r.cancel(ctx)
}

// Detach lets the run go on after its client has left.
func (r *Run) Detach(ctx context.Context) error {
	if r.detach == nil {
		return ErrNotActive
	}
	return r.detach(ctx)
}

// Leave says that the client is gone. Unless the turn is detached or a device is
// attached, nobody waits for the answer any more and the run is cancelled.
// Leaving after the end does nothing, so call it always.
func (r *Run) Leave() {
	r.once.Do(func() {
		if r.leave != nil {
			r.leave()
		}
	})
}

// Wait reads the run to its end and gives the answer.
func (r *Run) Wait(ctx context.Context) (Reply, error) {
	var text strings.Builder
	for ev, err := range r.Events(ctx) {
		switch {
		case err != nil:
			return Reply{}, err
		case ev.Kind == Chunk:
			text.WriteString(ev.Text)
		case ev.Kind == ToolsComplete:
			text.Reset() // the answer is the last round's text
		case ev.Kind == End:
			return Reply{Run: r.ID, Agent: ev.Agent, Text: text.String(), End: ev}, nil
		}
	}
	return Reply{}, ErrUnavailable
}
