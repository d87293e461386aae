package talk

import (
	"fmt"
	"net/http"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/wsconn"
	wire "parley.internal/protocol/agentfirst"
)

// Route is where the face belongs.
func (f *Face) Route() front.Route {
	return front.Route{
		Pattern: "GET /talk/ws", Who: front.Stranger, Login: f.limits.Login, TooMany: f.tooMany,
		// Programs on this machine open a connection for every word they say.
		Strangers: limit.Share{PerNetwork: f.limits.Strangers, Total: mostStrangers, Local: 8 * f.limits.Strangers},
		Rate:      front.Rate{ByHandler: fmt.Sprintf("%d failed authentications in a row lock the network", identity.LoginLimits.Failures)},
	}
}

// mostStrangers is how many WebSockets may be open that have not said who they are.
const mostStrangers = 1000

func (f *Face) tooMany(w http.ResponseWriter, r *http.Request, why *limit.Error) {
	f.d.Front.TooMany(w, r, why, "too many connections of this address have not said who they are")
}

// ServeHTTP is the WebSocket: one binary frame is one message. Who the client is
// comes from a bearer token, from the page's cookie (whose origin the front door
// has checked), or from hello as the first message.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session, err := f.d.Front.Visitor(r)
	if err != nil {
		f.d.Front.Fail(w, r, err)
		return
	}
	if !f.begin() {
		f.tooMany(w, r, &limit.Error{RetryAfter: time.Second, Everybody: true})
		return
	}
	defer f.done()
	f.sockets.Upgrade(w, r, func(ws *wsconn.Conn, caller *front.Caller) wsconn.Handler {
		s := &socket{face: f, ws: ws, caller: caller}
		s.conn = f.newConn(s, front.Address(r))
		if session == nil {
			ws.SetReadLimit(wsconn.ReadLimit{Message: int64(f.limits.Unknown)})
		}
		s.conn.open(session)
		return s
	})
}

// socket is a WebSocket connection.
type socket struct {
	face   *Face
	ws     *wsconn.Conn
	conn   *conn
	caller *front.Caller
}

var (
	_ link           = (*socket)(nil)
	_ wsconn.Handler = (*socket)(nil)
)

// Message takes one frame; text is refused before it comes here.
func (s *socket) Message(_ *wsconn.Conn, _ wsconn.Kind, data []byte) { s.conn.receive(data) }

// Closed is the end of the connection.
func (s *socket) Closed(_ *wsconn.Conn, _ wsconn.Ended) {
	s.conn.left()
	s.caller.Gone()
}

func (s *socket) send(payload []byte, key string, merge bool) {
	if s.queued() > s.face.limits.Unsent {
		s.face.log.Info("a client reads too slowly and is cut", "address", s.conn.address)
		s.cut(closeTooSlow, "too slow")
		return
	}
	m := wsconn.Message{Kind: wsconn.Binary, Data: payload, Key: key, Policy: wsconn.MustDeliver}
	if merge {
		m.Policy, m.Join = wsconn.Merge, join
	}
	_ = s.ws.Send(m) // a closed connection has told the handler, or will
}

func (s *socket) queued() int {
	_, bytes := s.ws.Queued()
	return bytes
}

func (s *socket) cut(code wsconn.Code, reason string) { _ = s.ws.Cut(code, reason, nil) }

func (s *socket) known() {
	s.caller.Known()
	s.ws.SetReadLimit(wsconn.ReadLimit{Message: wire.MaxPayload})
}
