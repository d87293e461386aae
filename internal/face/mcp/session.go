package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/identity"
)

// Session is what a client's calls share: an MCP session of the older revisions,
// or one running stdio bridge.
type Session struct {
	ctx    context.Context
	cancel context.CancelFunc
	live   *identity.Live

	mu     sync.Mutex
	values map[any]any
	onEnd  []func()
	ended  bool
}

func newSession() *Session {
	ctx, cancel := context.WithCancel(context.Background())
	return &Session{ctx: ctx, cancel: cancel, values: map[any]any{}}
}

// Context ends with the session.
func (s *Session) Context() context.Context { return s.ctx }

// Value is what was stored under a key, or nil.
func (s *Session) Value(key any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// Store keeps a value until the session ends.
func (s *Session) Store(key, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

// OnEnd calls f once when the session ends, at once if it has.
func (s *Session) OnEnd(f func()) {
	s.mu.Lock()
	if !s.ended {
		s.onEnd = append(s.onEnd, f)
		f = nil
	}
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// end cancels what runs in the session and tells whoever wants to know.
func (s *Session) end() {
	s.mu.Lock()
	tell := s.onEnd
	s.ended, s.onEnd = true, nil
	s.mu.Unlock()
	s.cancel()
	if s.live != nil {
		s.live.Release()
	}
	for _, f := range tell {
		f()
	}
}

// errTooManySessions refuses one more session of a token.
var errTooManySessions = errors.New("too many sessions of this token; end one, or wait until an idle one ends")

// begin follows an MCP session to its end.
func (f *Face) begin(ss *sdk.ServerSession, who identity.Actor) {
	s := newSession()
	s.live = f.d.People.Track(who, func(identity.Reason) {
		// What runs is cancelled first: closing waits for it.
		s.cancel()
		_ = ss.Close()
	})
	f.mu.Lock()
	if f.closing || f.sessions[ss] != nil {
		f.mu.Unlock()
		s.end()
		return
	}
	f.sessions[ss] = s
	f.perToken[ownerOf(who)]++
	f.work.Add(1)
	f.mu.Unlock()
	go func() {
		defer f.work.Done()
		_ = ss.Wait()
		f.mu.Lock()
		delete(f.sessions, ss)
		f.forget(ownerOf(who))
		f.mu.Unlock()
		s.end()
	}()
}

// forget takes a session off its token's count; mu is held.
func (f *Face) forget(owner string) {
	if f.perToken[owner]--; f.perToken[owner] <= 0 {
		delete(f.perToken, owner)
	}
}

// full reports whether a token may not begin another session.
func (f *Face) full(who identity.Actor) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.perToken[ownerOf(who)] >= f.limits.SessionsPerToken || len(f.sessions)+len(f.links) >= f.limits.Sessions
}

// ownerOf is whom a session belongs to: the credential, not the person, so that
// a narrower token cannot step into a wider one's session.
func ownerOf(who identity.Actor) string {
	if who.TokenID != "" {
		return who.TokenID
	}
	return string(who.Person.Kind) + ":" + who.Person.ID
}

// LinkHeader is how a stdio bridge tells its requests from those of others: a
// random text, the same for as long as the bridge runs.
const LinkHeader = "Parley-Stdio-Link"

// linkKey makes one bridge's text worthless with another token or path.
type linkKey struct{ owner, path, id string }

// link is a bridge's session; it ends when the bridge says so or has been idle.
type link struct {
	*Session
	busy int
	idle *time.Timer
}

// useLink finds or begins the session of a bridge and keeps it from ending until
// release is called.
func (f *Face) useLink(key linkKey, who identity.Actor) (s *Session, release func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.links[key]
	if l == nil {
		if f.closing || f.perToken[key.owner] >= f.limits.SessionsPerToken || len(f.sessions)+len(f.links) >= f.limits.Sessions {
			return nil, nil, errTooManySessions
		}
		l = &link{Session: newSession()}
		l.live = f.d.People.Track(who, func(identity.Reason) { f.endLink(key) })
		f.links[key] = l
		f.perToken[key.owner]++
	}
	l.busy++
	if l.idle != nil {
		l.idle.Stop()
	}
	return l.Session, func() { f.releaseLink(key, l) }, nil
}

func (f *Face) releaseLink(key linkKey, l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.busy--; l.busy == 0 && f.links[key] == l {
		l.idle = time.AfterFunc(f.limits.Idle, func() { f.expireLink(key, l) })
	}
}

func (f *Face) expireLink(key linkKey, l *link) {
	f.mu.Lock()
	quiet := l.busy == 0 && f.links[key] == l
	f.mu.Unlock()
	if quiet {
		f.endLink(key)
	}
}

// endLink ends a bridge's session.
func (f *Face) endLink(key linkKey) {
	f.mu.Lock()
	l := f.links[key]
	if l != nil {
		delete(f.links, key)
		f.forget(key.owner)
		if l.idle != nil {
			l.idle.Stop()
		}
	}
	f.mu.Unlock()
	if l != nil {
		l.end()
	}
}
