package board

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/audit"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/terminal"
	"parley.internal/internal/work"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/viber"
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
	Anonymous *identity.Actor
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
	AuthPerMinute   int // wrong attempts of an address (60)
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
	sockets  front.Sockets
	attempts *limit.Guesses
	pairings *limit.Guesses
	nonces   nonces
	// strangers is shared by all who never said who they are.
	strangers *rate.Limiter
	crowds    *rate.Limiter

	mu      sync.Mutex
	closing bool
	conns   map[*conn]struct{}
}

// New makes a face; Close ends it.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Challenge == "" {
		d.Challenge = ChallengeAuto
	}
	f := &Face{d: d, log: d.Log, limits: d.Limits.withDefaults(), conns: map[*conn]struct{}{}, strangers: strangers(), crowds: crowds()}
	logins, pairings := identity.LoginLimits, identity.PairingLimits
	logins.PerMinute, pairings.PerMinute = f.limits.AuthPerMinute, f.limits.PairPerMinute
	f.attempts, f.pairings = limit.NewGuesses(logins), limit.NewGuesses(pairings)
	f.group = wsconn.NewGroup(wsconn.Options{
		Read:      f.readLimit(f.limits.MaxFrameUnauthenticated),
		Queue:     wsconn.QueueLimit{Frames: 1 << 16, Bytes: f.limits.Queued},
		Overflow:  wsconn.Close{Code: wsconn.Code(viber.CloseSlowConsumer), Reason: "slow_consumer"},
		Ping:      wsconn.Heartbeat{Every: f.limits.Ping},
		Silence:   wsconn.Silence{After: f.limits.Silence, Close: wsconn.Close{Code: wsconn.Code(viber.CloseTimeout), Reason: "silent"}},
		LastWords: f.lastWords,
		Log:       d.Log,
	})
	f.sockets = front.Sockets{Group: f.group, Open: limit.NewCrowd(limit.Share{PerNetwork: f.limits.MaxConnections}), TooMany: f.tooMany, Log: d.Log}
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
	defer f.mu.Unlock()
	for c := range f.conns {
		if l := c.who(); l != nil && l.session.Person.ID == principal && l.session.Scopes.Has(identity.ApprovalRespond) {
			return true
		}
	}
	return false
}

// Route is where the face belongs.
func (f *Face) Route() front.Route {
	return front.Route{
		Pattern: "GET /ws", Who: front.Stranger, Login: f.limits.Login, TooMany: f.tooMany,
		Strangers: limit.Share{PerNetwork: f.limits.Unauthenticated, Total: mostUnknown},
		Rate: front.Rate{ByHandler: fmt.Sprintf("%d open per network; %d failed authentications a minute per network, %d in a row lock it",
			f.limits.MaxConnections, f.limits.AuthPerMinute, identity.LoginLimits.Failures)},
	}
}

// mostUnknown is how many connections may be open that have not said who they are.
const mostUnknown = 1000

func (f *Face) tooMany(w http.ResponseWriter, r *http.Request, why *limit.Error) {
	f.d.Front.TooMany(w, r, why, "too many connections from this address")
	f.crowded(front.Address(r))
}

// ServeHTTP is the WebSocket. The front door has checked Host and Origin, and
// counted who is nobody yet.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.sockets.Upgrade(w, r, func(ws *wsconn.Conn, caller *front.Caller) wsconn.Handler {
		c := f.newConn(ws, front.Address(r), front.Local(r))
		c.caller = caller
		if cookie, err := r.Cookie(front.CookieName); err == nil {
			c.cookie = cookie.Value
		}
		c.welcome()
		return c
	})
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
	conns := slices.Collect(maps.Keys(f.conns))
	f.mu.Unlock()
	for _, c := range conns {
		c.leave(viber.GoodbyeShutdown, wsconn.CodeGoingAway)
	}
	f.awaitGone(ctx)
	for _, c := range conns {
		c.end(wsconn.CodeGoingAway, viber.GoodbyeShutdown) // it was told why
	}
	return f.group.Drain(ctx, wsconn.CodeGoingAway, viber.GoodbyeShutdown)
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
