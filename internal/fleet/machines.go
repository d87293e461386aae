package fleet

import (
	"time"

	"parley/protocol/kenny"
	"parley/protocol/kenny/health"
)

// Presence is how a machine is connected.
type Presence string

// The presences. Only the first is online.
const (
	Online Presence = "online"
	// Off said goodbye, or never came.
	Off Presence = "off"
	// Reconnecting was cut a moment ago.
	Reconnecting Presence = "reconnecting"
	// Overdue should have been back by now.
	Overdue Presence = "overdue"
)

// Machine is a machine in a list.
type Machine struct {
	ID       string    `json:"agent_id"`
	Name     string    `json:"name,omitempty"`
	Hostname string    `json:"hostname"`
	Online   bool      `json:"online"`
	Presence Presence  `json:"presence"`
	LastSeen time.Time `json:"last_seen,omitzero"`
	Meta     Meta      `json:"meta"`
	// Overall is the worst counted section; Flagged are those unwell.
	Overall   kenny.Status `json:"overall"`
	Flagged   []string     `json:"flagged_sections"`
	Crit      []string     `json:"crit_sections"`
	Warn      []string     `json:"warn_sections"`
	Summary   string       `json:"summary,omitempty"`
	Collected time.Time    `json:"collected_at,omitzero"`
	Received  time.Time    `json:"received_at,omitzero"`
	// ClockOff: the machine's clock is more than five minutes off.
	ClockOff bool     `json:"clock_off,omitempty"`
	Tags     []string `json:"tags"`
	Enrolled bool     `json:"enrolled"`
	Mobile   bool     `json:"mobile"`
	// Control is where the switch of the person at the machine stands: on, ask,
	// off, private, or empty while nobody knows.
	Control     kenny.Control          `json:"control,omitempty"`
	Maintenance *Window                `json:"maintenance,omitempty"`
	Mutes       map[string]health.Mute `json:"mutes,omitempty"`
	Thresholds  Thresholds             `json:"thresholds,omitzero"`
	Connected   time.Time              `json:"connected_at,omitzero"`
	Hub         string                 `json:"hub,omitempty"`
	Created     time.Time              `json:"created_at"`
}

// Meta is what a machine tells about itself.
type Meta struct {
	Hostname string   `json:"hostname"`
	OS       kenny.OS `json:"os"`
	Version  string   `json:"version"`
	Arch     string   `json:"arch,omitempty"`
	// Control is where the local switch stands; empty while nobody knows.
	Control kenny.Control `json:"remote_control,omitempty"`
	// Ours: the machine said that it runs our endpoint.
	Ours bool `json:"ours,omitempty"`
}

// Window is a time in which nothing about a machine is announced.
type Window struct {
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Thresholds are a machine's own times; zero means the usual one.
type Thresholds struct {
	// PingS and SilenceS replace 30 and 90 seconds.
	PingS    int `json:"ping_s,omitempty" minimum:"0" maximum:"3600"`
	SilenceS int `json:"silence_s,omitempty" minimum:"0" maximum:"86400"`
	// OverdueS is when an overdue machine raises a notice (900).
	OverdueS int `json:"overdue_s,omitempty" minimum:"0" maximum:"2592000"`
}

// ListQuery chooses machines.
type ListQuery struct {
	// Q is part of the id, name or hostname.
	Q        string
	Tag      string
	Presence Presence
	Overall  kenny.Status
	Cursor   string
	// Limit is 200 if 0, at most 1000.
	Limit int
}

// MachinePage is a page of machines.
type MachinePage struct {
	Machines []Machine
	Next     string
}

// Counts sums a fleet up.
type Counts struct {
	OK      int `json:"ok"`
	Warn    int `json:"warn"`
	Crit    int `json:"crit"`
	Unknown int `json:"unknown"`
	Online  int `json:"online"`
	Off     int `json:"off"`
	Overdue int `json:"overdue"`
}

// Overview is the fleet, worst first.
type Overview struct {
	Overall  kenny.Status `json:"overall"`
	Counts   Counts       `json:"counts"`
	Machines []Machine    `json:"agents"`
	Next     string       `json:"next_cursor,omitempty"`
}

// HealthReport is one machine, judged now.
type HealthReport struct {
	ID        string                    `json:"agent_id"`
	Collected time.Time                 `json:"collected_at,omitzero"`
	Received  time.Time                 `json:"received_at,omitzero"`
	Overall   kenny.Status              `json:"overall"`
	Sections  map[string]health.Verdict `json:"sections"`
}
