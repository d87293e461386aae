package fleet

import (
	"slices"
	"sync"
	"time"

	"parley.internal/protocol/kenny"
)

// machine is one machine in memory: its row, and its connection if it is ours.
// The lock is never held across I/O.
type machine struct {
	id string
	// admit serialises connections of this machine; it may be held across I/O.
	admit sync.Mutex

	mu      sync.Mutex
	rec     record
	session *Session
}

func (m *machine) record() record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rec
}

func (m *machine) tags() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rec.tags
}

func (m *machine) meta() Meta {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rec.meta
}

// current is the live connection on this hub, or nil.
func (m *machine) current() *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session
}

// replace swaps the row in memory, keeping what is newer here.
func (m *machine) replace(r record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.changed < m.rec.changed {
		return
	}
	if m.rec.latest != nil && (r.latest == nil || r.latest.Received.Before(m.rec.latest.Received)) {
		r.latest = m.rec.latest
	}
	r.waiting = m.rec.waiting
	if m.rec.lastSeen.After(r.lastSeen) {
		r.lastSeen = m.rec.lastSeen
	}
	m.rec = r
}

// change edits the row in memory.
func (m *machine) change(edit func(*record)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	edit(&m.rec)
}

// silence is after how long without a frame a machine counts as gone.
func (r *record) silence(l Limits) time.Duration {
	if r.thresholds.SilenceS > 0 {
		return time.Duration(r.thresholds.SilenceS) * time.Second
	}
	return l.Silence
}

func (r *record) ping(l Limits) time.Duration {
	if r.thresholds.PingS > 0 {
		return time.Duration(r.thresholds.PingS) * time.Second
	}
	return l.Ping
}

func (r *record) overdue(l Limits) time.Duration {
	if r.thresholds.OverdueS > 0 {
		return time.Duration(r.thresholds.OverdueS) * time.Second
	}
	return l.Overdue
}

// presence is how the machine is connected, with when it was last heard.
func (m *machine) presence(hub string, l Limits, now time.Time) (Presence, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session != nil {
		return Online, m.session.Heard()
	}
	return m.rec.presence(hub, l, now), m.rec.lastSeen
}

func (r *record) presence(hub string, l Limits, now time.Time) Presence {
	switch {
	case r.state == wasOnline && r.hub != hub:
		return Online
	case r.state == wasOff || r.state == wasNever:
		return Off
	case now.Sub(r.lastSeen) < r.silence(l):
		return Reconnecting
	}
	return Overdue
}

// view is a machine as people see it.
func (f *Fleet) view(m *machine, now time.Time) Machine {
	presence, seen := m.presence(f.hub, f.d.Limits, now)
	r := m.record()
	v := Machine{
		ID: r.id, Name: r.name, Hostname: r.meta.Hostname, Online: presence == Online, Presence: presence, LastSeen: seen,
		Meta: r.meta, Overall: kenny.StatusUnknown, Flagged: []string{}, Crit: []string{}, Warn: []string{}, Control: r.meta.Control, Summary: "no telemetry yet", Tags: slices.Clone(r.tags),
		Enrolled: len(r.keys) > 0, Mobile: r.mobile, Mutes: r.mutes, Thresholds: r.thresholds, Connected: r.connected, Created: r.created,
	}
	if v.Tags == nil {
		v.Tags = []string{}
	}
	if v.Online {
		v.Hub = r.hub
	}
	if r.maintenance.Until.After(now) {
		v.Maintenance = &r.maintenance
	}
	if d := r.latest; d != nil {
		v.Overall, v.Summary = d.Overall, d.Summary
		v.Crit, v.Warn = append(v.Crit, d.Crit...), append(v.Warn, d.Warn...)
		v.Collected, v.Received, v.ClockOff = d.Collected, d.Received, d.ClockOff
		v.Flagged = append(append(v.Flagged, d.Crit...), d.Warn...)
	}
	return v
}
