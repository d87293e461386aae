package publicnet

import (
	"net/http"
	"time"
)

// idleTime is how long a connection waits for the next request.
const idleTime = 90 * time.Second

// Client asks one address and follows no redirect: what was asked for, and perhaps
// signed, was for that address. timeout bounds a whole call; 0 leaves it to the
// caller's context.
func (g Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout, Transport: g.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport connects by the guard. It asks no proxy, which would connect in our
// place, to what we must not.
func (g Guard) Transport() *http.Transport {
	return &http.Transport{
		DialContext: g.Dial, TLSHandshakeTimeout: connectTime, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: idleTime,
	}
}
