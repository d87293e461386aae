package board

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley/internal/audit"
	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/internal/terminal"
	"parley/internal/work"
	"parley/internal/wsconn"
	"parley/protocol/viber"
)

// Deps is what the face is made from.
type Deps struct {
	Work      work.API
	Terminals terminal.API
	People    *identity.Directory
	Front     *front.Front
	// Trail keeps who came in and who was refused; nil keeps nothing.
	Trail audit.Recorder
	// Version is the hub's, for the welcome.
	Version string
	// Challenge says when the challenge must be signed.
	Challenge ChallengeMode
	// Anonymous, if set, is who a client without credential on this machine is.
	Anonymous *identity.Session
	// Arrived, if set, tells the other hubs of a node that connected; they call Replace.
	Arrived func(Newcomer)
	Limits  Limits
	Log     *slog.Logger
}

// ChallengeMode says who must sign the challenge.
type ChallengeMode string

// The modes. Auto spares operator tokens on this machine, and pages, which hold
// no key.
const (
	ChallengeAuto   ChallengeMode = "auto"
	ChallengeAlways ChallengeMode = "always"
	ChallengeNever  ChallengeMode = "never"
)

// Limits bound what clients may do; zero values are the usual ones.
type Limits struct {
	viber.Limits
	Unauthenticated int // connections of an address that have not said who they are (10)
	AuthPerMinute   int // attempts of an address (60)
	PairPerMinute   int // of them, with pairing tokens (10)
	InputPerSecond  int // bytes typed by one connection (256 KiB)
	Queued          int // bytes that may wait for one connection (4 MiB)

	Login   time.Duration // to say who one is (15 s)
	Ping    time.Duration // between signs of life the hub asks for (30 s)
	Silence time.Duration // without any sign of life (75 s)
}

func (l Limits) withDefaults() Limits {
	usual := viber.DefaultLimits()
	for _, v := range []struct {
		to    *int
		usual int
	}{
		{&l.MaxFrameUnauthenticated, usual.MaxFrameUnauthenticated},
		{&l.MaxFrame, usual.MaxFrame},
		{&l.MaxConnections, usual.MaxConnections},
		{&l.MessagesPerSecond, usual.MessagesPerSecond},
		{&l.SubmitsPerMinute, usual.SubmitsPerMinute},
		{&l.MaxRunningTasks, usual.MaxRunningTasks},
		{&l.MaxQueuedMessages, usual.MaxQueuedMessages},
		{&l.MaxTerminals, usual.MaxTerminals},
		{&l.Unauthenticated, 10},
		{&l.AuthPerMinute, identity.LoginLimits.PerMinute},
		{&l.PairPerMinute, identity.PairingLimits.PerMinute},
		{&l.InputPerSecond, 256 << 10},
		{&l.Queued, viber.MaxQueuedBytes},
	} {
		if *v.to <= 0 {
			*v.to = v.usual
		}
	}
	l.Login = orElse(l.Login, viber.AuthTimeout)
	l.Ping, l.Silence = orElse(l.Ping, 30*time.Second), orElse(l.Silence, 75*time.Second)
	return l
}

func orElse(d, usual time.Duration) time.Duration {
	if d <= 0 {
		return usual
	}
	return d
}

// Face serves the board protocol.
type Face struct {
	d        Deps
	log      *slog.Logger
	limits   Limits
	group    *wsconn.Group
	open     *wsconn.AddressLimit
	unknown  *wsconn.AddressLimit
	attempts *identity.Throttle
	pairings *identity.Throttle
	nonces   nonces
	// strangers is shared by all who never said who they are.
	strangers *rate.Limiter
	crowds    *rate.Limiter

	mu        sync.Mutex
	closing   bool
	conns     map[*conn]struct{}
	audiences map[string]*audience
	work      sync.WaitGroup
}

