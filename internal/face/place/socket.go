package place

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/limit"
	"parley.internal/internal/place"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/mmp"
)

const (
	// socketPath ends the paths of WebSockets.
	socketPath = "/socket"
	// socketLogin is how long a socket may stay at a strict place that has shown no token.
	socketLogin = time.Minute
	// socketAsks is how many requests of one socket may be in progress.
	socketAsks = 16
	// socketUnsent is what may wait for a slow reader before it is cut; one answer always may.
	socketUnsent = 32 << 20
	// leastRound keeps a followed queue that ends its waits at once from being asked at once.
	leastRound = time.Second
)

// socketStrangers is how many sockets without a token there may be: as many as requests.
var socketStrangers = limit.Share{PerNetwork: 64, Total: 2000, Local: 4000}

// socketsOpen is how many there may be, of whomever: an agent needs one.
var socketsOpen = limit.Share{PerNetwork: 2000, Total: 20_000}

// sockets are the WebSockets of a face, made when the first one comes.
type sockets struct {
	mu     sync.Mutex
	open   *front.Sockets
	closed bool
}

func (s *sockets) get(f *Face) (*front.Sockets, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, mmp.ErrStorage
	}
	if s.open == nil {
		group := wsconn.NewGroup(wsconn.Options{
			Read: wsconn.ReadLimit{Message: mmp.MaxFrame}, Queue: wsconn.QueueLimit{Frames: 1024, Bytes: socketUnsent}, RefuseBinary: true,
			Ping: wsconn.Heartbeat{Every: 30 * time.Second, WhenSilent: true}, Silence: wsconn.Silence{After: 100 * time.Second}, Log: f.d.Log,
		})
		s.open = &front.Sockets{Group: group, Open: limit.NewCrowd(socketsOpen), TooMany: f.tooMany(false), Log: f.d.Log}
	}
	return s.open, nil
}

// Close lets every WebSocket go; who was there comes back to another hub, or to this one
// when it runs again.
func (f *Face) Close(ctx context.Context) error {
	f.sockets.mu.Lock()
	open := f.sockets.open
	f.sockets.open, f.sockets.closed = nil, true
	f.sockets.mu.Unlock()
	if open == nil {
		return nil
	}
	return open.Group.Drain(ctx, wsconn.CodeRestart, "the place is stopping")
}

// socket makes a WebSocket of the request. Each text frame that comes is a request to
// this face, with the same rules and limits as over HTTP.
func (r *request) socket() (answer, error) {
	sockets, err := r.sockets.get(r.Face)
	if err != nil {
		return answer{}, err
	}
	sockets.Upgrade(r.w, r.http, func(ws *wsconn.Conn, caller *front.Caller) wsconn.Handler {
		// The request ends when it is answered; who called, and where, stays.
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.http.Context()))
		s := &socket{face: r.Face, via: r.http, ws: ws, caller: caller, ctx: ctx, cancel: cancel, asks: map[string]*asked{}}
		if r.d.Place.Policy() == place.Strict {
			ws.SetDeadline(socketLogin, s.login)
		}
		return s
	})
	return answer{}, nil
}

// socket is one connection.
type socket struct {
	face   *Face
	via    *http.Request // that opened it
	ws     *wsconn.Conn
	caller *front.Caller
	ctx    context.Context //nolint:containedctx // the life of the connection
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu    sync.Mutex
	known bool
	asks  map[string]*asked
}

// asked is a request in progress.
type asked struct {
	cancel context.CancelFunc
	// next is filled when its next answer may come.
	next chan struct{}
}

// login ends a socket that nobody has shown a token on.
func (s *socket) login(ws *wsconn.Conn) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if !known {
		_ = ws.Close(wsconn.CodePolicy, mmp.ErrAuthRequired.Code) // it is ending already
	}
}

// Message takes one frame.
func (s *socket) Message(_ *wsconn.Conn, _ wsconn.Kind, data []byte) {
	ask, err := mmp.DecodeAsk(bytes.Clone(data))
	switch {
	case err != nil:
		s.refuse(ask.ID, err)
	case ask.Method == "":
		s.goOn(ask)
	default:
		s.begin(ask)
	}
}

// Closed ends what is in progress and waits for it: nothing is handed out to nobody.
func (s *socket) Closed(*wsconn.Conn, wsconn.Ended) {
	s.cancel()
	s.work.Wait()
	s.caller.Gone()
}

// goOn is about a request in progress; about none it means nothing.
func (s *socket) goOn(ask mmp.Ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.asks[ask.ID]
	switch {
	case one == nil:
	case ask.Cancel:
		one.cancel()
	default:
		select {
		case one.next <- struct{}{}:
		default:
		}
	}
}

