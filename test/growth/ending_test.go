//go:build linux

package growth_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"pgregory.net/rapid"

	"parley.internal/client/viber"
)

// socket is something live that was opened with a credential.
type socket struct {
	what   string
	closed func() bool
}

// Watch opens something that stays open.
func (r *run) Watch(*rapid.T) {
	by := r.usable("by")
	ways := []string{"events"}
	if by.kind != "page" {
		ways = append(ways, "talk", "board")
	}
	switch way := r.draw("way", ways...); way {
	case "events":
		r.watchEvents(by)
	case "talk":
		if client := r.talk(by); client != nil {
			by.sockets = append(by.sockets, &socket{way, func() bool {
				ctx, cancel := r.ctx()
				defer cancel()
				return client.Ping(ctx) != nil
			}})
		}
	case "board":
		if client := r.board(viber.Options{Token: by.secret}); client != nil {
			by.sockets = append(by.sockets, &socket{way, func() bool {
				select {
				case <-client.Done():
					return true
				default:
					return false
				}
			}})
		}
	}
}

func (r *run) watchEvents(by *credential) {
	ctx, cancel := context.WithCancel(r.world.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/api/events", nil)
	r.check(err)
	by.sign(req)
	client := r.client()
	client.Timeout = 0
	res, err := client.Do(req)
	r.check(err)
	var closed atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, res.Body)
		closed.Store(true)
	}()
	r.cleanup = append(r.cleanup, func() { cancel(); <-done; _ = res.Body.Close() })
	by.sockets = append(by.sockets, &socket{"events", closed.Load})
}

// End has one credential end another: then everything made with that has ended.
func (r *run) End(t *rapid.T) {
	by, other := r.usable("by"), rapid.SampledFrom(r.there).Draw(t, "which")
	if other.id == "" || other.dead {
		return
	}
	if a := r.end(by, other); a.status/100 == 2 && !by.mayEnd(other) {
		t.Fatalf("%s ended %s\nby holds %v\nthe other %v", by, other, by.scopes, other.scopes)
	} else if a.status/100 == 2 {
		r.hasEnded(other)
	}
}

func (r *run) end(by, other *credential) answer {
	path := "/api/tokens/"
	if other.kind == "passkey" {
		path = "/api/passkeys/"
	}
	return r.rest(by, "DELETE", path+other.id, nil)
}

// hasEnded looks whether everything that came from a credential is refused and closed.
func (r *run) hasEnded(ended *credential) {
	r.t.Helper()
	for _, c := range r.there {
		if c.dead || !c.from(ended) {
			continue
		}
		c.dead = true
		for _, s := range c.sockets {
			r.eventually("what "+c.String()+" opened is closed: "+s.what, s.closed)
		}
		if c.kind != "passkey" {
			r.isWithin(c)
			continue
		}
		if a := r.passkeyLogin(c); a.status/100 == 2 {
			r.t.Fatalf("%s was made with what has ended, and logs in: %s", c, a.body)
		}
	}
}
