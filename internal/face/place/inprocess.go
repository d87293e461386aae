package place

import (
	"bytes"
	"io"
	"net/http"
)

// Transport answers calls without a connection, for agents hosted on this hub:
// they are clients like all others, and trusted no further.
func (f *Face) Transport() http.RoundTripper { return transport{f} }

type transport struct{ face *Face }

// RoundTrip waits for the whole answer; those of the place are never streams.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RemoteAddr, in.RequestURI = "127.0.0.1:0", r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &buffer{header: http.Header{}}
	t.face.ServeHTTP(w, in)
	_ = in.Body.Close()
	if err := r.Context().Err(); err != nil && w.status == 0 {
		return nil, err
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// buffer keeps an answer.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the answer's.
func (b *buffer) Header() http.Header { return b.header }

// WriteHeader keeps the first status.
func (b *buffer) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

// Write keeps the body.
func (b *buffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}
