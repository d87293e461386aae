package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"parley.internal/internal/face/front"
	"parley.internal/internal/fit"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// API serves the REST routes.
type API struct {
	front *front.Front
	huma  huma.API
	// document describes routes that read and write by themselves.
	document huma.API
	door     *door
}

// New makes the face among the hub's routes; subjects are added by their Register
// functions.
func New(routes *front.Routes, f *front.Front, version string) *API {
	useProblems()
	conf := huma.DefaultConfig("Parley", version)
	conf.OpenAPIPath = "/api/openapi"
	conf.DocsPath = ""
	conf.SchemasPath = ""
	conf.CreateHooks = nil // no $schema links in answers
	conf.Info.Description = "One hub where people and AI agents meet, talk and work, under consent."
	conf.Components.Schemas = schemas()
	conf.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":  {Type: "http", Scheme: "bearer", Description: "a token made by 'parley token create'"},
		"cookie": {Type: "apiKey", In: "cookie", Name: front.CookieName, Description: "the page's session; changes also need the header " + front.CSRFHeader},
	}
	d := newDoor(routes)
	a := &API{front: f, door: d, huma: humago.New(d, conf)}
	a.document = huma.NewAPI(huma.Config{OpenAPI: a.huma.OpenAPI(), Formats: conf.Formats, DefaultFormat: conf.DefaultFormat}, paper{})
	routes.HandleFunc(front.Route{Pattern: "/api/", Who: front.Stranger, Body: front.Nothing}, a.unknown)
	return a
}

// Document is the description of the whole face, as /api/openapi.json has it.
func (a *API) Document() ([]byte, error) { return a.huma.OpenAPI().MarshalJSON() }

// unknown answers for /api paths nobody registered.
func (a *API) unknown(w http.ResponseWriter, r *http.Request) {
	a.front.Fail(w, r, front.NewProblem(http.StatusNotFound, "not_found", "there is no such route; see /api/openapi.json", nil))
}

// The REST library makes its own errors through package variables; they are
// pointed at ours once.
var problemsOnce sync.Once

func useProblems() {
	problemsOnce.Do(func() {
		huma.NewError = newError
		huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
			p := newError(status, msg, errs...)
			if known, ok := p.(*front.Problem); ok {
				known.RequestID = front.RequestID(ctx.Context())
			}
			return p
		}
	})
}

// newError turns the library's own refusals (bad JSON, a missing field) into
// problems with a code.
func newError(status int, msg string, errs ...error) huma.StatusError {
	codes := map[int]string{
		http.StatusBadRequest: "bad_request", http.StatusUnprocessableEntity: "bad_request", http.StatusNotFound: "not_found",
		http.StatusRequestEntityTooLarge: "too_large", http.StatusUnsupportedMediaType: "unsupported_media_type",
		http.StatusNotAcceptable: "not_acceptable", http.StatusRequestTimeout: "timeout",
	}
	if _, ok := errors.AsType[*http.MaxBytesError](errors.Join(errs...)); ok {
		// The front refused to read it; the library only knows that it could not.
		status, msg, errs = http.StatusRequestEntityTooLarge, "the request is too large", nil
	}
	code, ok := codes[status]
	if !ok {
		code = "internal_error"
	}
	// A body that does not fit is the caller's mistake in every case: 400.
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	if status < http.StatusInternalServerError {
		for _, err := range errs {
			msg += ": " + complaint(err)
		}
	}
	return front.NewProblem(status, code, msg, errors.Join(errs...))
}

// complaint says what is wrong and where. The library would repeat the value
// too, which may be a whole request, or a secret.
func complaint(err error) string {
	d, ok := errors.AsType[*huma.ErrorDetail](err)
	if !ok {
		return fit.OneLine(err.Error())
	}
	if d.Location == "" {
		return d.Message
	}
	return d.Message + " (" + d.Location + ")"
}

// access says who may use an operation, and how much of it.
type access struct {
	// Scope is what the caller needs; empty for any authenticated caller.
	Scope string
	Tag   string
	// MaxBody limits the request; 0 for 1 MiB.
	MaxBody int64
	// Public routes do not ask who the caller is.
	Public bool
	// Pages are the websites whose pages may call it, beside the hub's own.
	Pages front.Pages
	// PerMinute is how often one network may call a public route; 0 for 600.
	PerMinute int
}

// route is an operation behind its access.
type route struct {
	access
	method, path, summary string
	status                int
}

func routeOf[In, Out any](to access, op rest.Operation[In, Out]) route {
	return route{to, op.Method, op.Path, op.Summary, op.Status}
}

