package fleet

import (
	"errors"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/protocol/kenny"
)

// gate is what one connection may send. Only its reading goroutine uses it; the
// limiters are made when they are first needed, so that idle machines stay small.
type gate struct {
	telemetry, logs *rate.Limiter
	bad             []time.Time // of the last minute
	complained      time.Time
}

// Rates of pushes per machine; the excess is dropped and counted.
const (
	telemetryRate, telemetryBurst = 2, 200
	logRate, logBurst             = 50, 500
	// badWindow is the time in which bad frames add up.
	badWindow = time.Minute
)

func (g *gate) allowTelemetry() bool {
	if g.telemetry == nil {
		g.telemetry = rate.NewLimiter(telemetryRate, telemetryBurst)
	}
	return g.telemetry.Allow()
}

func (g *gate) allowLog() bool {
	if g.logs == nil {
		g.logs = rate.NewLimiter(logRate, logBurst)
	}
	return g.logs.Allow()
}

// Receive takes one text message. data is only read during the call.
func (s *Session) Receive(data []byte) {
	s.heard.Store(time.Now().UnixNano())
	frame, err := kenny.DecodeFromMachine(data)
	if err != nil {
		s.badFrame(err)
		return
	}
	if !s.current() {
		s.f.stats.drop("stale")
		return
	}
	result := "ok"
	switch fr := frame.(type) {
	case *kenny.Response:
		s.answered(fr)
	case *kenny.Telemetry:
		result = s.pushed(fr)
	case *kenny.Log:
		result = s.logged(fr)
	case *kenny.Ping:
		_ = s.link.SendNewest("pong", pongFrame) // a closed link tells the face
	}
	s.f.stats.frame(string(frame.Type()), result)
}

// Binary takes note of a binary message, which means nothing in this protocol.
func (s *Session) Binary() {
	s.heard.Store(time.Now().UnixNano())
	s.badFrame(&kenny.FrameError{Kind: kenny.ErrInvalidFrame, Reason: "a binary message"})
}

// Oversize takes note of a message that is skipped while it is read. If its head
// shows whose answer it is, that call need not wait.
func (s *Session) Oversize(head []byte, size int64) {
	s.heard.Store(time.Now().UnixNano())
	s.f.stats.frame("oversized", "dropped")
	s.f.stats.drop("oversized")
	s.complain("a message of more than 8 MiB was dropped", map[string]any{"bytes": size})
	if id, ok := kenny.PeekResponse(head); ok {
		s.deliver(id, outcome{err: fault.Errorf(fault.TooLarge, "the machine's answer has more than %d bytes", kenny.MaxResponse)})
	}
}

// badFrame counts what cannot be understood. Frames of a later protocol and
// oversized ones never end a session, the others do when they pile up.
func (s *Session) badFrame(err error) {
	typ := "unknown"
	if fe, ok := errors.AsType[*kenny.FrameError](err); ok && fe.Type != "" && !errors.Is(err, kenny.ErrUnknownType) {
		typ = string(fe.Type)
	}
	switch {
	case errors.Is(err, kenny.ErrUnknownType):
		s.f.stats.frame("unknown", "dropped")
		s.f.stats.drop("unknown_type")
		return
	case errors.Is(err, kenny.ErrTooLarge):
		s.f.stats.frame(typ, "dropped")
		s.f.stats.drop("oversized")
		s.complain("an oversized frame was dropped", map[string]any{"error": err.Error()})
		return
	}
	s.f.stats.frame(typ, "bad")
	s.f.stats.drop("bad_frame")
	s.complain("a bad frame was dropped", map[string]any{"error": err.Error()})
	now := time.Now()
	kept := s.gate.bad[:0]
	for _, at := range s.gate.bad {
		if now.Sub(at) < badWindow {
			kept = append(kept, at)
		}
	}
	s.gate.bad = append(kept, now)
	if len(s.gate.bad) >= s.f.d.Limits.BadFrames {
		s.close(kenny.CloseBadFrames, "too many bad frames")
	}
}

// complain leaves one event in ten seconds about what was dropped.
func (s *Session) complain(message string, fields map[string]any) {
	now := time.Now()
	if now.Sub(s.gate.complained) < 10*time.Second {
		return
	}
	s.gate.complained = now
	s.f.events.Hub(s.m.id, kenny.LevelWarn, "frame", message, fields)
}

// own refuses a push that claims to be of another machine: it never touches that
// machine's data.
func (s *Session) own(claimed string, typ kenny.Type) bool {
	if claimed == s.m.id {
		return true
	}
	s.f.stats.drop("foreign_id")
	s.f.events.Put(telemetry.Event{
		Machine: s.m.id, Source: "hub", Kind: "audit", Level: kenny.LevelError, Target: "security",
		Message: "a frame claimed to be of another machine and was dropped", Fields: telemetry.Fields(map[string]any{"claimed": claimed, "type": string(typ)}),
	})
	s.note(audit.FleetForeignFrame, "refused", map[string]any{"claimed": claimed, "type": string(typ), "address": s.address})
	return false
}

func (s *Session) pushed(t *kenny.Telemetry) string {
	switch {
	case !s.own(t.AgentID, kenny.TypeTelemetry):
		return "foreign"
	case !s.gate.allowTelemetry():
		s.f.stats.drop("telemetry_rate")
		s.complain("telemetry came too fast and was dropped", nil)
		return "dropped"
	case !s.f.ingest.put(s, t.CollectedAt, t.Snapshot):
		return "dropped"
	}
	return "ok"
}

func (s *Session) logged(l *kenny.Log) string {
	switch {
	case !s.own(l.AgentID, kenny.TypeLog):
		return "foreign"
	case !s.gate.allowLog():
		s.f.stats.drop("log_rate")
		return "dropped"
	}
	sent, _ := l.At.Time() // the codec has checked it
	e := telemetry.Event{
		Sent: sent, Machine: s.m.id, Source: "machine", Kind: "log", Level: l.Level, Target: s.f.d.Mask.Text(fit.Cut(fit.Storable(l.Target), 256)),
		Message: s.f.d.Mask.Text(fit.Cut(fit.Storable(l.Message), kenny.MaxLogMessage)), Fields: s.f.d.Mask.JSON(l.Fields),
	}
	if len(l.Fields) > kenny.MaxLogFields {
		e.Fields = telemetry.Fields(map[string]any{"dropped": "fields were larger than the hub keeps", "bytes": len(l.Fields)})
	}
	if c := l.Control(); c != "" {
		s.controlled(c)
	}
	if !s.f.events.Put(e) {
		return "dropped"
	}
	return "ok"
}
