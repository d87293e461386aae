package talk

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/ids"
	"parley.internal/internal/owner"
	"parley.internal/internal/talk/memory"
)

// remoteFeed is a feed whose events come from another hub.
type remoteFeed struct {
	sub bus.Subscription
	// syncing is held by whoever asks the owner where it stands.
	syncing chan struct{}
	// ready: the feed knows what is going on; until then events wait in early.
	ready bool
	early []envelope
	// former: it was this hub's own, and nobody has asked where the next owner stands.
	former bool
	done   chan struct{}
}

// snapshot is a feed's state on its way to another hub.
type snapshot struct {
	At   mark    `json:"at"`
	Now  present `json:"now"`
	Text string  `json:"text"`
}

// follow makes a feed hear what other hubs do in the conversation.
func (cl *cluster) follow(f *feed) *remoteFeed {
	if !cl.t.d.Clustered {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.remote != nil {
		return f.remote
	}
	r := &remoteFeed{syncing: make(chan struct{}, 1), done: make(chan struct{})}
	sub, err := cl.t.d.Bus.Subscribe(eventSubject(f.id), func(m bus.Msg) { cl.heard(f, r, m) })
	if err != nil {
		cl.t.d.Log.Warn("cannot follow a conversation on other hubs", "conversation", f.id, "error", err)
		return nil
	}
	r.sub = sub
	f.remote = r
	cl.answering.Go(func() { cl.watchLag(f, r) })
	return r
}

// awaitNext is for a feed whose conversation was unloaded: whatever happens next may
// happen on another hub, and then its devices come again to see all of it.
func (cl *cluster) awaitNext(f *feed) {
	if r := cl.follow(f); r != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		r.former = !r.ready
	}
}

// watchLag cuts listeners when events were lost on the way.
func (cl *cluster) watchLag(f *feed, r *remoteFeed) {
	select {
	case <-r.done:
	case <-cl.t.ctx.Done():
	case <-r.sub.Lagged():
		f.cut(ErrLagged, func(*sub) bool { return true })
		cl.stopFollowing(f)
	}
}

// stopFollowing is for feeds that this hub owns or that nobody listens to.
func (cl *cluster) stopFollowing(f *feed) {
	f.mu.Lock()
	r := f.remote
	f.remote = nil
	f.mu.Unlock()
	if r != nil {
		close(r.done)
		r.sub.Close()
	}
}

func (cl *cluster) heard(f *feed, r *remoteFeed, m bus.Msg) {
	var env envelope
	if json.Unmarshal(m.Data, &env) != nil || env.Hub == cl.t.hub {
		return
	}
	cl.fill(&env)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.remote != r {
		return
	}
	switch {
	case r.former:
		for s := range f.subs {
			if s.device {
				s.end(ErrLagged)
				delete(f.subs, s)
			}
		}
		return
	case !r.ready:
		r.early = append(r.early, env)
		return
	}
	f.apply(env)
}

// apply takes in an event of another hub; the caller holds the lock.
func (f *feed) apply(env envelope) {
	switch at := env.Mark; {
	case at.Epoch == 0: // said by a hub that is not the owner
	case at.Epoch < f.at.Epoch, at.Epoch == f.at.Epoch && at.N < f.at.N, at == f.at && env.Part == 0:
		return // known already
	case at.Epoch > f.at.Epoch:
		f.now = present{Seq: f.now.Seq, Waiting: f.now.Waiting} // a new owner begins afresh
		f.at = at
	case env.From > f.at.N+1:
		for s := range f.subs {
			s.end(ErrLagged)
			delete(f.subs, s)
		}
		return
	default:
		f.at = at
	}
	f.deliver(env.Event)
}

