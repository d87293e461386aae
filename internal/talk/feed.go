package talk

import (
	"slices"
	"strings"
	"sync"
)

// feed is one conversation's events on this hub: what happens goes in, and every
// run's client, attached device and subscriber gets it out. It also keeps what a
// device that comes in the middle must be shown, so that snapshot and live events
// join without gap or duplicate: both happen under one lock.
//
// A feed outlives the loaded conversation while somebody listens.
type feed struct {
	id     string
	key    Key
	hidden bool
	// relay passes an event on to subscribers and other hubs. It is called with
	// the lock held, so that all see one order, and must not block.
	relay func(f *feed, n mark, ev Event)

	mu   sync.Mutex
	subs map[*sub]struct{}
	now  present
	at   mark
	// remote is set while another hub's events come in.
	remote *remoteFeed
	// out waits for the other hubs. Nothing is merged across a barrier: somebody
	// was told how far the text is.
	out     []outgoing
	barrier bool
}

// mark numbers the events of one owner.
type mark struct {
	Epoch int64 `json:"epoch"`
	N     int64 `json:"n"`
}

// sub is one listener. A run's client hears one run; others hear everything.
type sub struct {
	run    string
	device bool
	put    func(Event)
	end    func(error)
}

// present is what is going on now.
type present struct {
	Seq     int64   `json:"seq"` // messages up to it are in the store
	Start   *Event  `json:"start,omitempty"`
	Segment *Event  `json:"segment,omitempty"`
	Open    []Event `json:"open,omitempty"` // questions and approvals
	Waiting []Event `json:"waiting,omitempty"`
	text    strings.Builder
}

// apply keeps up with an event.
func (p *present) apply(ev Event) {
	switch ev.Kind {
	case Start:
		begun := ev // not ev itself: every event would move to the heap
		p.Start, p.Segment, p.Open = &begun, nil, nil
		p.text.Reset()
		p.drop(ev.Run)
	case Chunk:
		p.text.WriteString(ev.Text)
	case Segment:
		if p.Segment = nil; ev.Open {
			opened := ev
			p.Segment = &opened
		}
	case Ask, Waiting:
		if ev.Approval != nil && ev.Approval.Resolved != "" {
			p.resolve(ev.Approval.ID)
			return
		}
		p.Open = append(p.Open, ev)
	case AskResolved:
		p.resolve(ev.Ask.ID)
	case End:
		p.Seq = max(p.Seq, ev.Seq)
		if p.Start != nil && p.Start.Run == ev.Run {
			p.Start, p.Segment, p.Open = nil, nil, nil
			p.text.Reset()
		}
		p.drop(ev.Run)
	case Queued:
		p.drop(ev.Run)
		p.Waiting = append(p.Waiting, ev)
	case Steered:
		p.Seq = max(p.Seq, ev.Seq)
		p.drop(ev.Run)
	case UserMessage:
		p.Seq = max(p.Seq, ev.Seq)
	case stored:
		p.Seq = max(p.Seq, ev.Seq)
		p.text.Reset() // what was said so far is among the messages now
	}
}

func (p *present) drop(run string) {
	p.Waiting = slices.DeleteFunc(p.Waiting, func(e Event) bool { return e.Run == run })
}

func (p *present) resolve(id string) {
	p.Open = slices.DeleteFunc(p.Open, func(e Event) bool {
		return e.Ask != nil && e.Ask.ID == id || e.Approval != nil && e.Approval.ID == id
	})
}

// events are what brings a newcomer up to date.
func (p *present) events() (list []Event) {
	if p.Start != nil {
		list = append(list, *p.Start)
		text := Event{Kind: Chunk, Run: p.Start.Run, Text: p.text.String()}
		opened := p.Segment != nil
		if opened && p.Segment.Segment == textSegment {
			list = append(list, *p.Segment)
			opened = false
		}
		if text.Text != "" {
			list = append(list, text)
		}
		if opened {
			list = append(list, *p.Segment)
		}
		list = append(list, p.Open...)
	}
	return append(list, p.Waiting...)
}

// textSoFar is what the going run has said since its last stored message.
func (f *feed) textSoFar() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now.text.String()
}

// publish is how the owner tells everybody.
func (f *feed) publish(ev Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at.N++
	f.deliver(ev)
	f.relay(f, f.at, ev)
}

// deliver gives an event to this hub's listeners; the caller holds the lock.
func (f *feed) deliver(ev Event) {
	f.now.apply(ev)
	for s := range f.subs {
		if s.run != "" && (s.run != ev.Run || ev.Kind == UserMessage) {
			continue // a client knows what it said itself
		}
		if ev.Kind != stored {
			s.put(ev)
		}
		if s.run == "" {
			continue
		}
		switch ev.Kind {
		case End:
			s.end(nil)
			delete(f.subs, s)
		case Steered:
			s.run = ev.Host // it follows that run from here on
		}
	}
}

// own makes this hub the source of the feed: a new owner, a new count.
func (f *feed) own(epoch, seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.now = mark{Epoch: epoch}, present{Seq: seq}
}

// join adds a listener. What is going on is given to it first: all of it, or of
// the run it follows. It returns up to where the store has everything.
func (f *feed) join(s *sub) (seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ev := range f.now.events() {
		if s.run != "" && s.run == ev.Run {
			s.put(ev)
		}
	}
	f.subs[s] = struct{}{}
	return f.now.Seq
}

// attach adds a device and gives what is going on separately.
func (f *feed) attach(s *sub) (seq int64, going []Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs[s] = struct{}{}
	return f.now.Seq, f.now.events()
}

func (f *feed) leave(s *sub) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, s)
}

// endRun ends the clients of one run here, without telling anybody else.
func (f *feed) endRun(run string, ev Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if s.run == run {
			s.put(ev)
			s.end(nil)
			delete(f.subs, s)
		}
	}
}

// cut ends listeners with an error.
func (f *feed) cut(err error, which func(*sub) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if which(s) {
			s.end(err)
			delete(f.subs, s)
		}
	}
}

// devices counts attached devices on this hub.
func (f *feed) devices() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if s.device {
			n++
		}
	}
	return n
}

func (f *feed) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs) == 0
}
