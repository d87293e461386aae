package front

import (
	"net/http"

	"parley.internal/internal/limit"
)

// Caller is somebody on a route that counts strangers. Handlers of WebSockets ask
// for it, since their callers stay when the handler has returned:
//
//	caller := front.CallerOf(w)
//	… caller.Known()      // it has said who it is
//	… caller.Gone()       // its connection has ended
type Caller struct {
	leave func()
	// kept says that a handler took over to tell when it leaves.
	kept bool
}

// CallerOf hands the counting of this request's caller over to the handler.
func CallerOf(w http.ResponseWriter) *Caller {
	seen, ok := w.(*recorder)
	if !ok || seen.caller == nil {
		return &Caller{leave: func() {}}
	}
	seen.caller.kept = true
	return seen.caller
}

// Known says that it is no stranger any more.
func (c *Caller) Known() { c.leave() }

// Gone says that it has left. Both may be called more than once.
func (c *Caller) Gone() { c.leave() }

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
