package place

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"parley.internal/internal/face/front"
	"parley.internal/protocol/mmp"
)

// believed is how much is made ready for a body before any of it came.
const believed = 64 << 10

// readBody reads at most limit bytes. Of what is too large some more is thrown
// away, so that a client that writes before it reads gets its answer.
func readBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) && r.ContentLength > int64(limit)+mmp.MaxDrain {
		w.Header().Set("Connection", "close")
		return nil, mmp.ErrBodyTooLarge
	}
	if n := r.ContentLength; n > 0 && n <= min(believed, int64(limit)) {
		// What is announced is believed as far as it costs little.
		body := make([]byte, n)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return nil, unread(err)
		}
		_ = r.Body.Close() // the server need not look for more
		return body, nil
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(believed + bytes.MinRead)
	}
	if _, err := body.ReadFrom(io.LimitReader(r.Body, int64(limit)+1)); err != nil {
		return nil, unread(err)
	}
	if body.Len() <= limit {
		return body.Bytes(), nil
	}
	if n, _ := io.Copy(io.Discard, io.LimitReader(r.Body, mmp.MaxDrain)); n == mmp.MaxDrain {
		w.Header().Set("Connection", "close")
	}
	return nil, mmp.ErrBodyTooLarge
}

// unread says why a body could not be read.
func unread(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return mmp.ErrBodyTooLarge
	}
	if errors.Is(err, front.ErrSlow) {
		return mmp.ErrTooSlow
	}
	return mmp.ErrInvalidJSON
}

// Values that every answer has; nobody changes them.
var (
	jsonType = []string{"application/json; charset=utf-8"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

func (f *Face) write(w http.ResponseWriter, status int, body any) {
	encoded, err := mmp.Encode(body)
	if err != nil {
		f.d.Log.Error("an answer of the place cannot be written", "error", err)
		status, encoded = http.StatusInternalServerError, []byte(`{"error":"Internal server error","code":"internal_error","message":"Internal server error"}`)
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = jsonType, noStore, noSniff
	h["Content-Length"] = []string{strconv.Itoa(len(encoded))}
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
