package room

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/pause"
	"parley.internal/protocol/kibitz"
)

// roomLink is a link as a room uses it; seated tells who the connection is now.
type roomLink interface {
	Send(o *Out)
	Close(code int, reason string)
	seated(id string, kind kibitz.Kind)
}

// target is where a connection's frames go: a room here, or the hub that has it.
type target interface {
	// frame hands a frame over; false when nobody takes it any more.
	frame(v *connection, in *inbound) bool
	// end says that the connection is gone, and perhaps why; revoked that its
	// credential is.
	end(v *connection, revoked bool, why Fault)
}

// inbound is one frame with what was found out about it off the room.
type inbound struct {
	data  []byte
	frame kibitz.ClientFrame
	m     *message
}

// connection is one to a room, on the hub that has the socket; the room has a conn for it.
type connection struct {
	e     *Rooms
	room  string
	link  Link
	about arrival
	rates *rates
	flood streak
	bad   streak
	// posted is how many frames wait for the room's goroutine.
	posted atomic.Int32
	open   unanswered

	mu     sync.Mutex
	to     target
	moved  chan struct{} // closed when to changes, or the connection ends
	who    string
	seen   uint64
	gone   bool
	ending bool
	fault  Fault
}

var (
	_ Connection = (*connection)(nil)
	_ roomLink   = (*connection)(nil)
)

// Enter implements API.
func (e *Rooms) Enter(ctx context.Context, entry Entry) (Connection, error) {
	v := &connection{e: e, room: entry.Room, link: entry.Link, rates: newRates(), moved: make(chan struct{})}
	v.about = arrival{CID: shortID("c"), Nonce: secret(), Origin: entry.Origin, Address: entry.Address, Hosted: entry.Hosted}
	if s := entry.Actor; s != nil {
		v.about.Principal, v.about.PrincipalID = s.String(), s.Person.ID
		v.about.Person = s.Person.Kind == identity.KindPerson
		v.about.Owner, v.about.Admin = s.Owner, s.Admin()
	}
	e.mu.Lock()
	if e.closing {
		e.mu.Unlock()
		return nil, ErrUnavailable
	}
	e.connections[v.about.CID] = v
	e.mu.Unlock()
	for tries := enterTries; ; tries-- {
		err := v.attach(ctx)
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, owner.ErrClosed):
			e.forgetConnection(v)
			return nil, ErrUnavailable
		case !moving(err):
			e.forgetConnection(v)
			return nil, err
		case tries == 0 || pause.For(ctx, 250*time.Millisecond) != nil:
			e.forgetConnection(v)
			return nil, ErrUnavailable
		}
	}
}

// enterTries is how often somebody who enters looks for a room that changes its owner.
const enterTries = 20

// moving tells that the room has no owner for now.
func moving(err error) bool {
	return errors.Is(err, owner.ErrGone) || errors.Is(err, owner.ErrMoving) || errors.Is(err, owner.ErrSilent)
}

func (e *Rooms) forgetConnection(v *connection) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.connections, v.about.CID)
}

// attach finds whoever has the room and goes there.
func (v *connection) attach(ctx context.Context) error {
	r, err := v.e.rooms.Take(ctx, v.room)
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		return v.e.cluster.arrive(ctx, v, held.Owner)
	}
	if err != nil {
		return err
	}
	about := v.arrival()
	t := localRoom{r}
	return r.on(ctx, func() {
		c := &conn{arrival: about, link: v}
		if v.moveTo(t) {
			r.arriveOrAttach(c)
		}
	})
}

// arrival is what the next owner is told.
func (v *connection) arrival() arrival {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.about
	a.Participant, a.Seen = v.who, v.seen
	return a
}

// moveTo makes t the target; false when the connection is gone.
func (v *connection) moveTo(t target) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return false
	}
	v.to = t
	v.posted.Store(0) // what waits in a room that has ended waits for ever
	close(v.moved)
	v.moved = make(chan struct{})
	return true
}

// target waits until there is somebody to talk to; nil when the connection has ended.
func (v *connection) target() target {
	for {
		v.mu.Lock()
		t, moved, gone := v.to, v.moved, v.gone
		v.mu.Unlock()
		if gone {
			return nil
		}
		if t != nil {
			return t
		}
		select {
		case <-moved:
		case <-v.e.ctx.Done():
			return nil
		}
	}
}

// at tells whether t is where the connection's frames go.
func (v *connection) at(t target) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.to == t
}

