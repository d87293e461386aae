package room

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/bus"
	"parley/protocol/kibitz"
)

// How hubs keep an eye on each other's connections.
const (
	beatEvery   = 2 * time.Second
	hubSilence  = 8 * time.Second
	requestTime = 5 * time.Second
	// ownerCheck is how often somebody who waits for an owner's answer looks whether
	// it still is one: a hub that hangs answers nothing, and nobody says so.
	ownerCheck = 250 * time.Millisecond
)

func roomSubject(id string) string { return "room." + bus.Token(id) }
func hubSubject(hub string) string { return "roomhub." + bus.Token(hub) }

// head is what stands before a frame on the bus, on a line of its own. It comes from a
// hub of this cluster, because the bus takes nothing from anybody else: who arrives and
// who calls is believed as that hub has checked it.
type head struct {
	Op   string   `json:"op,omitempty"`
	Hub  string   `json:"hub,omitempty"`
	CID  string   `json:"cid,omitempty"`
	CIDs []string `json:"cids,omitempty"`
	// About is an arrival, Call something asked of the room.
	About *arrival `json:"about,omitempty"`
	Call  *call    `json:"call,omitempty"`
	// To the hub of a socket: what kind of frame, who it is now, or the end.
	Newest string      `json:"newest,omitempty"`
	Seq    uint64      `json:"seq,omitempty"`
	Who    string      `json:"who,omitempty"`
	Kind   kibitz.Kind `json:"kind,omitempty"`
	Code   int         `json:"code,omitempty"`
	Reason string      `json:"reason,omitempty"`
	// Piece is a part of a larger message; Ticket and Offset ask for a part of an
	// answer.
	Piece  *piece `json:"piece,omitempty"`
	Ticket string `json:"ticket,omitempty"`
	Offset int    `json:"offset,omitempty"`
}

func (h head) message(data []byte) []byte {
	line, err := json.Marshal(h)
	if err != nil {
		return nil
	}
	return append(append(line, '\n'), data...)
}

func readMessage(msg []byte) (h head, data []byte, err error) {
	line, data, _ := bytes.Cut(msg, []byte{'\n'})
	return h, data, json.Unmarshal(line, &h)
}

