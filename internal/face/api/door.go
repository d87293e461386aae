package api

import (
	"net/http"

	"parley.internal/internal/face/front"
	"parley.internal/internal/limit"
)

// door is how routes of the REST face, and those the library makes by itself,
// reach the hub's mux: with a declaration.
type door struct {
	routes   *front.Routes
	declared map[string]front.Route
	// perPerson is shared by all routes. It stops what runs away, not what works.
	perPerson *limit.Window
}

func newDoor(routes *front.Routes) *door {
	d := &door{routes: routes, declared: map[string]front.Route{}, perPerson: &limit.Window{Most: 60_000}}
	for _, form := range []string{".json", ".yaml", "-3.0.json", "-3.0.yaml"} {
		pattern := "GET /api/openapi" + form
		d.declared[pattern] = front.Route{Pattern: pattern, Who: front.Stranger}
	}
	return d
}

// maxDrain is how much of a body that is too large is read all the same: clients that write it whole
// before they read would meet a closed connection instead of the answer.
const maxDrain = 1 << 20

// declare says what a route lets callers do, before the library registers it.
func (d *door) declare(rt route) front.Route {
	out := front.Route{Pattern: rt.method + " " + rt.path, Who: front.SignedIn, Pages: rt.Pages, Body: front.Body{Max: rt.maxBody(), Drain: maxDrain}}
	switch {
	case rt.Public:
		out.Who, out.Strangers = front.Stranger, limit.Share{PerNetwork: 32, Total: 1000, Local: 1000}
		out.Rate.Network = &limit.Window{Most: rt.PerMinute}
		if rt.PerMinute == 0 {
			out.Rate.Network.Most = 600
		}
	default:
		out.Rate.Person = d.perPerson
		if rt.Scope != "" {
			out.Who = front.Who(rt.Scope)
		}
	}
	if rt.method == http.MethodGet || rt.method == http.MethodHead {
		out.Body = front.Nothing
	}
	d.declared[out.Pattern] = out
	return out
}

func (rt route) maxBody() int64 {
	if rt.MaxBody == 0 {
		return 1 << 20
	}
	return rt.MaxBody
}

// HandleFunc implements the library's mux. What was not declared is not served.
func (d *door) HandleFunc(pattern string, handle func(http.ResponseWriter, *http.Request)) {
	rt, ok := d.declared[pattern]
	if !ok {
		panic("api: the route " + pattern + " has no declaration")
	}
	d.routes.HandleFunc(rt, handle)
}

// ServeHTTP implements the library's mux.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.routes.ServeHTTP(w, r) }