func (v *connection) participant() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.who
}

// Send implements roomLink: it passes a frame on and remembers how far the
// client has come.
func (v *connection) Send(o *Out) {
	if o.seq > 0 {
		v.mu.Lock()
		v.seen = max(v.seen, o.seq)
		v.mu.Unlock()
	}
	v.link.Send(o)
}

// Close implements roomLink.
func (v *connection) Close(code int, reason string) { v.link.Close(code, reason) }

func (v *connection) seated(id string, kind kibitz.Kind) {
	v.mu.Lock()
	v.who = id
	v.mu.Unlock()
	if kind == kibitz.Agent {
		v.rates.agent()
	}
	v.link.Admitted()
}

func (v *connection) send(f kibitz.Frame) { v.link.Send(encode(f)) }

// Receive implements Connection: form and rate are judged here, the rest by the room.
func (v *connection) Receive(data []byte) {
	f, err := kibitz.DecodeClient(data)
	if err != nil {
		v.badFrame(err)
		return
	}
	if ping, ok := f.(*kibitz.Ping); ok {
		v.send(&kibitz.Pong{N: ping.N})
		return
	}
	in := &inbound{frame: f}
	if s, ok := f.(*kibitz.Send); ok {
		in.m = prepare(s, false)
	}
	if !v.mayNow(in, len(data)) {
		return
	}
	for {
		t := v.target()
		if t == nil {
			return
		}
		if _, remote := t.(*remoteRoom); remote && in.data == nil {
			in.data = append([]byte(nil), data...)
		}
		if t.frame(v, in) {
			return
		}
		v.lost(t)
	}
}

// lost says that a target took nothing any more.
func (v *connection) lost(t target) {
	v.mu.Lock()
	same := v.to == t
	v.mu.Unlock()
	if same {
		v.e.reattach(v, t)
	}
}

// mayNow applies the rates.
func (v *connection) mayNow(in *inbound, size int) bool {
	if v.e.d.Limits.NoRates {
		return true
	}
	ink := in.m != nil && in.m.content != nil && in.m.content.Kind == kibitz.ContentInk
	wait := v.rates.wait(in.frame, ink, size)
	if wait <= 0 {
		return true
	}
	v.send(&kibitz.Nak{N: in.frame.Number(), Code: kibitz.LimitRate, Reason: "too fast", RetryMs: wait.Milliseconds() + 1})
	if v.flood.hit(floodNaks, floodWindow) {
		v.Cut(FaultFlood)
		v.link.Close(kibitz.CloseFlooding, "flooding")
	}
	return false
}

// badFrame answers what is no frame; too many of them end the connection.
func (v *connection) badFrame(err error) {
	f, ok := errors.AsType[*kibitz.FrameError](err)
	if !ok {
		return
	}
	switch {
	case f.Code == kibitz.LimitSize:
		v.Cut(FaultOversize)
		v.link.Close(kibitz.CloseTooBig, "frame too large")
		return
	case f.Code == kibitz.ProtoUnknown && f.N == 0:
		return
	}
	v.send(&kibitz.Nak{N: f.N, Code: f.Code, Reason: f.Reason})
	if f.Code == kibitz.ProtoBadFrame && v.bad.hit(badFrames, badWindow) {
		v.Cut(FaultBadFrames)
		v.link.Close(kibitz.CloseBadFrames, "too many bad frames")
	}
}

// Revoked implements Connection.
func (v *connection) Revoked() {
	v.mu.Lock()
	t := v.to
	v.mu.Unlock()
	if t != nil {
		t.end(v, true, "")
	}
}

// Cut implements Connection: the first fault counts.
func (v *connection) Cut(why Fault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fault == "" {
		v.fault = why
	}
}

// Gone implements Connection.
func (v *connection) Gone() {
	v.e.forgetConnection(v)
	v.mu.Lock()
	t, why := v.to, v.fault
	v.gone, v.to = true, nil
	close(v.moved)
	v.moved = make(chan struct{})
	v.mu.Unlock()
	if t != nil {
		t.end(v, false, why)
	}
}

// reattachTime is how long a connection may be without an owner.
const reattachTime = 30 * time.Second

