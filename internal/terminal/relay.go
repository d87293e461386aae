package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"parley/internal/bus"
	"parley/internal/identity"
	"parley/internal/ids"
	"parley/protocol/viber"
)

// Subjects of the bus. Each terminal answers on its own; each hub answers for its
// list and makes itself known.
const (
	subjectOne   = "terminal.one."
	subjectHub   = "terminal.hub."
	subjectHello = "terminal.hello"
)

const (
	// helloEvery is how often hubs make themselves known, in case one missed it.
	helloEvery = 10 * time.Second
	// askTime bounds one question to another hub.
	askTime = 5 * time.Second
	// pollTime is how long a view on another hub waits for something to show.
	pollTime = 20 * time.Second
	// forgotten is after how long a view that nobody asks for is closed: its hub is gone.
	forgotten = time.Minute
)

// What hubs ask each other.
const (
	opInput  = "input"
	opResize = "resize"
	opEnd    = "end"
	opRead   = "read"
	opAttach = "attach"
	opNext   = "next"
	opDetach = "detach"
	opList   = "list"

	opCount      = "count"
	opRecordings = "recordings"
	opRecording  = "recording"
)

// request comes from a hub of this cluster, because the bus takes nothing from anybody
// else. That hub has checked who asks, and its word for it is believed as our own.
type request struct {
	Op    string         `json:"op"`
	Who   identity.Actor `json:"who"`
	View  string         `json:"view,omitempty"`
	Opts  AttachOptions  `json:"opts,omitzero"`
	Data  []byte         `json:"data,omitempty"`
	Size  viber.Size     `json:"size,omitzero"`
	After int64          `json:"after,omitempty"`
	ID    string         `json:"id,omitempty"`
	Wait  time.Duration  `json:"wait,omitempty"`
}

type answer struct {
	Error  string             `json:"error,omitempty"`
	Code   viber.TerminalCode `json:"code,omitempty"`
	View   string             `json:"view,omitempty"`
	Size   viber.Size         `json:"size,omitzero"`
	Output Output             `json:"output,omitzero"`
	// Frame is an event of a view; Over says that there are no more.
	Frame []byte           `json:"frame,omitempty"`
	Over  bool             `json:"over,omitempty"`
	List  []viber.Terminal `json:"list,omitempty"`
	// Count is how many of a principal's terminals run on Hub, or are about to.
	Count      int         `json:"count,omitempty"`
	Hub        string      `json:"hub,omitempty"`
	Recordings []Recording `json:"recordings,omitempty"`
	Data       []byte      `json:"data,omitempty"`
}

// relay is the way to terminals on other hubs, and theirs to ours.
type relay struct {
	ts     *Terminals
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	subs   []bus.Subscription

	mu    sync.Mutex
	hubs  map[string]bool // the others
	ours  map[string]bus.Subscription
	views map[string]*lent
}

// lent is a view of ours that another hub looks through.
type lent struct {
	view *view
	who  identity.Actor
	seen time.Time
}

func newRelay(ts *Terminals) (*relay, error) {
	r := &relay{ts: ts, hubs: map[string]bool{}, ours: map[string]bus.Subscription{}, views: map[string]*lent{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	mine, err := ts.d.Bus.Subscribe(subjectHub+bus.Token(ts.d.Hub), r.listed)
	if err != nil {
		return nil, err
	}
	hello, err := ts.d.Bus.Subscribe(subjectHello, r.greeted)
	if err != nil {
		mine.Close()
		return nil, err
	}
	r.subs = []bus.Subscription{mine, hello}
	r.work.Go(r.keepUp)
	return r, nil
}

func (r *relay) close() {
	r.cancel()
	for _, s := range r.subs {
		s.Close()
	}
	r.work.Wait()
}

// greeting makes a hub known; Answer asks the others to do the same.
type greeting struct {
	Hub    string `json:"hub"`
	Answer bool   `json:"answer,omitempty"`
}

// keepUp makes this hub known and closes views nobody asks for.
func (r *relay) keepUp() {
	tick := time.NewTicker(helloEvery)
	defer tick.Stop()
	r.greet(true)
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
			r.greet(false)
			r.takeBack(time.Now().Add(-forgotten))
		}
	}
}

func (r *relay) greet(wantAnswer bool) {
	data, err := json.Marshal(greeting{r.ts.d.Hub, wantAnswer})
	if err == nil {
		err = r.ts.d.Bus.Publish(subjectHello, data)
	}
	if err != nil {
		r.ts.d.Log.Warn("other hubs learn of this one's terminals late", "error", err)
	}
}

func (r *relay) greeted(m bus.Msg) {
	var g greeting
	if json.Unmarshal(m.Data, &g) != nil || g.Hub == r.ts.d.Hub {
		return
	}
	r.mu.Lock()
	r.hubs[g.Hub] = true
	r.mu.Unlock()
	if g.Answer {
		r.greet(false)
	}
}