// sync asks the owner where it stands, once per feed.
func (cl *cluster) sync(ctx context.Context, hub string, f *feed) error {
	if !cl.t.d.Clustered {
		return owner.ErrMoving // a former life of this hub; it will be over soon
	}
	r := cl.follow(f)
	if r == nil {
		return ErrUnavailable
	}
	select {
	case r.syncing <- struct{}{}:
		defer func() { <-r.syncing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	f.mu.Lock()
	ready := r.ready || f.remote != r
	r.former = false
	f.mu.Unlock()
	if ready {
		return nil
	}
	a, err := cl.t.askAt(ctx, hub, f.id, question{Op: ctlSnapshot})
	if err != nil {
		return err
	}
	s := a.Snapshot
	if s == nil {
		return owner.ErrMoving
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.remote != r {
		return owner.ErrMoving
	}
	f.at = s.At
	f.now = present{Seq: s.Now.Seq, Start: s.Now.Start, Segment: s.Now.Segment, Open: s.Now.Open, Waiting: s.Now.Waiting}
	f.now.text.WriteString(s.Text)
	r.ready = true
	for _, env := range r.early {
		f.apply(env)
	}
	r.early = nil
	return nil
}

// attach joins a device to a conversation another hub owns.
func (cl *cluster) attach(ctx context.Context, hub string, f *feed, s *sub) (int64, []Event, error) {
	if err := cl.sync(ctx, hub, f); err != nil {
		return 0, nil, err
	}
	seq, going := f.attach(s)
	cl.tellDevices(f)
	return seq, going, nil
}

// forwardTurn lets another hub run a turn. The turn goes through the store, so it
// is durable and of any size; the owner is only woken.
func (cl *cluster) forwardTurn(ctx context.Context, hub string, conv memory.Conversation, tn *turn) (*Run, error) {
	f := cl.t.feed(conv)
	if err := cl.sync(ctx, hub, f); err != nil {
		return nil, err
	}
	tn.id = ids.New()
	run, s := cl.followRun(f, tn.id)
	m := cl.t.d.Memory
	if err := m.Enqueue(ctx, nil, conv.ID, tn.waiting(), cl.t.d.Limits.Waiting, tn.Mode == Interrupt); err != nil {
		f.leave(s)
		return nil, err
	}
	answer, err := cl.t.askAt(ctx, hub, conv.ID, question{Op: ctlWake, Run: tn.id})
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		if waits, undone := m.TakeBack(undo, tn.id); undone == nil && !waits && moved(err) {
			return run, nil // it was taken up all the same
		}
		f.leave(s)
		return nil, err
	}
	if answer.Join == "" {
		return run, nil
	}
	f.leave(s)
	if answer.Replay {
		r, err := m.GetRun(ctx, answer.Join)
		if err != nil {
			return nil, err
		}
		return replayed(conv.Key, r), nil
	}
	run, _ = cl.followRun(f, answer.Join)
	return run, nil
}

func (cl *cluster) followRun(f *feed, id string) (*Run, *sub) {
	run := newRun(id, f.key)
	s := &sub{run: id, put: run.events.put, end: run.events.close}
	run.leave = func() {
		f.leave(s)
		cl.t.forget(f)
		cl.answering.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), controlTimeout)
			defer cancel()
			_ = cl.t.control(ctx, f.id, question{Op: ctlLeave, Run: id}) // an owner that is gone runs nothing
		})
	}
	run.cancel = func(ctx context.Context) error { return cl.t.cancel(ctx, f.id, id) }
	run.detach = func(ctx context.Context) error { return cl.t.control(ctx, f.id, question{Op: ctlDetach, Run: id}) }
	f.join(s)
	return run, s
}

// tellDevices tells the other hubs how many devices look on here.
func (cl *cluster) tellDevices(f *feed) {
	if !cl.t.d.Clustered || cl.t.loaded(f.id) != nil {
		return
	}
	data, err := json.Marshal(deviceNews{Hub: cl.t.hub, ID: f.id, N: f.devices()})
	if err == nil {
		err = cl.t.d.Bus.Publish(deviceSubject, data)
	}
	if err != nil && !errors.Is(err, bus.ErrClosed) {
		cl.t.d.Log.Warn("other hubs do not know of attached devices", "error", err)
	}
}

func (cl *cluster) detached(f *feed) { cl.tellDevices(f) }

type deviceNews struct {
	Hub string `json:"hub"`
	ID  string `json:"id"`
	N   int    `json:"n"`
}

func (cl *cluster) heardDevices(m bus.Msg) {
	var news deviceNews
	if json.Unmarshal(m.Data, &news) != nil || news.Hub == cl.t.hub {
		return
	}
	cl.mu.Lock()
	if news.N == 0 {
		delete(cl.devices[news.ID], news.Hub)
		if len(cl.devices[news.ID]) == 0 {
			delete(cl.devices, news.ID)
		}
	} else {
		if cl.devices[news.ID] == nil {
			cl.devices[news.ID] = map[string]deviceCount{}
		}
		cl.devices[news.ID][news.Hub] = deviceCount{news.N, time.Now()}
	}
	cl.mu.Unlock()
	if c := cl.t.loaded(news.ID); c != nil && news.N == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.current != nil {
			c.cancelUnwatched(c.current)
		}
	}
}

// devicesOf counts devices that look on through other hubs.
func (cl *cluster) devicesOf(id string) (n int) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, d := range cl.devices[id] {
		if time.Since(d.seen) < deviceLife {
			n += d.n
		}
	}
	return n
}

// refresh repeats what other hubs must not forget, and forgets what they stopped
// repeating.
func (cl *cluster) refresh() {
	if !cl.t.d.Clustered {
		return
	}
	cl.t.mu.Lock()
	var feeds []*feed
	for _, f := range cl.t.feeds {
		feeds = append(feeds, f)
	}
	cl.t.mu.Unlock()
	for _, f := range feeds {
		if f.devices() > 0 {
			cl.tellDevices(f)
		}
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for id, hubs := range cl.devices {
		for hub, d := range hubs {
			if time.Since(d.seen) >= deviceLife {
				delete(hubs, hub)
			}
		}
		if len(hubs) == 0 {
			delete(cl.devices, id)
		}
	}
}
