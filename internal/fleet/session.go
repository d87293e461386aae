package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/audit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// Session is one authenticated connection of a machine. The face hands it what
// arrives, on one goroutine; calls come from anywhere.
type Session struct {
	f       *Fleet
	m       *machine
	link    Link
	address string
	key     string // the public key it proved; empty on the legacy path
	lease   *lease.Lease
	epoch   int64
	from    string // the version before this connection
	opened  time.Time
	heard   atomic.Int64

	gate gate // rates and bad frames; the reading goroutine's own

	mu      sync.Mutex
	pending map[string]chan outcome
	gone    bool
	done    chan struct{} // closed when it is over
	// delivering: somebody serves the queue; again: there is more.
	delivering, again bool
}

// outcome is the answer to a call.
type outcome struct {
	result jsontext.Value
	err    *fault.Error
}

// Gone tells how a connection ended.
type Gone struct {
	Code   kenny.CloseCode
	Reason string
	// ByPeer: the machine ended it, or the connection broke.
	ByPeer bool
}

// clean reports whether the machine said goodbye.
func (g Gone) clean() bool { return g.ByPeer && g.Code.Clean() }

func newSession(f *Fleet, m *machine, link Link, g *Greeting, key string, held *lease.Lease) *Session {
	s := &Session{
		f: f, m: m, link: link, address: g.address, key: key, lease: held, opened: time.Now(),
		pending: map[string]chan outcome{}, done: make(chan struct{}),
	}
	if held != nil {
		s.epoch = held.Epoch()
	}
	s.heard.Store(time.Now().UnixNano())
	return s
}

// ID is the machine's.
func (s *Session) ID() string { return s.m.id }

// Heard is when the machine last sent something.
func (s *Session) Heard() time.Time { return time.Unix(0, s.heard.Load()) }

// Liveness is after how much silence to ping, and to give the machine up.
func (s *Session) Liveness() (ping, silence time.Duration) {
	r := s.m.record()
	return r.ping(s.f.d.Limits), r.silence(s.f.d.Limits)
}

// Ping asks for a sign of life.
func (s *Session) Ping() { _ = s.link.SendNewest("ping", pingFrame) } // a closed link tells the face

var pingFrame, pongFrame = mustEncode(&kenny.Ping{}), mustEncode(&kenny.Pong{})

// mustEncode writes frames made here, which always fit.
func mustEncode(f kenny.Frame) []byte {
	data, err := kenny.Encode(f)
	if err != nil {
		panic("fleet: a frame made here does not encode: " + err.Error())
	}
	return data
}

// check fences a write: it fails when another hub has the machine now.
func (s *Session) check(tx *store.Tx) error {
	if s.lease == nil {
		return nil
	}
	return s.lease.Check(tx)
}

// sendPolicy queues the operator's rules and returns their revision.
func (s *Session) sendPolicy() int64 {
	r := s.f.rules.Load()
	if err := s.link.SendNewest("policy", r.frame()); err != nil {
		s.f.logger(s.m).Debug("policy not sent", "error", err)
	}
	return r.revision
}

// current reports whether this is still the machine's connection.
func (s *Session) current() bool { return s.m.current() == s }

// close ends the connection for a reason of the hub's. Its calls fail at once; the
// rest happens when the face reports the end.
func (s *Session) close(code kenny.CloseCode, reason string) {
	s.link.Close(code, reason)
	s.fail(fault.Errorf(fault.Offline, "machine disconnected during the call"))
}

// replaced ends a connection whose machine has a newer one. From here on nothing
// it says or does counts.
func (s *Session) replaced() {
	s.close(kenny.CloseReplaced, "a newer connection of this machine took over")
	s.f.sessions.Remove(s.m.id, s)
}

// fail ends every call of this connection, once.
func (s *Session) fail(why *fault.Error) {
	s.mu.Lock()
	pending := s.pending
	s.pending = nil
	if !s.gone {
		s.gone = true
		close(s.done)
	}
	s.mu.Unlock()
	for _, answer := range pending {
		answer <- outcome{err: why}
	}
}

// Ended is the face's last word about the connection. Presence changes only if it
// is still the machine's current one.
func (s *Session) Ended(how Gone) {
	s.fail(fault.Errorf(fault.Offline, "machine disconnected during the call"))
	s.f.sessions.Remove(s.m.id, s)
	s.m.mu.Lock()
	mine := s.m.session == s
	if mine {
		s.m.session = nil
		s.m.rec.lastSeen = s.Heard()
		s.m.rec.state = wasCut
		if how.clean() {
			s.m.rec.state = wasOff
		}
	}
	s.m.mu.Unlock()
	level, message := kenny.LevelWarn, fmt.Sprintf("disconnected: %s", how.text())
	if how.clean() {
		level = kenny.LevelInfo
	}
	s.f.events.Hub(s.m.id, level, "disconnect", message, map[string]any{"code": int(how.Code), "address": s.address, "connected_s": int(time.Since(s.opened).Seconds())})
	if mine {
		s.f.recordEnd(s, how)
		s.f.changed(s.m)
	}
}

func (g Gone) text() string {
	switch {
	case g.clean():
		return "the machine said goodbye"
	case g.Reason != "":
		return g.Reason
	case g.Code == 0 || g.Code == 1005 || g.Code == 1006:
		return "the connection broke"
	}
	return fmt.Sprintf("closed with %d", g.Code)
}

// recordEnd writes the end down, unless another hub has the machine by now.
func (f *Fleet) recordEnd(s *Session, how Gone) {
	state := wasCut
	if how.clean() {
		state = wasOff
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	now := store.Micros(time.Now())
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.check(tx); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE fleet_machines SET state = ?, last_seen = ?, changed_at = ? WHERE id = ? AND hub = ? AND connected_at = ?`,
			state, store.Micros(s.Heard()), now, s.m.id, f.hub, store.Micros(s.m.record().connected))
		return err
	})
	if err == nil && s.lease != nil && s.m.current() == nil {
		s.m.admit.Lock()
		defer s.m.admit.Unlock()
		if s.m.current() == nil { // nobody came back meanwhile
			err = s.lease.Release(ctx)
		}
	}
	if err != nil && !errors.Is(err, lease.ErrLost) && !errors.Is(err, store.ErrClosed) {
		f.logger(s.m).Warn("the end of a connection is not on record", "error", err)
	}
}

// writeTime bounds writes nobody waits for.
const writeTime = 10 * time.Second

// note puts something about the machine into the trail.
func (s *Session) note(action audit.Action, outcome string, detail map[string]any) {
	s.f.d.Audit.Note(audit.Entry{Actor: "machine:" + s.m.id, Action: action, Target: s.m.id, Outcome: outcome, Detail: detail})
}
