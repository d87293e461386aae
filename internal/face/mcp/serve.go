package mcp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
)

// caller is what the HTTP side knows of a request.
type caller struct {
	who   identity.Actor
	link  *Session
	parts []string // whose tools its address asks to list
}

// callerKey is where the library carries a caller to the tool.
const callerKey = "parley"

type callerContext struct{}

// ServeHTTP lets a request in: who, whether, and to which handler.
func (p *path) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, err := p.admit(r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	parts, err := p.wished(r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	// Streams that only listen are bounded by the sessions they belong to.
	if r.Method == http.MethodPost {
		done, err := p.face.enter(who)
		if err != nil {
			p.refuse(w, r, err)
			return
		}
		defer done()
	}
	w.Header().Set("X-Accel-Buffering", "no") // proxies that gather answers would hold back progress
	// A token that is revoked takes its requests with it.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	live := p.face.d.People.Track(who, func(identity.Reason) { cancel() })
	defer live.Release()
	c := caller{who: who, parts: parts}
	if id := r.Header.Get(LinkHeader); id != "" {
		release, ended, err := p.link(r, id, &c)
		if err != nil || ended {
			p.linkAnswer(w, r, err)
			return
		}
		defer release()
	}
	p.pass(w, r.WithContext(context.WithValue(ctx, callerContext{}, c)), who)
}

// pass gives the request to the handler of its revision.
func (p *path) pass(w http.ResponseWriter, r *http.Request, who identity.Actor) {
	kind, m, err := p.face.kindOf(w, r)
	switch {
	case err != nil:
		p.refuse(w, r, err)
	case kind == standsAlone:
		p.alone.ServeHTTP(w, r)
	case m.unknown():
		m.answerUnknown(w)
	case kind == beginsSession && p.face.full(who):
		p.refuse(w, r, errTooManySessions)
	default:
		p.sessions.ServeHTTP(w, r)
	}
}

// link joins the request to its bridge's session. A DELETE ends it.
func (p *path) link(r *http.Request, id string, c *caller) (release func(), ended bool, err error) {
	if len(id) < 16 || len(id) > 128 {
		return nil, false, front.NewProblem(http.StatusBadRequest, "invalid", LinkHeader+" is 16 to 128 characters", nil)
	}
	key := linkKey{ownerOf(c.who), p.name, id}
	if r.Method == http.MethodDelete && r.Header.Get(sessionHeader) == "" {
		p.face.endLink(key)
		return nil, true, nil
	}
	c.link, release, err = p.face.useLink(key, c.who)
	return release, false, err
}

func (p *path) linkAnswer(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// admit tells who calls, by bearer token and nothing else.
func (p *path) admit(r *http.Request) (identity.Actor, error) {
	if _, ok := front.Bearer(r); !ok {
		return identity.Actor{}, &identity.AuthError{Reason: identity.Unknown}
	}
	who, err := p.face.d.Front.Actor(r)
	if err != nil {
		return who, err
	}
	who = who.OverMCP("")
	if !slices.ContainsFunc(p.scopes, who.Scopes.Has) && !p.mayUseAny(who) {
		return who, p.face.d.Front.Need(r, who, p.scopes[0])
	}
	return who, nil
}

// mayUseAny looks at tools that decide themselves.
func (p *path) mayUseAny(who identity.Actor) bool {
	for _, t := range p.tools {
		if t.May != nil && t.May(&Call{Who: who}) == nil {
			return true
		}
	}
	return false
}

// errBusy refuses one more request of a token at a time.
var errBusy = errors.New("too many requests of this token at a time")

// enter counts a request while it lasts.
func (f *Face) enter(who identity.Actor) (done func(), err error) {
	owner := ownerOf(who)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[owner] >= f.limits.Requests {
		return nil, errBusy
	}
	f.running[owner]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.running[owner]--; f.running[owner] == 0 {
			delete(f.running, owner)
		}
	}, nil
}

// withToken tells the library who the caller is, so that it holds sessions to
// their owner and hands the caller to the tools.
func withToken(next http.Handler) http.Handler {
	known := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		c, ok := ctx.Value(callerContext{}).(caller)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: ownerOf(c.who), Scopes: c.who.Scopes.Sorted(), Extra: map[string]any{callerKey: c}}, nil
	}
	// Expiry was judged already, by somebody who knows of sliding ends.
	return auth.RequireBearerToken(known, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// retryAfter is what a client is asked to wait when it is too busy.
const retryAfter = time.Second