// everywhere asks every hub we know the same; one that does not answer has gone,
// or is not reachable, and is left out.
func (r *relay) everywhere(ctx context.Context, q request) []answer {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r.mu.Lock()
	answers := make(chan *answer, len(r.hubs))
	waiting := len(r.hubs)
	for hub := range r.hubs {
		go func() {
			a, err := r.askHub(ctx, hub, q)
			if errors.Is(err, bus.ErrNoResponders) {
				r.mu.Lock()
				delete(r.hubs, hub) // it has gone
				r.mu.Unlock()
			}
			if err != nil {
				answers <- nil
				return
			}
			answers <- &a
		}()
	}
	r.mu.Unlock()
	var all []answer
	for range waiting {
		if a := <-answers; a != nil {
			all = append(all, *a)
		}
	}
	return all
}

func (r *relay) askHub(ctx context.Context, hub string, q request) (answer, error) {
	return r.send(ctx, subjectHub+bus.Token(hub), q)
}

// list is what the caller may see on other hubs.
func (r *relay) list(ctx context.Context, who identity.Actor) (list []viber.Terminal) {
	for _, a := range r.everywhere(ctx, request{Op: opList, Who: who}) {
		list = append(list, a.List...)
	}
	return list
}

// count is how many terminals of a principal run on other hubs.
func (r *relay) count(ctx context.Context, who identity.Actor) (n int) {
	for _, a := range r.everywhere(ctx, request{Op: opCount, Who: who}) {
		n += a.Count
	}
	return n
}

// listed answers for this hub.
func (r *relay) listed(m bus.Msg) {
	r.handle(m, func(ctx context.Context, q request) (a answer, err error) {
		switch q.Op {
		case opCount:
			a.Count = r.ts.count(q.Who.Person.ID)
		case opRecordings:
			a.Recordings, err = r.ts.d.Recordings.List(q.Who)
		case opRecording:
			return r.ts.piece(q)
		default:
			a.List = r.ts.local(ctx, q.Who)
		}
		return a, err
	})
}

// serve lets other hubs reach a terminal.
func (r *relay) serve(t *terminal) {
	sub, err := r.ts.d.Bus.Subscribe(subjectOne+bus.Token(t.info.ID), func(m bus.Msg) {
		r.handle(m, func(ctx context.Context, q request) (answer, error) { return r.do(ctx, t, q) })
	})
	if err != nil {
		r.ts.d.Log.Warn("a terminal cannot be reached from other hubs", "terminal", t.info.ID, "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ours[t.info.ID] = sub
}

func (r *relay) forget(t *terminal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sub := r.ours[t.info.ID]; sub != nil {
		sub.Close()
		delete(r.ours, t.info.ID)
	}
	for id, l := range r.views {
		if l.view.t == t {
			delete(r.views, id)
		}
	}
}

// handle answers a question on a goroutine of its own: some wait.
func (r *relay) handle(m bus.Msg, do func(context.Context, request) (answer, error)) {
	if m.Respond == nil || r.ctx.Err() != nil {
		return
	}
	var q request
	if err := json.Unmarshal(m.Data, &q); err != nil {
		r.ts.d.Log.Warn("another hub asked something odd about a terminal", "error", err)
		return
	}
	r.work.Go(func() {
		ctx, cancel := context.WithTimeout(r.ctx, pollTime+q.Wait+askTime)
		defer cancel()
		a, err := do(ctx, q)
		if err != nil {
			a = answer{Error: err.Error(), Code: CodeOf(err)}
		}
		data, err := json.Marshal(a)
		if err == nil {
			err = m.Respond(data)
		}
		if err != nil {
			r.ts.d.Log.Warn("another hub got no answer about a terminal", "error", err)
		}
	})
}

// do is one question about a terminal of ours.
func (r *relay) do(ctx context.Context, t *terminal, q request) (a answer, err error) {
	if !reaches(q.Who, t) {
		return a, ErrNotFound
	}
	switch q.Op {
	case opInput:
		return a, r.ts.Input(ctx, q.Who, t.info.ID, q.Data)
	case opEnd:
		return a, r.ts.hangUp(ctx, q.Who, t)
	case opRead:
		a.Output, err = r.ts.Read(ctx, q.Who, t.info.ID, q.After, q.Wait)
		return a, err
	case opAttach:
		return r.lend(ctx, t, q)
	case opResize:
		if q.View == "" {
			a.Size, err = r.ts.Resize(ctx, q.Who, t.info.ID, q.Size)
			return a, err
		}
	}
	return r.through(ctx, q)
}

// lend opens a view for another hub.
func (r *relay) lend(ctx context.Context, t *terminal, q request) (answer, error) {
	v, err := r.ts.attach(ctx, q.Who, t, q.Opts)
	if err != nil {
		return answer{}, err
	}
	id := ids.New()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views[id] = &lent{view: v, who: q.Who, seen: time.Now()}
	return answer{View: id}, nil
}

// through does something with a lent view.
func (r *relay) through(ctx context.Context, q request) (a answer, err error) {
	r.mu.Lock()
	l := r.views[q.View]
	if l != nil {
		l.seen = time.Now()
	}
	r.mu.Unlock()
	if l == nil {
		return a, ErrNotFound
	}
	switch q.Op {
	case opResize:
		a.Size, err = l.view.Resize(ctx, q.Size)
		return a, err
	case opDetach:
		r.mu.Lock()
		delete(r.views, q.View)
		r.mu.Unlock()
		l.view.Close()
		return a, nil
	case opNext:
		return l.next(ctx)
	}
	return a, errors.New("an unknown question about a terminal")
}