// New makes a face; Close ends it.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Challenge == "" {
		d.Challenge = ChallengeAuto
	}
	f := &Face{d: d, log: d.Log, limits: d.Limits.withDefaults(), conns: map[*conn]struct{}{}, audiences: map[string]*audience{}, strangers: strangers(), crowds: crowds()}
	logins, pairings := identity.LoginLimits, identity.PairingLimits
	logins.PerMinute, pairings.PerMinute = f.limits.AuthPerMinute, f.limits.PairPerMinute
	f.attempts, f.pairings = identity.NewThrottle(logins), identity.NewThrottle(pairings)
	f.open = wsconn.NewAddressLimit(f.limits.MaxConnections, 0)
	f.unknown = wsconn.NewAddressLimit(f.limits.Unauthenticated, 0)
	f.group = wsconn.NewGroup(wsconn.Options{
		Read:      f.readLimit(f.limits.MaxFrameUnauthenticated),
		Queue:     wsconn.QueueLimit{Frames: 1 << 16, Bytes: f.limits.Queued},
		Overflow:  wsconn.Close{Code: wsconn.Code(viber.CloseSlowConsumer), Reason: "slow_consumer"},
		Ping:      wsconn.Heartbeat{Every: f.limits.Ping},
		Silence:   wsconn.Silence{After: f.limits.Silence, Close: wsconn.Close{Code: wsconn.Code(viber.CloseTimeout), Reason: "silent"}},
		LastWords: f.lastWords,
		Log:       d.Log,
	})
	return f
}

func (f *Face) readLimit(n int) wsconn.ReadLimit {
	return wsconn.ReadLimit{Message: int64(n), Close: wsconn.Close{Code: wsconn.CodeTooLarge, Reason: viber.FrameTooLarge(n).Message}}
}

// Connections counts the open ones.
func (f *Face) Connections() int { return f.group.Len() }

// Metrics are the counters of the connections.
func (f *Face) Metrics() *wsconn.Metrics { return f.group.Metrics() }

// Attended reports whether a person who may answer approvals is connected here.
func (f *Face) Attended(principal string) bool {
	f.mu.Lock()
	a := f.audiences[principal]
	f.mu.Unlock()
	return a != nil && a.attended()
}

// ServeHTTP is the WebSocket. The front door has checked Host and Origin.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address := front.Address(r)
	release, err := f.open.Take(address)
	var releaseUnknown func()
	if err == nil {
		if releaseUnknown, err = f.unknown.Take(address); err != nil {
			release()
		}
	}
	if err != nil {
		p := front.NewProblem(http.StatusTooManyRequests, "too_many_connections", "too many connections from this address", err)
		p.RetryAfter = time.Second
		f.d.Front.Fail(w, r, p)
		f.crowded(address)
		return
	}
	_, err = f.group.Upgrade(w, r, func(ws *wsconn.Conn) wsconn.Handler {
		c := f.newConn(ws, address, isLocal(r))
		c.releaseOpen, c.releaseUnknown = release, releaseUnknown
		if cookie, err := r.Cookie(front.CookieName); err == nil {
			c.cookie = cookie.Value
		}
		c.welcome()
		return c
	})
	if err != nil {
		release()
		releaseUnknown()
		f.log.Debug("no WebSocket", "error", err) // Upgrade has answered
	}
}

// isLocal reports whether the client is on this machine: the socket's peer is,
// and speaks for nobody else. What a proxy forwards is never local.
func isLocal(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Unmap().IsLoopback() {
		return false
	}
	proxied := front.Secure(r) && r.TLS == nil
	return !proxied && r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Forwarded") == ""
}

func (f *Face) register(c *conn) (open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = struct{}{}
	return !f.closing
}

func (f *Face) unregister(c *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// leaveTime is how long clients of a stopping hub may take to say goodbye.
const leaveTime = 2 * time.Second

// Close tells every client that the hub goes, gives them a moment to leave, and
// ends what is left. Tasks and terminals are not its business.
func (f *Face) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closing = true
	conns := make([]*conn, 0, len(f.conns))
	for c := range f.conns {
		conns = append(conns, c)
	}
	f.mu.Unlock()
	for _, c := range conns {
		c.leave(viber.GoodbyeShutdown, wsconn.CodeGoingAway)
	}
	f.awaitGone(ctx)
	err := f.group.Drain(ctx, wsconn.CodeGoingAway, viber.GoodbyeShutdown)
	f.work.Wait()
	return err
}

// awaitGone waits until the clients have left, but not long.
func (f *Face) awaitGone(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for f.group.Len() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// note puts something about a connection into the trail.
func (f *Face) note(entry audit.Entry) {
	if f.d.Trail != nil {
		f.d.Trail.Note(entry)
	}
}
