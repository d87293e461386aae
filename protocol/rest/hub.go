package rest

import "time"

// The hub itself.
var (
	GetStatus  = Get[None, Status]("/api/status", "How the hub is")
	GetCluster = Get[None, Cluster]("/api/cluster", "Which hubs run, what each holds, what they share")
	Backup     = Post[BackupRequest, None]("/api/backup", "A backup of everything the hub keeps").As("application/gzip")
	Events     = Get[EventsQuery, None]("/api/events", "What happens, live: approvals added and resolved, for callers with approval:read; with ?machines=1 what /api/fleet/stream tells too, for callers with fleet:read").As("text/event-stream")
)

// BackupRequest says what else is in a backup. The body may be left out.
type BackupRequest struct {
	Passphrase string `json:"passphrase,omitempty" doc:"puts the keys of hosted agents into it, sealed with this"`
}

// EventsQuery says what else a stream tells.
type EventsQuery struct {
	Machines string `query:"machines" enum:"1"`
}

// Check is one thing a hub looks at to tell whether it is well.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Warning is something the owner should know.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// ModelInfo is the hub's model.
type ModelInfo struct {
	Active   string `json:"active"`
	Provider string `json:"provider"`
}

// Status is how a hub is, in one look.
type Status struct {
	Name          string           `json:"name"`
	Version       string           `json:"version"`
	HubID         string           `json:"hub_id"`
	PublicKey     string           `json:"public_key" doc:"Ed25519, in base64: what signs the audit trail's checkpoints"`
	Started       time.Time        `json:"started_at"`
	UptimeS       int64            `json:"uptime_s"`
	Healthy       bool             `json:"healthy"`
	Checks        []Check          `json:"checks"`
	Counts        map[string]int64 `json:"counts"`
	Model         ModelInfo        `json:"model"`
	SpendTodayUSD float64          `json:"spend_today_usd"`
	Warnings      []Warning        `json:"warnings"`
}

// Cluster is who runs this hub's things: one hub, or several on one database.
type Cluster struct {
	Alone    bool     `json:"alone" doc:"no second hub can join: the database is a file of this one"`
	Hubs     []Member `json:"hubs"`
	Database Engine   `json:"database"`
	Bus      Engine   `json:"bus"`
	Door     Door     `json:"door"`
}

// Member is one hub and how many things it holds, by their kind. Others count on
// it until SilentAfter unless it renews that in time, which a living hub does.
type Member struct {
	ID          string           `json:"id"`
	Here        bool             `json:"here" doc:"the hub that answered"`
	Alive       bool             `json:"alive"`
	Started     time.Time        `json:"started_at"`
	SilentAfter time.Time        `json:"silent_after"`
	Holds       map[string]int64 `json:"holds" doc:"conversations, tasks, rooms, machines, duties"`
}

// Engine is something every hub of a cluster shares.
type Engine struct {
	Kind   string `json:"kind" doc:"sqlite, postgres, local or nats"`
	Where  string `json:"where"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

// Door is where clients come in, and who encrypts.
type Door struct {
	Listen      string       `json:"listen"`
	URL         string       `json:"url"`
	TLS         string       `json:"tls" doc:"none, files, acme or proxy"`
	Certificate *Certificate `json:"certificate,omitempty"`
	Verdict     string       `json:"verdict" enum:"good,note,bad"`
	Found       string       `json:"found"`
	Advice      string       `json:"advice,omitempty"`
}

// Certificate is the one in use, as far as the hub can see it.
type Certificate struct {
	Names    []string  `json:"names"`
	Issuer   string    `json:"issuer"`
	NotAfter time.Time `json:"not_after"`
}
