package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// writer answers a request itself.
type writer func(w http.ResponseWriter, r *http.Request, who identity.Actor) error

// addRaw registers an operation whose handler reads and writes: files, live streams, and what has
// a wire form of its own.
func addRaw[In, Out any](a *API, to access, op rest.Operation[In, Out], handle writer) {
	rt := routeOf(to, op)
	a.door.routes.HandleFunc(a.door.declare(rt), func(w http.ResponseWriter, r *http.Request) {
		who, _ := front.Admitted(r.Context())
		if err := handle(w, r, who); err != nil {
			a.front.Fail(w, r, err)
		}
	})
	describe(a, rt, op)
}

// dialect is the JSON of one protocol.
type dialect struct {
	// read fills v from a body.
	read func(data []byte, v any) error
	// write makes an answer of v.
	write func(v any) ([]byte, error)
	// problem is what a client sees of a failure; badRequest is the code of a field that is none.
	problem    func(error) error
	badRequest string
}

// addWire registers an operation that speaks a dialect.
func addWire[In, Out any](a *API, d dialect, to access, op rest.Operation[In, Out], handle handler[In, Out]) {
	addRaw(a, to, op, func(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
		in := new(In)
		if err := d.decode(r, in, op.IsBody()); err != nil {
			return d.problem(err)
		}
		c := &call{w: w, r: r, status: op.Status}
		out, err := handle(context.WithValue(r.Context(), callKey{}, c), who, in)
		if err != nil {
			return d.problem(err)
		}
		return d.answer(c, out)
	})
}

// decode reads a request from its address and its body.
func (d dialect) decode(r *http.Request, in any, isBody bool) error {
	body, err := in, error(nil)
	if !isBody {
		body, err = rest.Decode(in, func(where, name string) string {
			switch where {
			case "path":
				return r.PathValue(name)
			case "query":
				return r.URL.Query().Get(name)
			}
			return r.Header.Get(name)
		})
	}
	if bad, ok := errors.AsType[*rest.BadFieldError](err); ok {
		return front.NewProblem(http.StatusBadRequest, d.badRequest, bad.Error(), nil)
	}
	if body == nil || err != nil {
		return err
	}
	if stream, ok := body.(*io.Reader); ok {
		*stream = r.Body
		return nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return d.read(data, body)
}

// answer writes an answer; none has no body.
func (d dialect) answer(c *call, out any) error {
	if out == any(rest.None{}) {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	data, err := d.write(out)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(max(c.status, http.StatusOK))
	_, _ = c.w.Write(append(data, '\n')) // the client left
	return nil
}

// RegisterBackup adds the backup of everything.
func RegisterBackup(a *API, backup func(ctx context.Context, w io.Writer, passphrase []byte) error) {
	addRaw(a, access{Scope: identity.Admin, Tag: "hub"}, rest.Backup, func(w http.ResponseWriter, r *http.Request, _ identity.Actor) error {
		var in rest.BackupRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			return front.NewProblem(http.StatusBadRequest, "invalid", "the body is no JSON object with a passphrase", err)
		}
		w.Header().Set("Content-Type", "application/gzip")
		w.Header().Set("Content-Disposition", `attachment; filename="parley-backup.tar.gz"`)
		w.Header().Set("Cache-Control", "no-store")
		if err := backup(r.Context(), w, []byte(in.Passphrase)); err != nil {
			a.front.Logger().ErrorContext(r.Context(), "backup failed", "request_id", front.RequestID(r.Context()), "error", err)
			// The answer has begun: cutting it is the only honest way to say so.
			panic(http.ErrAbortHandler)
		}
		return nil
	})
}