func (s *socket) begin(ask mmp.Ask) {
	ctx, cancel := context.WithCancel(s.ctx)
	one := &asked{cancel: cancel, next: make(chan struct{}, 1)}
	s.mu.Lock()
	_, taken := s.asks[ask.ID]
	full := len(s.asks) >= socketAsks
	if !taken && !full {
		s.asks[ask.ID] = one
	}
	s.mu.Unlock()
	if taken || full {
		cancel()
		err := mmp.ErrRateLimited.WithRetry(1)
		if taken {
			err = mmp.ErrAskTwice
		}
		s.refuse(ask.ID, err)
		return
	}
	s.work.Go(func() {
		s.serve(ctx, ask, one)
		s.mu.Lock()
		delete(s.asks, ask.ID)
		s.mu.Unlock()
		cancel()
	})
}

// request is the HTTP request that a frame stands for. Of the one that opened the socket
// it has the address on both sides and nothing that says who asks.
func (s *socket) request(ctx context.Context, ask mmp.Ask) (*http.Request, error) {
	u, err := url.ParseRequestURI(ask.Path)
	if err != nil || u.Host != "" {
		return nil, mmp.InvalidField("path")
	}
	if strings.HasSuffix(u.Path, socketPath) {
		return nil, mmp.ErrNotFound
	}
	r := (&http.Request{
		Method: ask.Method, URL: u, RequestURI: ask.Path, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody,
		Host: s.via.Host, RemoteAddr: s.via.RemoteAddr, TLS: s.via.TLS,
	}).WithContext(ctx)
	if len(ask.Body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(ask.Body)), int64(len(ask.Body))
	}
	if ask.Token != "" {
		r.Header.Set("Authorization", "Bearer "+ask.Token)
	}
	if ask.IdempotencyKey != "" {
		r.Header.Set("Idempotency-Key", ask.IdempotencyKey)
	}
	return r, nil
}

func (s *socket) serve(ctx context.Context, ask mmp.Ask, one *asked) {
	r, err := s.request(ctx, ask)
	if err != nil {
		s.refuse(ask.ID, err)
		return
	}
	if r.URL.Path == "/place/v1/relay/receive" && r.URL.Query().Get("follow") == "true" {
		s.follow(ctx, ask, r, one)
		return
	}
	w := &buffer{header: http.Header{}}
	s.face.ServeHTTP(w, r)
	s.tell(ask, w)
}

// follow answers each time that messages are there, when the client is done with those
// before: what it has not asked for lies safe in the queue. Who is let in is looked at
// again each minute.
func (s *socket) follow(ctx context.Context, ask mmp.Ask, r *http.Request, one *asked) {
	q := r.URL.Query()
	q.Set("wait", "60")
	r.URL.RawQuery = q.Encode()
	for ctx.Err() == nil {
		began, w := time.Now(), &buffer{header: http.Header{}}
		s.face.ServeHTTP(w, r)
		var wait <-chan struct{} = one.next
		var pause <-chan time.Time
		if w.status == http.StatusOK && nothing(w.body.Bytes()) {
			wait, pause = nil, time.After(leastRound-time.Since(began))
		} else if s.tell(ask, w); w.status != http.StatusOK {
			return
		}
		select {
		case <-ctx.Done():
		case <-wait:
		case <-pause:
		}
	}
}

// nothing tells an answer without messages.
func nothing(body []byte) bool {
	var out struct {
		Count int `json:"count"`
	}
	return len(body) < 512 && mmp.Decode(body, &out) == nil && out.Count == 0
}

// tell sends an answer. Nobody is answered who went away or took the request back.
func (s *socket) tell(ask mmp.Ask, w *buffer) {
	if w.status == 0 {
		return
	}
	if ask.Token != "" && w.status < http.StatusBadRequest {
		s.mu.Lock()
		s.known = true
		s.mu.Unlock()
		s.caller.Known()
	}
	s.send(ask.ID, w.status, w.body.Bytes())
}

func (s *socket) refuse(id string, err error) {
	refusal, ok := errors.AsType[mmp.Error](err)
	if !ok {
		refusal = mmp.ErrInvalidJSON
	}
	body, err := mmp.Encode(refusal.Body(false))
	if err == nil {
		s.send(id, refusal.Status, body)
	}
}

func (s *socket) send(id string, status int, body []byte) {
	frame, err := mmp.AppendTold(make([]byte, 0, len(body)+len(id)+48), id, status, body)
	if err == nil {
		_ = s.ws.SendText(frame) // a connection that ends has told the handler, or will
	}
}