// reattach looks for the room's next owner.
func (e *Rooms) reattach(v *connection, from target) {
	v.mu.Lock()
	if v.gone || v.ending || v.to != from {
		v.mu.Unlock()
		return
	}
	v.to, v.ending = nil, true
	v.mu.Unlock()
	e.mu.Lock()
	if e.closing {
		e.mu.Unlock()
		return
	}
	e.work.Go(func() { e.attachAgain(v) })
	e.mu.Unlock()
}

func (e *Rooms) attachAgain(v *connection) {
	ctx, cancel := context.WithTimeout(e.ctx, reattachTime)
	defer cancel()
	defer func() {
		v.mu.Lock()
		v.ending = false
		v.mu.Unlock()
	}()
	for {
		if v.open.any() {
			v.link.Close(kibitz.CloseGoingAway, "the room has moved")
			v.giveUp()
			return
		}
		err := v.attach(ctx)
		switch {
		case err == nil:
			return
		case kibitz.CodeOf(err) == kibitz.RoomUnknown:
			v.send(&kibitz.Kick{Code: kibitz.RoomClosed, Reason: "the room was closed"})
			v.link.Close(kibitz.CloseRoomClosed, "the room was closed")
			v.giveUp()
			return
		}
		if pause.For(ctx, 200*time.Millisecond) != nil {
			v.link.Close(kibitz.CloseGoingAway, "the room cannot be reached")
			v.giveUp()
			return
		}
	}
}

// giveUp frees whoever waits for a target: there will be none.
func (v *connection) giveUp() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gone = true
	close(v.moved)
	v.moved = make(chan struct{})
}

// orphaned is a connection of this hub whose room has another owner now.
func (e *Rooms) orphaned(c *conn, seq uint64) {
	e.mu.Lock()
	v := e.connections[c.CID]
	e.mu.Unlock()
	if v == nil || c.hub != "" {
		return
	}
	v.mu.Lock()
	t := v.to
	v.seen = max(v.seen, seq)
	v.mu.Unlock()
	e.reattach(v, t)
}

// localRoom is a room of this hub.
type localRoom struct{ r *room }

func (l localRoom) frame(v *connection, in *inbound) bool {
	run := func() { l.r.frame(v.about.CID, in.frame, in.m) }
	// A message may be judged here and now, unless something of the same connection
	// goes before it.
	if in.m != nil && v.posted.Load() == 0 && l.r.now(run) {
		return true
	}
	v.posted.Add(1)
	return l.r.give(job{
		do: func() {
			run()
			v.posted.Add(-1)
		},
		dropped: func() { v.refuse(in) },
	})
}

// refuse answers a frame that nobody looked at.
func (v *connection) refuse(in *inbound) {
	no := refusalOf(owner.ErrGone)
	v.send(&kibitz.Nak{N: in.frame.Number(), Code: no.Code, Reason: no.Reason})
}

func (l localRoom) end(v *connection, revoked bool, why Fault) {
	cid := v.about.CID
	l.r.post(func() { l.r.endConn(cid, revoked, why) })
}

// endConn is the end of a connection: of the socket, or of the right behind it.
func (r *room) endConn(cid string, revoked bool, why Fault) {
	c := r.conns[cid]
	if c == nil {
		return
	}
	r.noteFault(c, why)
	if !revoked || c.p == nil {
		r.depart(cid)
		return
	}
	p := c.p
	p.unseat()
	c.p = nil
	r.drop(c)
	r.leave(p, false)
}

// arriveOrAttach greets a new connection, or goes on with one whose room had
// another owner.
func (r *room) arriveOrAttach(c *conn) {
	if c.Participant == "" {
		r.arrive(c)
		return
	}
	p := r.byID[c.Participant]
	if p == nil {
		p = r.departed[c.Participant]
	}
	if p == nil || p.conn != nil {
		c.link.Close(kibitz.CloseGoingAway, "the room has moved")
		return
	}
	r.conns[c.CID] = c
	if p.left {
		delete(r.departed, p.ID)
		r.order, r.byID[p.ID] = append(r.order, p), p
	}
	now := time.Now()
	r.seat(c, p)
	r.rosterOut, r.capsOut = nil, nil
	r.rank()
	r.sendRoster(p, now)
	r.sendCaps(p, now)
	if servers := r.iceFor(c, now); len(servers) > 0 {
		c.send(&kibitz.ICE{ICE: servers}) // the former owner's relay honours its credentials no longer
	}
	r.replay(c, p, c.Seen)
	if p.KeyID != "" && p.Kind == kibitz.Agent {
		r.askProof(c, now)
	}
	r.changed()
}
