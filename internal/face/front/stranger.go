package front

import (
	"net/http"

	"parley.internal/internal/limit"
)

// Caller is somebody who is counted: as a stranger until it is known, and as a
// WebSocket ([Sockets]) until it is gone. Both may be said more than once.
type Caller struct {
	leave  func() // the strangers
	closed func() // leaves the open WebSockets; nil for other requests
	// kept says that a handler took over to tell when it leaves.
	kept bool
}

// callerOf hands the counting of this request's caller over to the handler.
func callerOf(w http.ResponseWriter) *Caller {
	seen, ok := w.(*recorder)
	if !ok || seen.caller == nil {
		return &Caller{leave: func() {}}
	}
	seen.caller.kept = true
	return seen.caller
}

// Known says that it is no stranger any more.
func (c *Caller) Known() { c.leave() }

// Gone says that its connection has ended.
func (c *Caller) Gone() {
	c.leave()
	if c.closed != nil {
		c.closed()
	}
}

// enter counts a caller in, unless its credential shows that it is no stranger:
// however many strangers wait, people come in.
func (e *entrance) enter(w http.ResponseWriter, r *http.Request) (*Caller, error) {
	if e.strangers == nil || e.front.recognises(r) {
		return nil, nil
	}
	leave, err := e.strangers.Enter(Address(r), Local(r))
	if err != nil {
		return nil, err
	}
	c := &Caller{leave: leave}
	if seen, ok := w.(*recorder); ok {
		seen.caller = c
	}
	return c, nil
}

// recognises reports a valid credential. A wrong one is the handler's to refuse
// and to count.
func (f *Front) recognises(r *http.Request) bool {
	if f.people == nil {
		return false
	}
	if secret, ok := Bearer(r); ok {
		_, err := f.people.Authenticate(r.Context(), secret)
		return err == nil
	}
	cookie, err := pageCookie(r)
	if err != nil {
		return false
	}
	_, err = f.people.AuthenticatePage(r.Context(), cookie.Value)
	return err == nil
}

// Local reports whether the caller is on this machine: the socket's peer is, and
// speaks for nobody else. What a proxy forwards is never local.
func Local(r *http.Request) bool {
	proxied := Secure(r) && r.TLS == nil
	return limit.Loopback(r.RemoteAddr) && !proxied && r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Forwarded") == ""
}
