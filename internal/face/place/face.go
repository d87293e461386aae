package place

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// Deps is what the face needs. Meeting may be nil: then there are no direct
// endpoints. Front may be nil: then there is no operator and addresses are the
// sockets' own.
type Deps struct {
	Place   place.API
	Meeting place.Meeting
	Front   *front.Front
	Log     *slog.Logger
	// Proxied says that callers come through a proxy, so that loopback means nothing.
	Proxied bool
	// Addresses are those this place is known by besides where it listens, as in
	// mmp.CalledAt.
	Addresses []string
	// Loopback says that only this machine can reach the listener.
	Loopback bool
	Limits   Limits
}

// Limits are per minute; zero has the usual ones.
type Limits struct {
	Address int // requests of one address, or one IPv6 /64 (1,200)
	Token   int // requests of one session token (600)
	Peer    int // direct messages of one sender (120)
}

// Face serves the protocol.
type Face struct {
	d                        Deps
	byAddress, byToken, peer limit.Window
	meeting                  atomic.Pointer[place.Meeting]
	sockets                  sockets
}

// New makes the face.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	usual := func(n, otherwise int) int {
		if n <= 0 {
			return otherwise
		}
		return n
	}
	f := &Face{d: d}
	f.byAddress.Most, f.byToken.Most, f.peer.Most = usual(d.Limits.Address, 1200), usual(d.Limits.Token, 600), usual(d.Limits.Peer, 120)
	if d.Meeting != nil {
		f.SetMeeting(d.Meeting)
	}
	return f
}

// SetMeeting says who speaks at the direct endpoints from now on.
func (f *Face) SetMeeting(m place.Meeting) { f.meeting.Store(&m) }

// Routes are where the face belongs. Paths that are none of the protocol's are the
// face's too, so that it can say so in the protocol's words; those without a final
// slash keep the mux from sending callers elsewhere.
func (f *Face) Routes() []front.Route {
	rate := front.Rate{ByHandler: fmt.Sprintf("%d requests a minute per network, %d per token", f.byAddress.Most, f.byToken.Most)}
	var all []front.Route
	for _, path := range []string{"/place/v1", "/place/v1/", "/meeting/v1", "/meeting/v1/", "/health"} {
		all = append(all, front.Route{Pattern: path, Who: front.Stranger, Body: front.Nothing, Rate: rate})
	}
	for _, rt := range routes() {
		path := rt.path
		if strings.HasSuffix(path, "/") {
			path += "{name}"
		}
		declared := front.Route{Pattern: rt.method + " " + path, Who: front.Stranger, Rate: rate, TooMany: f.tooMany(rt.first)}
		if rt.limit > 0 {
			declared.Body = front.Body{Max: int64(rt.limit), Drain: mmp.MaxDrain}
			declared.Strangers = limit.Share{PerNetwork: 64, Total: 2000, Local: 4000}
		}
		if strings.HasSuffix(rt.path, socketPath) {
			declared.Login, declared.Strangers = socketLogin, socketStrangers
		}
		all = append(all, declared)
	}
	return all
}

// tooMany says it in the protocol's words.
func (f *Face) tooMany(first bool) func(http.ResponseWriter, *http.Request, *limit.Error) {
	return func(w http.ResponseWriter, r *http.Request, why *limit.Error) {
		f.fail(w, r, mmp.ErrRateLimited.WithRetry(seconds(why.RetryAfter)), first)
	}
}

// request is one call on its way.
type request struct {
	*Face
	http  *http.Request
	w     http.ResponseWriter
	route *route
	who   place.Visitor
	// arg is the path's variable, unescaped.
	arg   string
	body  []byte
	query url.Values
}

// answer is what a handler returns: a status of success and a body. Without a status
// the request is answered later.
type answer struct {
	status int
	body   any
}

func ok(body any, err error) (answer, error) { return answer{http.StatusOK, body}, err }

func created(body any, err error) (answer, error) { return answer{http.StatusCreated, body}, err }

// ServeHTTP answers one call.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, arg, allowed := match(r.Method, r.URL.EscapedPath())
	first := rt == nil || rt.first
	defer f.recovered(w, r, first)
	if rt == nil {
		f.fail(w, r, unmatched(w, allowed), first)
		return
	}
	req := &request{Face: f, http: r, w: w, route: rt, arg: arg}
	if r.URL.RawQuery != "" {
		req.query = r.URL.Query()
	}
	out, err := req.serve()
	if err != nil {
		f.fail(w, r, err, first)
		return
	}
	if out.status != 0 {
		f.write(w, out.status, out.body)
	}
}

func unmatched(w http.ResponseWriter, allowed []string) error {
	if len(allowed) == 0 {
		return mmp.ErrNotFound
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return mmp.ErrMethod
}

func (r *request) serve() (answer, error) {
	if err := r.identify(); err != nil {
		return answer{}, err
	}
	if r.route.limit > 0 {
		body, err := readBody(r.w, r.http, r.route.limit)
		if err != nil {
			return answer{}, err
		}
		r.body = body
	}
	return r.route.handle(r)
}

// identify counts the call and finds out who makes it.
func (r *request) identify() error {
	address := front.Address(r.http)
	if r.exempt(address) {
		address = ""
	} else {
		address = limit.Network(address)
	}
	if ok, wait := r.byAddress.Allow(limit.Network(address), time.Now()); !ok {
		return mmp.ErrRateLimited.WithRetry(seconds(wait))
	}
	r.who = place.Visitor{Actor: identity.Stranger(address)}
	if r.http.Header.Get("Authorization") == "" || r.route.peer {
		return nil
	}
	token, ok := front.Bearer(r.http)
	switch {
	case !ok:
		return mmp.ErrToken
	case identity.TokenForm(token):
		return r.operator(address)
	}
	sum := sha256.Sum256([]byte(token))
	if ok, wait := r.byToken.Allow(hex.EncodeToString(sum[:16]), time.Now()); !ok {
		return mmp.ErrRateLimited.WithRetry(seconds(wait))
	}
	who, err := r.d.Place.Authenticate(r.http.Context(), token)
	who.Actor = identity.Stranger(address)
	r.who = who
	return err
}

// operator is a person's token with the scope place.
func (r *request) operator(address string) error {
	if r.d.Front == nil {
		return mmp.ErrToken
	}
	who, err := r.d.Front.Require(r.http, identity.Place)
	problem, _ := errors.AsType[*front.Problem](err)
	switch {
	case err == nil:
		r.who = place.Visitor{Actor: who.From(address)} // as it counts against limits
		return nil
	case problem != nil && problem.Status == http.StatusForbidden:
		return mmp.ErrOperatorOnly
	}
	return mmp.ErrToken
}

// exempt: callers on this machine are not strangers, unless a proxy stands between.
func (r *request) exempt(address string) bool {
	if r.d.Proxied {
		return false
	}
	ip, err := netip.ParseAddr(address)
	return err != nil || ip.Unmap().IsLoopback()
}

func seconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

func (f *Face) recovered(w http.ResponseWriter, r *http.Request, first bool) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	f.d.Log.ErrorContext(r.Context(), "panic in the place", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	f.fail(w, r, mmp.ErrInternal, first)
}
