package front

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"regexp"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/wsconn"
)

// Guard refuses requests whose Host or Origin is foreign.
type Guard interface {
	Check(r *http.Request) error
}

// Websites knows whose pages may show rooms of this hub; *embed.Origins does.
type Websites interface {
	Listed(ctx context.Context, origin string) (bool, error)
}

// Observer is told of every finished request, for metrics.
type Observer interface {
	Request(method, route string, status int, took time.Duration)
}

// Front wraps the hub's handlers.
type Front struct {
	people *identity.Directory
	guard  Guard
	sites  Websites
	logger *slog.Logger
	watch  Observer
	trail  audit.Recorder
	// attempts counts wrong credentials per network.
	attempts *limit.Guesses
	paces    Paces
	more     []Mapping
	// strangers bounds what refused pages can write into the trail.
	strangers *rate.Limiter
	refusals  floods
	parking   *Parking
}

// Deps is what a front is made from. Watch, Trail and Parking may be nil.
type Deps struct {
	People *identity.Directory
	Guard  Guard
	// Websites may be nil: then no other website's pages come in.
	Websites Websites
	Logger   *slog.Logger
	Watch    Observer
	Trail    audit.Recorder
	// Parking is where requests that wait may be; without one all wait as they are.
	Parking *Parking
	// Paces are how slowly callers may send.
	Paces Paces
	// Errors adds to the table of errors.
	Errors []Mapping
}

// New makes a front.
func New(d Deps) *Front {
	return &Front{
		people: d.People, guard: d.Guard, sites: d.Websites, logger: d.Logger, watch: d.Watch, trail: d.Trail, more: d.Errors, parking: d.Parking,
		attempts: limit.NewGuesses(identity.LoginLimits), strangers: rate.NewLimiter(rate.Every(time.Second), 60), paces: d.Paces.withDefaults(),
	}
}

// Wrap puts the shared behaviour around the hub's routes.
func (f *Front) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		id := requestID(r)
		w.Header()["X-Request-Id"] = []string{id}
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		seen := &recorder{ResponseWriter: w, parking: f.parking}
		defer f.finish(seen, r, started)
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = f.newReader(w, r)
		}
		err := f.guard.Check(r)
		if page := visitingPage(r, err); page != nil {
			// The route says whether such pages may come.
			r, err = r.WithContext(context.WithValue(r.Context(), pageKey{}, page)), nil
		}
		if err != nil {
			f.refusePage(seen, r, err)
			return
		}
		next.ServeHTTP(seen, r)
	})
}

// refusePage answers a page, or a name, that is not ours.
func (f *Front) refusePage(w http.ResponseWriter, r *http.Request, why error) {
	if !errors.Is(why, wsconn.ErrForeignOrigin) && !errors.Is(why, wsconn.ErrForeignHost) {
		f.Fail(w, r, why) // the list could not be read
		return
	}
	f.foreign(r)
	f.Fail(w, r, NewProblem(http.StatusForbidden, "foreign_origin", why.Error(), why))
}

// foreign records a page or a name that is not ours: somebody's browser was sent
// here by somebody else. Only the first of a flood are kept.
func (f *Front) foreign(r *http.Request) {
	if f.trail == nil || !f.strangers.Allow() {
		return
	}
	f.trail.Note(audit.Entry{
		Actor: "address:" + Address(r), Action: audit.OriginRefused, Target: r.URL.Path, Outcome: "foreign_origin",
		Detail: map[string]any{"origin": cut(r.Header.Get("Origin")), "host": cut(r.Host)},
	})
}

// cut keeps what strangers write short.
func cut(s string) string { return s[:min(len(s), 200)] }

// finish turns a panic into an answer, and tells of the request: now, or when one
// that is parked is answered.
func (f *Front) finish(seen *recorder, r *http.Request, started time.Time) {
	cause := recover()
	if cause != nil {
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause)
		}
		f.logger.ErrorContext(r.Context(), "panic in a handler", "request_id", RequestID(r.Context()), "path", r.URL.Path, "panic", cause, "stack", stack())
		if seen.status == 0 && seen.parked == nil {
			f.Fail(seen, r, NewProblem(http.StatusInternalServerError, "internal_error", "something went wrong in the hub; its log has the details under this request id", nil))
		}
	}
	one := finished{method: r.Method, route: r.Pattern, path: r.URL.Path, id: RequestID(r.Context()), started: started}
	p := seen.parked
	if p == nil {
		f.tell(one, seen.status)
		return
	}
	p.after = append(p.after, func() { f.tell(one, p.status) })
	p.start(cause == nil, seen.again)
}

// finished is what is told of a request.
type finished struct {
	method, route, path, id string
	started                 time.Time
}

// tell counts and logs a request.
func (f *Front) tell(one finished, status int) {
	took := time.Since(one.started)
	if f.watch != nil {
		f.watch.Request(one.method, one.route, status, took)
	}
	if !f.logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	// The query is left out: it may carry words that are nobody's business.
	f.logger.Debug("request", "request_id", one.id, "method", one.method, "path", one.path, "status", status, "took", took)
}

type requestKey struct{}

// RequestID is the id of the request a context belongs to.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// clean is the form of request ids we take over from a proxy.
var clean = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && clean.MatchString(id) {
		return id
	}
	return newID()
}

// newID is as long as it has to be to meet no other. It is no secret, so it need not
// cost what secrets cost.
func newID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [26]byte
	for half := range 2 {
		bits := rand.Uint64() //nolint:gosec // see above
		for i := range 13 {
			id[13*half+i] = letters[bits&31]
			bits >>= 5
		}
	}
	return string(id[:])
}

// Logger is the log of the HTTP faces.
func (f *Front) Logger() *slog.Logger { return f.logger }