// verdict is the answer to a request.
type verdict struct {
	OK      json.RawMessage `json:"ok,omitempty"`
	Code    kibitz.Code     `json:"code,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Stale   bool            `json:"stale,omitempty"`
	Away    bool            `json:"away,omitempty"`
	Unknown []string        `json:"unknown,omitempty"`
	// Ticket and Size are an answer that must be fetched.
	Ticket string `json:"ticket,omitempty"`
	Size   int    `json:"size,omitempty"`
}

// cluster is how the hubs' rooms work as one. Alone it does nothing.
type cluster struct {
	e       *Rooms
	inbound parcels // for rooms of this hub
	down    parcels // for connections of this hub
	answers answers

	mu     sync.Mutex
	mine   bus.Subscription
	owned  map[*room]bus.Subscription
	remote map[string]*remoteRoom
	quit   chan struct{}
	work   sync.WaitGroup
	closed bool
}

func newCluster(e *Rooms) *cluster {
	return &cluster{e: e, owned: map[*room]bus.Subscription{}, remote: map[string]*remoteRoom{}, quit: make(chan struct{})}
}

func (cl *cluster) listen() error {
	if !cl.e.d.Clustered {
		return nil
	}
	sub, err := cl.e.d.Bus.Subscribe(hubSubject(cl.e.hub), cl.heard)
	if err != nil {
		return err
	}
	cl.mine = sub
	cl.work.Go(func() { cl.watch(sub, cl.cutRemote) })
	cl.work.Go(cl.beats)
	return nil
}

// watch calls missed whenever messages were lost.
func (cl *cluster) watch(sub bus.Subscription, missed func()) {
	for {
		select {
		case <-sub.Lagged():
			missed()
		case <-cl.quit:
			return
		}
	}
}

// cutRemote ends the connections that may have missed something; they resume.
func (cl *cluster) cutRemote() {
	for _, rr := range cl.remotes() {
		for _, v := range rr.all() {
			v.link.Close(kibitz.CloseGoingAway, "messages were lost between hubs")
		}
	}
}

func (cl *cluster) remotes() []*remoteRoom {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	out := make([]*remoteRoom, 0, len(cl.remote))
	for _, rr := range cl.remote {
		out = append(out, rr)
	}
	return out
}

func (cl *cluster) close() {
	cl.mu.Lock()
	already := cl.closed
	cl.closed = true
	cl.mu.Unlock()
	if already {
		return
	}
	close(cl.quit)
	if cl.mine != nil {
		cl.mine.Close()
	}
	cl.work.Wait()
}

// own listens for what other hubs have for a room.
func (cl *cluster) own(r *room) error {
	if !cl.e.d.Clustered {
		return nil
	}
	sub, err := cl.e.d.Bus.Subscribe(roomSubject(r.id), func(m bus.Msg) { cl.request(r, m) })
	if err != nil {
		return err
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.owned[r] = sub
	cl.work.Go(func() { cl.watchOwned(r, sub) })
	return nil
}

// watchOwned cuts other hubs' connections when their frames were lost.
func (cl *cluster) watchOwned(r *room, sub bus.Subscription) {
	for {
		select {
		case <-sub.Lagged():
			r.tryPost(r.cutHubs)
		case <-r.gone:
			return
		case <-cl.quit:
			return
		}
	}
}

func (cl *cluster) disown(r *room) {
	cl.mu.Lock()
	sub := cl.owned[r]
	delete(cl.owned, r)
	cl.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
}

// request is another hub speaking to a room of ours.
func (cl *cluster) request(r *room, m bus.Msg) {
	h, data, ok := cl.inbound.read(m.Data)
	if !ok || h.Hub == cl.e.hub {
		return
	}
	switch h.Op {
	case "more":
		if m.Respond != nil {
			_ = m.Respond(cl.answers.part(h.Ticket, h.Offset, pieceSize(cl.e.d.Bus))) // asked again if it is lost
		}
	case "frame":
		f, err := kibitz.DecodeClient(data)
		if err != nil {
			return
		}
		var msg *message
		if s, ok := f.(*kibitz.Send); ok {
			msg = prepare(s, false)
		}
		r.post(func() { r.frame(h.CID, f, msg) })
	case "gone", "revoked":
		r.post(func() { r.endConn(h.CID, h.Op == "revoked", Fault(h.Reason)) })
	case "arrive":
		if h.About != nil {
			ok := r.serve(func() {
				r.arriveOrAttach(&conn{arrival: *h.About, hub: h.Hub, link: r.linkTo(h.Hub, h.About.CID)})
				cl.respond(m, struct{}{}, nil)
			})
			if !ok {
				cl.respond(m, nil, errEnded)
			}
		}
	case "beat":
		if !r.serve(func() { cl.respondWith(m, verdict{OK: json.RawMessage(`{}`), Unknown: r.beat(h.Hub, h.CIDs)}) }) {
			cl.respond(m, nil, errEnded)
		}
	case "call":
		ok := r.serve(func() {
			answer, err := r.do(h.Call)
			r.flush()
			cl.respond(m, answer, err)
		})
		if !ok {
			cl.respond(m, nil, errEnded)
		}
	}
}

// serve is post for another hub's question. A former owner leaves it to the next.
func (r *room) serve(f func()) bool {
	return r.post(func() {
		if !r.fenced() {
			f()
		}
	})
}

func (cl *cluster) respond(m bus.Msg, answer any, err error) {
	v := verdict{}
	if err == nil {
		v.OK = json.RawMessage(jsonOf(answer))
	} else if errors.Is(err, ErrStale) {
		v.Stale = true
	} else if errors.Is(err, errEnded) {
		v.Away = true
	} else {
		no := refusalOf(err)
		v.Code, v.Reason = no.Code, no.Reason
	}
	cl.respondWith(m, v)
}

func (cl *cluster) respondWith(m bus.Msg, v verdict) {
	if m.Respond == nil {
		return
	}
	answer := jsonOf(v)
	if len(answer) > pieceSize(cl.e.d.Bus) {
		answer = jsonOf(verdict{Ticket: cl.answers.keep(answer), Size: len(answer)})
	}
	if err := m.Respond(answer); err != nil {
		cl.e.d.Log.Warn("another hub gets no answer", "error", err)
	}
}

// whileOwned is a context for a question to a room's owner: it also ends when no
// living hub owns the room any more.
func (cl *cluster) whileOwned(ctx context.Context, id string) (owned context.Context, done func()) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	ended := make(chan struct{})
	timer := time.AfterFunc(ownerCheck, func() {
		defer close(ended)
		for {
			if owner, err := cl.e.d.Leases.Owner(ctx, leaseName(id)); err == nil && owner == "" {
				cancel()
				return
			}
			if pause(ctx, ownerCheck) != nil {
				return
			}
		}
	})
	return ctx, func() {
		cancel()
		if !timer.Stop() {
			<-ended
		}
	}
}

// demand asks the owner of a room something.
func (cl *cluster) demand(ctx context.Context, id string, h head) (verdict, error) {
	ctx, done := cl.whileOwned(ctx, id)
	defer done()
	h.Hub = cl.e.hub
	raw, err := cl.requestOf(ctx, id, h)
	if err != nil {
		return verdict{}, errEnded // nobody there, for now
	}
	var v verdict
	err = json.Unmarshal(raw, &v)
	if v.Ticket != "" {
		if raw, err = cl.fetch(ctx, id, v.Ticket, v.Size); err != nil {
			return verdict{}, err
		}
		v = verdict{}
		err = json.Unmarshal(raw, &v)
	}
	switch {
	case err != nil:
		return v, err
	case v.Stale:
		return v, ErrStale
	case v.Away:
		return v, errEnded
	case v.Code != "":
		return v, deny(v.Code, v.Reason)
	}
	return v, nil
}

// ask has a call answered by the owner.
func (cl *cluster) ask(ctx context.Context, id, _ string, c *call) (any, error) {
	if !cl.e.d.Clustered {
		return nil, ErrUnavailable
	}
	v, err := cl.demand(ctx, id, head{Op: "call", Call: c})
	return v.OK, err
}

// arrive takes a connection of this hub to the room's owner.
func (cl *cluster) arrive(ctx context.Context, v *visit, _ string) error {
	if !cl.e.d.Clustered {
		return ErrUnavailable
	}
	about := v.arrival()
	rr := cl.remoteRoom(v.room)
	rr.add(v)
	if _, err := cl.demand(ctx, v.room, head{Op: "arrive", About: &about}); err != nil {
		rr.remove(v)
		return err
	}
	// Not before: what it says is for a room that knows it.
	if !v.settle(rr) {
		rr.end(v, false, "")
	}
	return nil
}

func (cl *cluster) remoteRoom(id string) *remoteRoom {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	rr := cl.remote[id]
	if rr == nil {
		rr = &remoteRoom{cl: cl, id: id, visits: map[string]*visit{}}
		cl.remote[id] = rr
	}
	return rr
}

// heard is an owner speaking to connections of this hub.
func (cl *cluster) heard(m bus.Msg) {
	h, data, ok := cl.down.read(m.Data)
	if !ok {
		return
	}
	out := &Out{Data: data, Newest: h.Newest, seq: h.Seq}
	for _, cid := range h.CIDs {
		cl.e.mu.Lock()
		v := cl.e.visits[cid]
		cl.e.mu.Unlock()
		switch {
		case v == nil:
		case h.Op == "seated":
			v.seated(h.Who, h.Kind)
		case h.Op == "close":
			v.Close(h.Code, h.Reason)
		default:
			v.open.heard(data)
			v.Send(out)
		}
	}
}

// beats tells owners which connections this hub has in their rooms.
func (cl *cluster) beats() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	ctx, cancel := context.WithCancel(cl.e.ctx)
	defer cancel()
	for {
		select {
		case <-cl.quit:
			return
		case <-tick.C:
		}
		for _, rr := range cl.remotes() { // side by side: an owner that hangs must not keep the others waiting
			if rr.beating.CompareAndSwap(false, true) {
				cl.work.Go(func() {
					defer rr.beating.Store(false)
					cl.beat(ctx, rr)
				})
			}
		}
	}
}

func (cl *cluster) beat(ctx context.Context, rr *remoteRoom) {
	all := rr.all()
	if len(all) == 0 {
		cl.mu.Lock()
		if rr.empty() {
			delete(cl.remote, rr.id)
		}
		cl.mu.Unlock()
		return
	}
	cids := make([]string, len(all))
	for i, v := range all {
		cids[i] = v.about.CID
	}
	answer, err := cl.demand(ctx, rr.id, head{Op: "beat", CIDs: cids})
	if ctx.Err() != nil {
		return // this hub stops
	}
	for _, v := range all {
		// One that is on its way there is not known yet.
		if v.at(rr) && (err != nil || slices.Contains(answer.Unknown, v.about.CID)) {
			rr.remove(v)
			cl.e.reattach(v, rr)
		}
	}
}

// remoteRoom is a room another hub has, with the connections of this one.
type remoteRoom struct {
	cl      *cluster
	id      string
	beating atomic.Bool

	mu     sync.Mutex
	visits map[string]*visit
}

func (rr *remoteRoom) add(v *visit) {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	rr.visits[v.about.CID] = v
}

func (rr *remoteRoom) remove(v *visit) {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	delete(rr.visits, v.about.CID)
}

func (rr *remoteRoom) empty() bool {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	return len(rr.visits) == 0
}

func (rr *remoteRoom) all() []*visit {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	out := make([]*visit, 0, len(rr.visits))
	for _, v := range rr.visits {
		out = append(out, v)
	}
	return out
}

func (rr *remoteRoom) frame(v *visit, in *inbound) bool {
	h := head{Op: "frame", Hub: rr.cl.e.hub, CID: v.about.CID}
	v.open.sent(in)
	if err := publish(rr.cl.e.d.Bus, roomSubject(rr.id), h.message(in.data)); err != nil {
		v.link.Close(kibitz.CloseGoingAway, "the room cannot be reached")
	}
	return true
}

func (rr *remoteRoom) end(v *visit, revoked bool, why Fault) {
	rr.remove(v)
	h := head{Op: "gone", Hub: rr.cl.e.hub, CID: v.about.CID, Reason: string(why)}
	if revoked {
		h.Op = "revoked"
	}
	_ = rr.cl.e.d.Bus.Publish(roomSubject(rr.id), h.message(nil)) // the next beat says the same
}
