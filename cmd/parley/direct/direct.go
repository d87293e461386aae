// Package direct reaches a hub that is opened in this process, without a socket.
package direct

import (
	"io"
	"net/http"
	"sync"
)

// Transport leads into a handler of this process. Answers stream.
type Transport struct{ Handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (d Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr, r.Host = "127.0.0.1:0", "127.0.0.1"
	if r.Body == nil {
		r.Body = http.NoBody
	}
	body, w := io.Pipe()
	answer := &writer{header: http.Header{}, body: w, started: make(chan struct{})}
	go func() {
		defer func() {
			// A handler cuts its answer by panicking; the reader must see that.
			cut := recover()
			answer.WriteHeader(http.StatusOK)
			if cut != nil {
				_ = w.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			_ = w.Close()
		}()
		d.Handler.ServeHTTP(answer, r)
	}()
	<-answer.started
	return &http.Response{
		StatusCode: answer.status, Status: http.StatusText(answer.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

type writer struct {
	header, sent http.Header
	body         *io.PipeWriter
	status       int
	once         sync.Once
	started      chan struct{}
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}
