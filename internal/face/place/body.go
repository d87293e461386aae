package place

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"parley/protocol/mmp"
)

// readBody reads at most limit bytes. Of what is too large some more is thrown
// away, so that a client that writes before it reads gets its answer.
func readBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) && r.ContentLength > int64(limit)+mmp.MaxDrain {
		w.Header().Set("Connection", "close")
		return nil, mmp.ErrBodyTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	if err != nil {
		return nil, mmp.ErrInvalidJSON
	}
	if len(body) <= limit {
		return body, nil
	}
	if n, _ := io.Copy(io.Discard, io.LimitReader(r.Body, mmp.MaxDrain)); n == mmp.MaxDrain {
		w.Header().Set("Connection", "close")
	}
	return nil, mmp.ErrBodyTooLarge
}

func (f *Face) write(w http.ResponseWriter, status int, body any) {
	encoded, err := mmp.Encode(body)
	if err != nil {
		f.d.Log.Error("an answer of the place cannot be written", "error", err)
		status, encoded = http.StatusInternalServerError, []byte(`{"error":"Internal server error","code":"internal_error","message":"Internal server error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // who is gone is gone
}

// fail answers with the protocol's error; what is none of it is logged and named
// internal.
func (f *Face) fail(w http.ResponseWriter, r *http.Request, err error, first bool) {
	if rejected, ok := errors.AsType[*mmp.Rejection](err); ok {
		f.write(w, rejected.Refusal.Status, rejected.Body())
		return
	}
	refusal, ok := errors.AsType[mmp.Error](err)
	switch {
	case ok:
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return // nobody is there to read it
	case errors.Is(err, context.DeadlineExceeded):
		refusal = mmp.ErrStorage
	default:
		f.d.Log.ErrorContext(r.Context(), "a request to the place failed", "path", r.URL.Path, "error", err)
		refusal = mmp.ErrInternal
	}
	if refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	}
	if refusal.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="place"`)
	}
	f.write(w, refusal.Status, refusal.Body(first))
}
