package room

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/owner"
	"parley.internal/protocol/kibitz"
)

// How hubs keep an eye on each other's connections.
const (
	beatEvery   = 2 * time.Second
	hubSilence  = 8 * time.Second
	requestTime = 5 * time.Second
)

func roomSubject(id string) string { return "room." + bus.Token(id) }
func hubSubject(hub string) string { return "roomhub." + bus.Token(hub) }

// head is what stands before a frame on the bus, on a line of its own. Frames go their
// own way, and not as questions: they come in order, many at a time, and the room itself
// answers them.
type head struct {
	Op   string   `json:"op,omitempty"`
	Hub  string   `json:"hub,omitempty"`
	CID  string   `json:"cid,omitempty"`
	CIDs []string `json:"cids,omitempty"`
	// To the hub of a socket: what kind of frame, who it is now, or the end.
	Newest string      `json:"newest,omitempty"`
	Seq    uint64      `json:"seq,omitempty"`
	Who    string      `json:"who,omitempty"`
	Kind   kibitz.Kind `json:"kind,omitempty"`
	Code   int         `json:"code,omitempty"`
	Reason string      `json:"reason,omitempty"`
	// Piece is a part of a larger message.
	Piece *piece `json:"piece,omitempty"`
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

// cluster is how the hubs' rooms work as one. Alone it does nothing.
type cluster struct {
	e       *Rooms
	inbound parcels // for rooms of this hub
	down    parcels // for connections of this hub

	mu     sync.Mutex
	mine   bus.Subscription
	owned  map[*room]bus.Subscription
	remote map[remoteKey]*remoteRoom
	quit   chan struct{}
	work   sync.WaitGroup
	closed bool
}

func newCluster(e *Rooms) *cluster {
	return &cluster{e: e, owned: map[*room]bus.Subscription{}, remote: map[remoteKey]*remoteRoom{}, quit: make(chan struct{})}
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
	return slices.Collect(maps.Values(cl.remote))
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
	sub, err := cl.e.d.Bus.Subscribe(roomSubject(r.id), func(m bus.Msg) { cl.spoken(r, m) })
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

// spoken is a connection of another hub speaking to a room of ours.
func (cl *cluster) spoken(r *room, m bus.Msg) {
	h, data, ok := cl.inbound.read(m.Data)
	if !ok || h.Hub == cl.e.hub {
		return
	}
	switch h.Op {
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
	}
}

// demand asks the hub that should have a room. One that takes too long is not to be
// counted on, whatever its lease says.
func (cl *cluster) demand(ctx context.Context, hub, id string, q question) (answer, error) {
	if !cl.e.d.Clustered {
		return answer{}, ErrUnavailable
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTime, owner.ErrMoving)
	defer cancel()
	return cl.e.rooms.AskAt(ctx, hub, id, q)
}

// arrive takes a connection of this hub to the room's owner.
func (cl *cluster) arrive(ctx context.Context, v *connection, hub string) error {
	about := v.arrival()
	rr := cl.remoteRoom(v.room, hub)
	rr.add(v)
	if _, err := cl.demand(ctx, hub, v.room, question{Hub: cl.e.hub, Arrive: &about}); err != nil {
		rr.remove(v)
		return err
	}
	// Not before: what it says is for a room that knows it.
	if !v.moveTo(rr) {
		rr.end(v, false, "")
	}
	return nil
}

func (cl *cluster) remoteRoom(id, hub string) *remoteRoom {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	key := remoteKey{id, hub}
	rr := cl.remote[key]
	if rr == nil {
		rr = &remoteRoom{cl: cl, remoteKey: key, connections: map[string]*connection{}}
		cl.remote[key] = rr
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
		v := cl.e.connections[cid]
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
			delete(cl.remote, rr.remoteKey)
		}
		cl.mu.Unlock()
		return
	}
	cids := make([]string, len(all))
	for i, v := range all {
		cids[i] = v.about.CID
	}
	answer, err := cl.demand(ctx, rr.hub, rr.id, question{Hub: cl.e.hub, Beat: cids})
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

// remoteKey names a room and the hub that has it.
type remoteKey struct{ id, hub string }

// remoteRoom is a room another hub has, with the connections of this one.
type remoteRoom struct {
	cl *cluster
	remoteKey
	beating atomic.Bool

	mu          sync.Mutex
	connections map[string]*connection
}

func (rr *remoteRoom) add(v *connection) {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	rr.connections[v.about.CID] = v
}

func (rr *remoteRoom) remove(v *connection) {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	delete(rr.connections, v.about.CID)
}

func (rr *remoteRoom) empty() bool {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	return len(rr.connections) == 0
}

func (rr *remoteRoom) all() []*connection {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	return slices.Collect(maps.Values(rr.connections))
}

func (rr *remoteRoom) frame(v *connection, in *inbound) bool {
	h := head{Op: "frame", Hub: rr.cl.e.hub, CID: v.about.CID}
	v.open.sent(in)
	if err := publish(rr.cl.e.d.Bus, roomSubject(rr.id), h.message(in.data)); err != nil {
		v.link.Close(kibitz.CloseGoingAway, "the room cannot be reached")
	}
	return true
}

func (rr *remoteRoom) end(v *connection, revoked bool, why Fault) {
	rr.remove(v)
	h := head{Op: "gone", Hub: rr.cl.e.hub, CID: v.about.CID, Reason: string(why)}
	if revoked {
		h.Op = "revoked"
	}
	_ = rr.cl.e.d.Bus.Publish(roomSubject(rr.id), h.message(nil)) // the next beat says the same
}
