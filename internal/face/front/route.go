package front

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley.internal/internal/limit"
)

// Who may come: Stranger, SignedIn, or whoever has the scope of that name.
type Who string

const (
	// Stranger lets everybody in. The handler decides what they may do, as its
	// protocol has it.
	Stranger Who = "stranger"
	// SignedIn is whoever has a valid token or page.
	SignedIn Who = "signed in"
)

// scope is what the caller needs; empty if any valid credential will do.
func (w Who) scope() string {
	if w == SignedIn {
		return ""
	}
	return string(w)
}

// Route says what the hub lets callers of a path do, before its handler is asked.
// All figures are in the declaration, so that they are reviewed with the route.
type Route struct {
	// Pattern is a mux's: "POST /api/tokens".
	Pattern string
	Who     Who
	// Pages are the websites whose pages may call it, beside the hub's own.
	Pages Pages
	// Body is what may be sent, and how slowly.
	Body Body
	// Login makes it a WebSocket: so long may a connection stay that has not said
	// who it is. The handler keeps to it; see Strangers.
	Login time.Duration
	// Strangers is how many callers that nobody knows may be in at once, on this
	// route. A socket counts until its handler calls Known or Gone.
	Strangers limit.Share
	Rate      Rate
	// TooMany answers who is refused by a limit, in the words of the route's
	// protocol; nil is a problem document.
	TooMany func(w http.ResponseWriter, r *http.Request, why *limit.Error)
	// Refuse answers whoever else is not let in; nil is a problem document.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
}

// Rate is how often somebody may come in a minute; nil is as often as they like.
// Routes that name the same window share it.
type Rate struct {
	Person *limit.Window
	// Network is for one IPv4 address or IPv6 /64. Callers on this machine are not
	// counted.
	Network *limit.Window
	// ByHandler says that the handler does the counting, because its protocol counts
	// something else than requests.
	ByHandler string
}

// check panics over a declaration that leaves a door open: a hub with one does not
// start.
func (rt Route) check() {
	method, _, named := strings.Cut(rt.Pattern, " ")
	reads := named && (method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete)
	counted := rt.Strangers.PerNetwork > 0 && rt.Strangers.Total > 0
	wrong := ""
	switch {
	case rt.Pattern == "":
		wrong = "has no pattern"
	case rt.Who == "":
		wrong = "does not say who may come"
	case rt.Body.Max == 0 && !reads && rt.Body != Nothing:
		wrong = "takes a body and does not say how large"
	case rt.Who == Stranger && !counted && (rt.Body.Max > 0 || rt.Login > 0):
		wrong = "does not say how many strangers may be in at once"
	}
	if wrong != "" {
		panic(fmt.Sprintf("front: the route %q %s", rt.Pattern, wrong))
	}
}

// String is the declaration in a line, for people who review it.
func (rt Route) String() string {
	parts := []string{rt.Pattern, "who: " + string(rt.Who), "body: " + rt.Body.String()}
	if rt.Pages != OwnPages {
		parts = append(parts, "pages: "+string(rt.Pages))
	}
	if s := rt.Strangers; s.PerNetwork > 0 {
		text := fmt.Sprintf("strangers: %d per network, %d in all", s.PerNetwork, s.Total)
		if s.Local > 0 {
			text += fmt.Sprintf(", %d on this machine", s.Local)
		}
		parts = append(parts, text)
	}
	if rt.Login > 0 {
		parts = append(parts, "login: "+rt.Login.String())
	}
	for _, r := range []struct {
		name   string
		window *limit.Window
	}{{"person", rt.Rate.Person}, {"network", rt.Rate.Network}} {
		if r.window != nil {
			parts = append(parts, fmt.Sprintf("rate: %d a minute per %s", r.window.Most, r.name))
		}
	}
	if rt.Rate.ByHandler != "" {
		parts = append(parts, "handler: "+rt.Rate.ByHandler)
	}
	return strings.Join(parts, " | ")
}
