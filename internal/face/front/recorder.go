package front

import (
	"net/http"
	"runtime/debug"
	"time"
)

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	// parking may be nil; parked is not, when the answer comes later. It looks for one
	// at that time.
	parking *Parking
	parked  *Parked
	again   time.Time
	// caller is not nil while this request's caller counts as a stranger.
	caller *Caller
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection: streaming answers
// flush it, WebSockets take it over.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// SetReadDeadline leaves the deadline to the route's declaration: a library that
// sets one of its own would cut who keeps the declared pace, or let others dribble.
func (r *recorder) SetReadDeadline(time.Time) error { return nil }

// Flush and Hijack for libraries that ask for the interfaces directly.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

func stack() string { return string(debug.Stack()) }