func (rt route) operation() huma.Operation {
	path := strings.ReplaceAll(rt.path, "...}", "}") // the mux's own sign for the rest of a path
	op := huma.Operation{
		Method: rt.method, Path: path, Summary: rt.summary, Tags: []string{rt.Tag}, DefaultStatus: rt.status,
		OperationID: operationID(rt.method, path), MaxBodyBytes: rt.maxBody(),
	}
	if rt.Public {
		op.Security = []map[string][]string{{}} // says that none is needed
	} else {
		op.Security = []map[string][]string{{"token": {}}, {"cookie": {}}}
		op.Description = "Needs the scope `" + rt.Scope + "`."
		if rt.Scope == "" {
			op.Description = "Any authenticated caller."
		}
	}
	return op
}

// operationID reads "get-tokens-id-rotate".
func operationID(method, path string) string {
	words := strings.FieldsFunc(strings.TrimPrefix(path, "/api"), func(r rune) bool { return r == '/' || r == '{' || r == '}' })
	return strings.ToLower(method) + "-" + strings.Join(words, "-")
}

// handler does what an operation says; it is told who calls.
type handler[In, Out any] func(ctx context.Context, who identity.Actor, in *In) (Out, error)

// add registers an operation. Package rest says of each request whether it is a body as a
// whole or has fields; here that must be known when it is compiled, so there is addBody.
func add[In, Out any](a *API, to access, op rest.Operation[In, Out], handle handler[In, Out]) {
	if op.IsBody() {
		panic("api: the request of " + op.Method + " " + op.Path + " is a body: addBody")
	}
	through(a, routeOf(to, op), reflect.TypeFor[Out](), func(ctx context.Context, who identity.Actor, in *In) (any, error) {
		return handle(ctx, who, in)
	})
}

// addBody registers an operation whose request is a body as a whole.
func addBody[In, Out any](a *API, to access, op rest.Operation[In, Out], handle handler[In, Out]) {
	type request struct{ Body In }
	through(a, routeOf(to, op), reflect.TypeFor[Out](), func(ctx context.Context, who identity.Actor, in *request) (any, error) {
		return handle(ctx, who, &in.Body)
	})
}

// through has the library read requests and write answers.
func through[In any](a *API, rt route, answers reflect.Type, handle handler[In, any]) {
	a.door.declare(rt)
	o := rt.operation()
	o.Middlewares = huma.Middlewares{func(c huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(c)
		next(huma.WithValue(c, callKey{}, &call{w: w, r: r}))
	}}
	register(a.huma, o, answers, func(ctx context.Context, in *In) (*answer, error) {
		who, _ := front.Admitted(ctx) // nobody, if the route is public
		out, err := handle(ctx, who, in)
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		if answers == noAnswer {
			return nil, nil //nolint:nilnil // the library's way to say that there is no body
		}
		return &answer{out}, nil
	})
}

// answer is what the library writes. It is one type for all operations, because the library's
// code is compiled once for each pair of types: with the answers' own types this package took
// the compiler a minute and two gigabytes.
type answer struct{ Body any }

var noAnswer = reflect.TypeFor[rest.None]()

// register makes an operation known to the library, and its answer's type to the document.
func register[In any](to huma.API, op huma.Operation, answers reflect.Type, handle func(context.Context, *In) (*answer, error)) {
	if op.DefaultStatus == 0 {
		op.DefaultStatus = http.StatusOK
		if answers == noAnswer {
			op.DefaultStatus = http.StatusNoContent
		}
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	status := strconv.Itoa(op.DefaultStatus)
	response := op.Responses[status]
	if response == nil {
		response = &huma.Response{Description: http.StatusText(op.DefaultStatus)}
		op.Responses[status] = response
	}
	none := answers == noAnswer && response.Content == nil
	if !none && response.Content == nil {
		schema := huma.SchemaFromField(to.OpenAPI().Components.Schemas, reflect.StructField{Name: "Body", Type: answers}, op.OperationID+"Response")
		response.Content = map[string]*huma.MediaType{"application/json": {Schema: schema}}
	}
	huma.Register(to, op, handle)
	if none {
		response.Content = nil
	}
}

// call is the raw request behind a handler, for cookies and addresses.
type call struct {
	w http.ResponseWriter
	r *http.Request
	// status is that of the answer, where it depends.
	status int
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		panic("api: not a request of this face")
	}
	return c
}

// keepNowhere says that an answer with a secret is for its reader only.
func keepNowhere(ctx context.Context) { callOf(ctx).w.Header().Set("Cache-Control", "no-store") }

// problem finds what the client may see; what it may not goes to the log.
func (a *API) problem(ctx context.Context, err error) error {
	p := *a.front.Problem(err)
	p.RequestID = front.RequestID(ctx)
	if level, logged := p.Level(); logged {
		a.front.Logger().Log(ctx, level, "request failed", "request_id", p.RequestID, "error", err)
	}
	return &p
}
