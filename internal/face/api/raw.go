package api

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"parley/internal/face/front"
	"parley/internal/identity"
)

// rawRoute is a route that writes its answer itself: files, live streams, and what has a wire form of
// its own.
type rawRoute struct {
	route
	ContentType string
}

// pathParameters are the names between braces of a path.
func pathParameters(path string) (out []*huma.Param) {
	for part := range strings.SplitSeq(path, "/") {
		name, ok := strings.CutPrefix(part, "{")
		name, closed := strings.CutSuffix(name, "}")
		if ok && closed {
			out = append(out, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
		}
	}
	return out
}

// addRaw registers such a route, with authentication, and documents it.
func addRaw(a *API, rt rawRoute, handle func(w http.ResponseWriter, r *http.Request, who identity.Actor) error) {
	a.door.routes.HandleFunc(a.door.declare(rt.route), func(w http.ResponseWriter, r *http.Request) {
		who, _ := front.Admitted(r.Context())
		if err := handle(w, r, who); err != nil {
			a.front.Fail(w, r, err)
		}
	})
	op := rt.operation()
	op.Path = strings.ReplaceAll(op.Path, "...}", "}") // the mux's own sign for the rest of a path
	op.OperationID = operationID(op.Method, op.Path)
	op.Parameters = pathParameters(op.Path)
	op.Responses = map[string]*huma.Response{strconv.Itoa(cmp.Or(rt.Status, http.StatusOK)): {Description: rt.Summary, Content: map[string]*huma.MediaType{rt.ContentType: {}}}}
	a.huma.OpenAPI().AddOperation(&op)
}

// RegisterBackup adds the backup of everything.
func RegisterBackup(a *API, backup func(ctx context.Context, w io.Writer) error) {
	rt := rawRoute{route{Method: "POST", Path: "/api/backup", Scope: identity.Admin, Tag: "hub", Summary: "A backup of everything the hub keeps"}, "application/gzip"}
	addRaw(a, rt, func(w http.ResponseWriter, r *http.Request, _ identity.Actor) error {
		w.Header().Set("Content-Type", "application/gzip")
		w.Header().Set("Content-Disposition", `attachment; filename="parley-backup.tar.gz"`)
		w.Header().Set("Cache-Control", "no-store")
		if err := backup(r.Context(), w); err != nil {
			a.front.Logger().ErrorContext(r.Context(), "backup failed", "request_id", front.RequestID(r.Context()), "error", err)
			// The answer has begun: cutting it is the only honest way to say so.
			panic(http.ErrAbortHandler)
		}
		return nil
	})
}
