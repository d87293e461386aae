package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/fleet"
	"parley.internal/internal/limit"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kenny"
)

// serveTunnel is /agent/ws. Before a key is looked at, addresses are counted.
func (f *Face) serveTunnel(w http.ResponseWriter, r *http.Request) {
	address := front.Address(r)
	if wait := f.failed.Wait(limit.Network(address), time.Now()); wait > 0 {
		f.d.Fleet.Stats().Handshake("limited")
		f.tooMany(w, r, http.StatusTooManyRequests, wait)
		return
	}
	f.sockets.Upgrade(w, r, func(ws *wsconn.Conn, caller *front.Caller) wsconn.Handler {
		c := &conn{face: f, ws: ws, address: address, caller: caller}
		ws.SetDeadline(f.limits.Handshake, func(*wsconn.Conn) { c.refuse("", "no register in time") })
		return c
	})
}

// crowded answers when too many are at the door: those that are will have proved
// themselves, or be gone, in the time a handshake may take.
func (f *Face) crowded(w http.ResponseWriter, r *http.Request, why *limit.Error) {
	f.d.Fleet.Stats().Handshake("limited")
	status := http.StatusTooManyRequests
	if why.Everybody {
		status = http.StatusServiceUnavailable
	}
	f.tooMany(w, r, status, f.limits.Handshake)
}

func (f *Face) tooMany(w http.ResponseWriter, r *http.Request, status int, wait time.Duration) {
	p := front.NewProblem(status, "rate_limited", "too many connections or attempts; wait a little", nil)
	p.RetryAfter = wait
	f.d.Front.Fail(w, r, p)
}

// conn is one connection, from its first byte to its last. The reading goroutine
// calls Message, Oversize and Closed; deadlines come on goroutines of their own.
type conn struct {
	face    *Face
	ws      *wsconn.Conn
	address string
	caller  *front.Caller

	greeting *fleet.Greeting
	session  *fleet.Session
}

var (
	_ wsconn.OversizeHandler = (*conn)(nil)
	_ fleet.Link             = (*conn)(nil)
)

// Message takes one message.
func (c *conn) Message(_ *wsconn.Conn, kind wsconn.Kind, data []byte) {
	switch {
	case c.session != nil && kind == wsconn.Text:
		c.session.Receive(data)
	case c.session != nil:
		c.session.Binary()
	case c.greeting == nil:
		c.register(kind, data)
	default:
		c.auth(kind, data)
	}
}

// Oversize takes note of a message that is skipped while it is read; strangers do
// not get that far.
func (c *conn) Oversize(_ *wsconn.Conn, _ wsconn.Kind, head []byte, size int64) {
	if c.session != nil {
		c.session.Oversize(head, size)
	}
}

// register is the first message. What is no register at all is told apart from a
// bad one, as the protocol has it.
func (c *conn) register(kind wsconn.Kind, data []byte) {
	if kind != wsconn.Text {
		c.bad("a binary first message")
		return
	}
	frame, err := kenny.Decode(data)
	if fe, ok := errors.AsType[*kenny.FrameError](err); ok && fe.Type == kenny.TypeRegister {
		c.refuse("", err.Error())
		return
	}
	reg, ok := frame.(*kenny.Register)
	if !ok {
		c.bad("the first message is no register")
		return
	}
	g, err := c.face.d.Fleet.Greet(reg, c.address)
	if err != nil {
		c.ended(err)
		return
	}
	c.greeting = g
	if g.Challenge == nil {
		c.admit(nil)
		return
	}
	c.ws.SetDeadline(c.face.limits.Handshake, func(*wsconn.Conn) { c.refuse(g.Claimed(), "no auth in time") })
	_ = c.ws.Send(wsconn.Message{Kind: wsconn.Text, Data: g.Challenge, Now: true}) // a connection that is gone tells Closed
}

