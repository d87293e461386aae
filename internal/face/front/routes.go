package front

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
)

// Routes is the hub's mux, and the only way into it: every route comes with its
// declaration, which is kept before the handler is called.
//
//	routes := front.NewRoutes(f)
//	routes.Handle(front.Route{Pattern: "GET /healthz", Who: front.Stranger}, handler)
//	server.Handler = f.Wrap(routes)
type Routes struct {
	front *Front
	mux   *http.ServeMux
	all   []Route
}

// NewRoutes makes an empty one.
func NewRoutes(f *Front) *Routes { return &Routes{front: f, mux: http.NewServeMux()} }

// Handle puts a handler on its path. A declaration that leaves a door open is a
// programming error, and panics.
func (s *Routes) Handle(rt Route, next http.Handler) {
	rt.check()
	rt.Body = rt.Body.withDefaults(s.front.paces)
	s.all = append(s.all, rt)
	e := &entrance{front: s.front, rt: rt, next: next}
	if rt.Strangers.PerNetwork > 0 {
		e.strangers = limit.NewCrowd(rt.Strangers)
	}
	s.mux.Handle(rt.Pattern, e)
}

// HandleFunc is Handle for a function.
func (s *Routes) HandleFunc(rt Route, next http.HandlerFunc) { s.Handle(rt, next) }

// Declared lists every route by its pattern.
func (s *Routes) Declared() []Route {
	all := slices.Clone(s.all)
	slices.SortFunc(all, func(a, b Route) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return all
}

// ServeHTTP finds the route of a request.
func (s *Routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions && pageOf(r) != nil && r.Header.Get(askedMethod) != "" {
		s.preflight(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// entrance keeps one route's declaration.
type entrance struct {
	front     *Front
	rt        Route
	strangers *limit.Crowd
	next      http.Handler
}

func (e *entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := e.front.letPage(w, r, e.rt.Pages); err != nil {
		e.front.refusePage(w, r, err)
		return
	}
	if body, ok := r.Body.(*reader); ok {
		body.allow(e.rt.Body)
	}
	if err := allow(e.rt.Rate.Network, networkOf(r)); err != nil {
		e.refuse(w, r, err)
		return
	}
	caller, err := e.enter(w, r)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	if caller != nil {
		defer After(w, func() {
			if !caller.kept {
				caller.leave()
			}
		})
	}
	if e.rt.Who != Stranger {
		if r, err = e.admit(r); err != nil {
			e.refuse(w, r, err)
			return
		}
	}
	e.next.ServeHTTP(w, r)
}

// admit finds out who calls, and whether they may and not too often.
func (e *entrance) admit(r *http.Request) (*http.Request, error) {
	who, err := e.front.Require(r, e.rt.Who.scope())
	if err != nil {
		return r, err
	}
	if err := allow(e.rt.Rate.Person, who.Person.ID); err != nil {
		return r, err
	}
	return r.WithContext(context.WithValue(r.Context(), sessionKey{}, who)), nil
}

// refuse answers who is not let in.
func (e *entrance) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if why, ok := errors.AsType[*limit.Error](err); ok && e.rt.TooMany != nil {
		e.rt.TooMany(w, r, why)
		return
	}
	if e.rt.Refuse != nil {
		e.rt.Refuse(w, r, err)
		return
	}
	e.front.Fail(w, r, err)
}

func allow(window *limit.Window, name string) error {
	if window == nil {
		return nil
	}
	if ok, wait := window.Allow(name, time.Now()); !ok {
		return &limit.Error{RetryAfter: wait}
	}
	return nil
}

// networkOf is what a caller's requests are counted by; those from this machine
// are not.
func networkOf(r *http.Request) string {
	if Local(r) {
		return ""
	}
	return limit.Network(Address(r))
}

type sessionKey struct{}

// Admitted is who the entrance has let in; nobody on routes for strangers.
func Admitted(ctx context.Context) (identity.Actor, bool) {
	who, ok := ctx.Value(sessionKey{}).(identity.Actor)
	return who, ok
}
