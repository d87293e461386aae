package talk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/wake"
)

const (
	// controlTimeout is how long another hub may take to answer.
	controlTimeout = 10 * time.Second
	// pieceSize bounds one piece of a long text on the bus: escaped as JSON it
	// still fits a message.
	pieceSize = 128 << 10
	// deviceLife is how long a hub's word about its attached devices counts.
	deviceLife = 15 * time.Second
)

// cluster is how what happens in a conversation is seen on every hub: events go out on
// talk.<id>. Alone it does nothing.
type cluster struct {
	t *Talk

	mu        sync.Mutex
	subs      []bus.Subscription
	devices   map[string]map[string]deviceCount // conversation, hub
	answering sync.WaitGroup
	closed    bool
	// dirty are feeds with events for other hubs; the sender takes them.
	dirty []*feed
	wake  wake.Bell
	quit  chan struct{}
	sent  sync.WaitGroup
}

type deviceCount struct {
	n    int
	seen time.Time
}

func eventSubject(id string) string { return "talk." + bus.Token(id) }

const deviceSubject = "talkdevices"

// envelope is an event on the bus.
type envelope struct {
	Hub     string `json:"hub"`
	ID      string `json:"id"`
	Key     Key    `json:"key"`
	Speaker string `json:"speaker"`
	Hidden  bool   `json:"hidden,omitempty"`
	Mark    mark   `json:"mark"`
	// From is the first of the events that were merged into this one.
	From int64 `json:"from"`
	// Part counts the pieces of one event from 0.
	Part int `json:"part,omitempty"`
	// Stored says that the text is too long for the bus and is in the store.
	Stored bool  `json:"stored,omitempty"`
	Event  Event `json:"event"`
}

func (cl *cluster) listen() error {
	if !cl.t.d.Clustered {
		return nil
	}
	devices, err := cl.t.d.Bus.Subscribe(deviceSubject, cl.heardDevices)
	if err != nil {
		return err
	}
	all, err := cl.t.d.Bus.Subscribe("talk.*", cl.heardActivity)
	if err != nil {
		devices.Close()
		return err
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.subs = []bus.Subscription{devices, all}
	cl.sent.Go(cl.sender)
	return nil
}

func (cl *cluster) close() {
	cl.mu.Lock()
	subs, already := cl.subs, cl.closed
	cl.subs, cl.closed = nil, true
	cl.mu.Unlock()
	if !already {
		close(cl.quit)
	}
	cl.sent.Wait()
	for _, s := range subs {
		s.Close()
	}
	cl.answering.Wait()
}

// outgoing is an event on its way to other hubs. Neighbouring pieces of a text are
// merged while they wait, so that a fast model does not flood the bus.
type outgoing struct {
	env   envelope
	parts []string
}

// send queues an event for the other hubs; the caller holds the feed's lock.
func (cl *cluster) send(f *feed, n mark, ev Event) {
	if !cl.t.d.Clustered || f.hidden {
		return
	}
	if last := len(f.out) - 1; last >= 0 && !f.barrier && (ev.Kind == Chunk || ev.Kind == Thinking) {
		o := &f.out[last]
		if o.env.Event.Kind == ev.Kind && o.env.Event.Run == ev.Run && o.env.Mark.N+1 == n.N {
			o.env.Mark, o.parts = n, append(o.parts, ev.Text)
			return
		}
	}
	f.barrier = false
	f.out = append(f.out, outgoing{
		env:   envelope{Hub: cl.t.hub, ID: f.id, Key: f.key, Speaker: f.speaker(ev), Hidden: f.hidden, Mark: n, From: n.N, Event: ev},
		parts: []string{ev.Text},
	})
	if len(f.out) == 1 {
		cl.mu.Lock()
		cl.dirty = append(cl.dirty, f)
		cl.mu.Unlock()
		cl.wake.Ring()
	}
}

// sender publishes what waits until the hub closes.
func (cl *cluster) sender() {
	for {
		cl.flush()
		select {
		case <-cl.wake:
		case <-cl.quit:
			cl.flush()
			return
		}
	}
}

func (cl *cluster) flush() {
	for {
		cl.mu.Lock()
		feeds := cl.dirty
		cl.dirty = nil
		cl.mu.Unlock()
		if len(feeds) == 0 {
			return
		}
		for _, f := range feeds {
			f.mu.Lock()
			out := f.out
			f.out = nil
			f.mu.Unlock()
			for _, o := range out {
				o.env.Event.Text = strings.Join(o.parts, "")
				cl.publish(o.env)
			}
		}
	}
}

// publish puts an event on the bus, in pieces if it is long.
func (cl *cluster) publish(env envelope) {
	text := env.Event.Text
	switch {
	case len(text) <= pieceSize:
		cl.put(env)
	case env.Event.Kind == Chunk || env.Event.Kind == Thinking:
		for rest := text; rest != ""; env.Part++ {
			env.Event.Text, rest = cutAt(rest, pieceSize)
			cl.put(env)
		}
	default:
		env.Event.Text, env.Stored = "", true
		cl.put(env)
	}
}

func cutAt(s string, n int) (head, rest string) {
	if len(s) <= n {
		return s, ""
	}
	head = strings.ToValidUTF8(s[:n], "") // only a broken last character can be invalid
	return head, s[len(head):]
}

func (cl *cluster) put(env envelope) {
	data, err := json.Marshal(env)
	if err == nil && len(data) > cl.t.d.Bus.MaxPayload() && env.Event.Result != nil {
		short := *env.Event.Result
		short.Output, _ = cutAt(short.Output, pieceSize/2)
		short.LeftOut += len(env.Event.Result.Output) - len(short.Output)
		env.Event.Result = &short
		data, err = json.Marshal(env)
	}
	if err == nil {
		err = cl.t.d.Bus.Publish(eventSubject(env.ID), data)
	}
	if err != nil && !errors.Is(err, bus.ErrClosed) {
		cl.t.d.Log.Warn("other hubs miss an event", "conversation", env.ID, "error", err)
	}
}

// heardActivity shows what happens on other hubs to those who watch everything.
func (cl *cluster) heardActivity(m bus.Msg) {
	cl.t.mu.Lock()
	nobody := len(cl.t.watchers) == 0
	cl.t.mu.Unlock()
	if nobody {
		return
	}
	var env envelope
	if json.Unmarshal(m.Data, &env) != nil || env.Hub == cl.t.hub || env.Hidden {
		return
	}
	cl.fill(&env)
	cl.t.watch(env.Key, env.Speaker, env.Event)
}

// fill reads a text that was too long for the bus.
func (cl *cluster) fill(env *envelope) {
	if !env.Stored {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), controlTimeout)
	defer cancel()
	list, err := cl.t.d.Memory.Messages(ctx, env.ID, memory.Range{After: env.Event.Seq - 1, Before: env.Event.Seq + 1})
	if err != nil || len(list) == 0 {
		cl.t.d.Log.Warn("cannot read a message of another hub", "conversation", env.ID, "error", err)
		return
	}
	env.Event.Text = list[0].Text
}

// announce tells everybody something that belongs to no run and needs no owner.
func (f *feed) announce(ev Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deliver(ev)
	f.relay(f, mark{}, ev)
}