// auth is the second message; anything else in its place is a failure.
func (c *conn) auth(kind wsconn.Kind, data []byte) {
	frame, err := kenny.Decode(data)
	auth, ok := frame.(*kenny.Auth)
	if err != nil || !ok || kind != wsconn.Text {
		c.refuse(c.greeting.Claimed(), "not an auth frame")
		return
	}
	c.admit(auth)
}

// admit makes a session of the connection, if the machine is who it says.
func (c *conn) admit(auth *kenny.Auth) {
	c.ws.SetDeadline(0, nil)
	s, err := c.face.d.Fleet.Admit(context.Background(), c.greeting, auth, c) // it bounds its waits itself
	if err != nil {
		c.ended(err)
		return
	}
	c.greeting = nil
	c.session = s
	c.caller.Known()
	c.ws.SetReadLimit(wsconn.ReadLimit{
		Message: kenny.MaxResponse, Discard: kenny.MaxDiscard, Close: wsconn.Close{Code: wsconn.Code(kenny.CloseTooBig), Reason: "message above 64 MiB"},
	})
	c.listen(c.ws)
}

// ended closes a handshake: refused, or the hub could not.
func (c *conn) ended(err error) {
	if !errors.Is(err, fleet.ErrRefused) {
		c.face.d.Log.Error("a handshake failed in the hub", "address", c.address, "error", err)
		_ = c.ws.Cut(wsconn.CodeTryLater, "the hub cannot take this machine now", nil)
		return
	}
	c.counted()
	c.Close(kenny.CloseUnauthorized, "not authenticated")
}

// refuse ends a handshake that did not get as far as a machine.
func (c *conn) refuse(claimed, why string) {
	c.counted()
	c.face.d.Fleet.Refused(claimed, c.address, why)
	c.Close(kenny.CloseUnauthorized, "not authenticated")
}

// bad ends a connection that does not speak the protocol.
func (c *conn) bad(why string) {
	c.counted()
	c.face.d.Fleet.Refused("", c.address, why)
	c.Close(kenny.CloseBadFrames, "the first message must be register")
}

func (c *conn) counted() { c.face.failed.Add(limit.Network(c.address), time.Now()) }

// listen watches for silence: pings after each interval without a word, and ends
// the connection when there was none for too long.
func (c *conn) listen(*wsconn.Conn) {
	ping, silence := c.session.Liveness()
	idle := c.ws.Idle()
	if idle >= silence {
		c.Close(kenny.CloseSilent, fmt.Sprintf("silent for %s", silence))
		return
	}
	intervals := idle / ping
	if intervals > 0 {
		c.session.Ping()
	}
	c.ws.SetDeadline(min((intervals+1)*ping, silence)-idle, c.listen)
}

// Closed is the end of the connection.
func (c *conn) Closed(_ *wsconn.Conn, how wsconn.Ended) {
	c.caller.Gone()
	if c.session != nil {
		c.session.Ended(fleet.Gone{Code: kenny.CloseCode(how.Code), Reason: how.Reason, ByPeer: how.ByPeer})
	}
}

// Send queues a request, unless too much waits already.
func (c *conn) Send(frame []byte) error {
	if frames, _ := c.ws.Queued(); frames >= kenny.QueueFrames {
		return fleet.ErrLinkFull
	}
	return c.ws.Send(wsconn.Message{Kind: wsconn.Text, Data: frame, Now: true})
}

// SendNewest queues a frame of which only the newest matters. Rules may be for
// thousands at once, and the first ones are sent before the machine is online:
// neither is a reason to hurry.
func (c *conn) SendNewest(kind string, frame []byte) error {
	return c.ws.Send(wsconn.Message{Kind: wsconn.Text, Data: frame, Policy: wsconn.Newest, Key: kind, Now: kind != string(kenny.TypePolicy)})
}

// Close says why and ends the connection; what waits is not sent.
func (c *conn) Close(code kenny.CloseCode, reason string) {
	_ = c.ws.Cut(wsconn.Code(code), reason, nil) // it may be closed already
}
