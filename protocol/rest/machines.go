package rest

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/health"
)

// Machines: how they are, and who they are.
var (
	FleetOverview    = Get[MachineQuery, Overview]("/api/fleet", "The fleet, worst machines first; query: q, tag, presence, overall, limit, cursor")
	FleetTrend       = Get[TrendQuery, Trend]("/api/fleet/trend", "How machines were at their worst, day by day; query: days (1-90)")
	FleetStream      = Get[None, None]("/api/fleet/stream", "What changes, live (server-sent events: machine, call, event, removed)").As("text/event-stream")
	ListTools        = Get[None, Tools]("/api/fleet/tools", "What can be done on machines: schemas, classes, systems")
	ListFleetEvents  = Get[FleetEventQuery, FleetEvents]("/api/fleet/events", "What happened; query: machine, source, kind, level, since, until, limit, cursor")
	ListMachines     = Get[MachineQuery, Machines]("/api/machines", "List machines by id; query: q, tag, presence, overall, limit, cursor")
	CreateMachine    = Post[NewMachine, Machine]("/api/machines", "Make a machine known: {agent_id, name?, tags?}").Created()
	GetMachine       = Get[ByID, Machine]("/api/machines/{id}", "One machine")
	EditMachine      = Patch[MachineEdit, Machine]("/api/machines/{id}", "Change name, tags, mobile, thresholds, maintenance, mutes")
	RemoveMachine    = Delete[ByID, Removed]("/api/machines/{id}", "Remove a machine: its key is revoked, its connection ends")
	MachineToken     = Post[EnrolRequest, EnrolToken]("/api/machines/{id}/token", "A one-time enrolment token: {rekey?, grace_s?, ttl_s?, legacy?}")
	InstallLink      = Post[ByID, InstallLines]("/api/machines/{id}/install-link", "One-liners that install the endpoint, once")
	MachineInstaller = Get[InstallerQuery, None]("/api/machines/{id}/installer.zip", "Program, script and a fresh token; query: platform").As("application/zip")
	MachineHealth    = Get[ByID, HealthReport]("/api/machines/{id}/health", "How a machine is, section by section")
	MachineSnapshot  = Get[SnapshotQuery, Snapshot]("/api/machines/{id}/snapshot", "The newest telemetry; query: section")
	MachineHistory   = Get[HistoryQuery, History]("/api/machines/{id}/history", "A machine's past; query: section, metric, label, from, to, limit")
	MachineEvents    = Get[MachineEventQuery, FleetEvents]("/api/machines/{id}/events", "What happened around a machine")
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

// MachineQuery chooses machines; Q is part of the id, name or hostname.
type MachineQuery struct {
	Q        string `query:"q"`
	Tag      string `query:"tag"`
	Presence string `query:"presence" enum:"online,off,reconnecting,overdue"`
	Overall  string `query:"overall" enum:"ok,warn,crit,unknown"`
	Limit    int    `query:"limit" doc:"200 if left out, at most 1000"`
	Cursor   string `query:"cursor"`
}

// Machine is a managed computer.
type Machine struct {
	ID       string    `json:"agent_id"`
	Name     string    `json:"name,omitempty"`
	Hostname string    `json:"hostname"`
	Online   bool      `json:"online"`
	Presence Presence  `json:"presence" enum:"online,off,reconnecting,overdue"`
	LastSeen time.Time `json:"last_seen,omitzero"`
	Meta     Meta      `json:"meta"`
	// Overall is the worst counted section; Flagged are those unwell.
	Overall   kenny.Status `json:"overall" enum:"ok,warn,crit,unknown"`
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

// Machines is a page of them.
type Machines struct {
	Machines []Machine `json:"machines"`
	Next     string    `json:"next_cursor,omitempty"`
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
	Overall  kenny.Status `json:"overall" enum:"ok,warn,crit,unknown"`
	Counts   Counts       `json:"counts"`
	Machines []Machine    `json:"agents"`
	Next     string       `json:"next_cursor,omitempty"`
}

// HealthReport is one machine, judged now.
type HealthReport struct {
	ID        string                    `json:"agent_id"`
	Collected time.Time                 `json:"collected_at,omitzero"`
	Received  time.Time                 `json:"received_at,omitzero"`
	Overall   kenny.Status              `json:"overall" enum:"ok,warn,crit,unknown"`
	Sections  map[string]health.Verdict `json:"sections"`
}

// NewMachine makes a machine known.
type NewMachine struct {
	ID   string   `json:"agent_id"`
	Name string   `json:"name,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

// MachineEdit changes what is given.
type MachineEdit struct {
	ID   string `path:"id"`
	Body MachineChanges
}

// MachineChanges is what is given.
type MachineChanges struct {
	Name        *string                 `json:"name,omitempty"`
	Tags        *[]string               `json:"tags,omitempty"`
	Mobile      *bool                   `json:"mobile,omitempty"`
	Thresholds  *Thresholds             `json:"thresholds,omitempty"`
	Maintenance *Window                 `json:"maintenance,omitempty"`
	Mutes       *map[string]health.Mute `json:"mutes,omitempty"`
}

// Removed says that something is gone, or was not there.
type Removed struct {
	OK      bool `json:"ok"`
	Removed bool `json:"removed"`
}

// EnrolRequest asks for an enrolment token, and for the machine if need be.
type EnrolRequest struct {
	ID   string `path:"id"`
	Body Enrolment
}

// Enrolment says what a token is for.
type Enrolment struct {
	Rekey  bool   `json:"rekey,omitempty"`
	GraceS *int64 `json:"grace_s,omitempty"`
	TTLS   int64  `json:"ttl_s,omitempty"`
	Legacy bool   `json:"legacy,omitempty"`
}

// EnrolToken is a one-time enrolment token, shown once.
type EnrolToken struct {
	Machine         string    `json:"agent_id"`
	Token           string    `json:"token"`
	ServerPublicKey string    `json:"server_public_key"`
	URL             string    `json:"url"`
	Expires         time.Time `json:"expires_at"`
}

// InstallLines is an installer link: one line per family of systems.
type InstallLines struct {
	Sh      string    `json:"sh,omitempty" doc:"absent when this hub has no program for Linux and macOS"`
	PS1     string    `json:"ps1,omitempty" doc:"absent when this hub has no program for Windows"`
	Expires time.Time `json:"expires_at"`
}

// InstallerQuery chooses an installer.
type InstallerQuery struct {
	ID       string `path:"id"`
	Platform string `query:"platform"`
}

// SnapshotQuery chooses one section, or all.
type SnapshotQuery struct {
	ID      string `path:"id"`
	Section string `query:"section"`
}

// Snapshot is the newest telemetry; no telemetry yet is null, which an empty object is not.
type Snapshot struct {
	ID        string    `json:"agent_id"`
	Collected time.Time `json:"collected_at,omitzero"`
	Received  time.Time `json:"received_at,omitzero"`
	Sections  Measured  `json:"snapshot"`
}

// Measured are the sections of a machine's telemetry, by their names; null before the first time.
type Measured map[string]jsontext.Value

// MarshalJSONTo writes them; nothing is null, and not an empty object.
func (s Measured) MarshalJSONTo(e *jsontext.Encoder) error {
	if s == nil {
		return e.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(e, map[string]jsontext.Value(s))
}

// HistoryQuery chooses a part of a machine's past.
type HistoryQuery struct {
	ID      string    `path:"id"`
	Section string    `query:"section"`
	Metric  string    `query:"metric"`
	Label   string    `query:"label"`
	From    time.Time `query:"from"`
	Until   time.Time `query:"to"`
	Limit   int       `query:"limit"`
}

// Point is one figure of the past.
type Point struct {
	At    time.Time `json:"at"`
	Label string    `json:"label,omitempty"`
	Value float64   `json:"value"`
	Min   float64   `json:"min"`
	Max   float64   `json:"max"`
}

// Past is a section as it was.
type Past struct {
	At      time.Time      `json:"at"`
	Section jsontext.Value `json:"section"`
}

// History is figures of one metric, or one section as it was.
type History struct {
	ID       string  `json:"agent_id"`
	Section  string  `json:"section,omitempty"`
	Metric   string  `json:"metric,omitempty"`
	Points   []Point `json:"points,omitempty"`
	Sections []Past  `json:"sections,omitempty"`
}

// TrendQuery is how many days.
type TrendQuery struct {
	Days string `query:"days" doc:"from 1 to 90"`
}

// TrendDay is how many machines were how on a day, at their worst.
type TrendDay struct {
	Day  string   `json:"day"`
	OK   int      `json:"ok"`
	Warn int      `json:"warn"`
	Crit int      `json:"crit"`
	Bad  []string `json:"crit_members"`
	Poor []string `json:"warn_members"`
}

// Trend is day by day.
type Trend struct {
	Days []TrendDay `json:"days"`
}

// Tool is a tool of the catalogue as forms need it.
type Tool struct {
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Class       kenny.Class    `json:"class"`
	OS          []kenny.OS     `json:"os"`
	TimeoutS    int            `json:"timeout_s"`
	Live        bool           `json:"live,omitzero"`
	Schema      jsontext.Value `json:"schema"`
}

// Tools is a list of them.
type Tools struct {
	Tools []Tool `json:"tools"`
}

// FleetEventQuery chooses events.
type FleetEventQuery struct {
	Machine string    `query:"machine"`
	Source  string    `query:"source"`
	Kind    string    `query:"kind"`
	Level   string    `query:"level"`
	Since   time.Time `query:"since"`
	Until   time.Time `query:"until"`
	Limit   int       `query:"limit"`
	Cursor  string    `query:"cursor"`
}

// MachineEventQuery chooses events of one machine.
type MachineEventQuery struct {
	ID string `path:"id"`
	FleetEventQuery
}

// FleetEvent is something that happened around a machine, or a line of its log.
type FleetEvent struct {
	Seq     int64          `json:"seq"`
	At      time.Time      `json:"at" doc:"when the hub learned of it"`
	Sent    time.Time      `json:"sent_at,omitzero" doc:"the machine's own time"`
	Machine string         `json:"agent_id"`
	Source  string         `json:"source"`
	Kind    string         `json:"kind"`
	Level   kenny.Level    `json:"level"`
	Target  string         `json:"target"`
	Message string         `json:"message"`
	Fields  jsontext.Value `json:"fields,omitzero"`
}

// FleetEvents is a page of them.
type FleetEvents struct {
	Events []FleetEvent `json:"events"`
	Next   string       `json:"next_cursor,omitempty"`
}
