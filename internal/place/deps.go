package place

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// Auth is how agents prove themselves here.
type Auth string

// The policies. Whatever the policy, a proven id is never served without proof.
const (
	Open   Auth = "open"
	TOFU   Auth = "tofu"
	Strict Auth = "strict"
)

// Static is what becomes of signatures that whoever saw them could use again.
type Static string

// AcceptStatic lets those in, unproven, who never answered a challenge. RefuseStatic
// takes challenges only.
const (
	AcceptStatic Static = "accept"
	RefuseStatic Static = "refuse"
)

// Sync is what an answer about a message promises.
type Sync string

// SyncFull: what was answered outlives a loss of power. SyncOS: it outlives the
// death of the hub, and nothing waits for the disk.
const (
	SyncFull Sync = "full"
	SyncOS   Sync = "os"
)

// PeerClient calls other places; a face brings it, since the domain speaks no HTTP.
type PeerClient interface {
	// Call makes a signed call and returns the answer's status and body.
	Call(ctx context.Context, req OutboundCall) (status int, body []byte, err error)
}

// OutboundCall is a signed call to another place.
type OutboundCall struct {
	URL                    string // of the place, without path
	Method, Target         string
	Body                   []byte
	Peer, Time, Nonce, Sig string
}

// Deps is what a place is made from. DB, Bus and Key are required.
type Deps struct {
	DB     *store.DB
	Bus    bus.Bus
	Leases *lease.Leases
	// Key signs for the place; its public half names it.
	Key   ed25519.PrivateKey
	Trail audit.Recorder
	Peers PeerClient
	Log   *slog.Logger
	// Dir is the data folder, where an earlier release may have left a log of the relay.
	Dir string
	// Clustered says that other hubs share the store and the bus.
	Clustered bool
	// AgentsOf lists the ids, here, of the agents that are a person's; nil knows none.
	AgentsOf func(ctx context.Context, person string) ([]string, error)
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

// Config is how a place behaves; zero fields have the usual values.
type Config struct {
	Name        string
	Description string
	Version     string
	Auth        Auth
	// Sync is SyncFull unless it says otherwise; keys and tokens are always on disk.
	Sync Sync
	// Hashes is how hashes of skills are answered; bare unless it says otherwise.
	Hashes mmp.HashForm
	// Static is what becomes of static signatures; strict refuses them unless it says
	// otherwise.
	Static Static
	// Anonymize hides ids in the audit from everybody but the operator.
	Anonymize bool
	// Federation lets places be peered.
	Federation bool

	RegistryTTL  time.Duration
	ProvenTTL    time.Duration // of a registration with a token
	TokenTTL     time.Duration
	TokenMax     time.Duration
	PostingTTL   time.Duration
	RelayTTL     time.Duration
	ChallengeTTL time.Duration
	PostingLimit int
	DepositLimit int
	QueueLimit   int
	MaxAgents    int64
	MaxBytes     int64 // waiting in the relay, all queues together
	MaxUnknown   int64 // queues of ids nobody has registered
	MaxPolls     int   // waiting requests of one agent
	NewIDs       int   // new ids an address may register a minute
}

func (d *Deps) defaults() {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.AgentsOf == nil {
		d.AgentsOf = func(context.Context, string) ([]string, error) { return nil, nil }
	}
	if d.Trail == nil {
		d.Trail = audit.Nowhere{}
	}
}

func (c *Config) defaults() {
	usual(&c.Name, "Parley Meeting Place")
	usual(&c.Description, "A meeting place for agents")
	usual(&c.Auth, TOFU)
	if c.Auth == Strict {
		usual(&c.Static, RefuseStatic)
	}
	usual(&c.Static, AcceptStatic)
	usual(&c.Sync, SyncFull)
	usual(&c.RegistryTTL, mmp.RegistryTTL)
	usual(&c.ProvenTTL, max(time.Hour, c.RegistryTTL))
	usual(&c.TokenTTL, mmp.TokenTTL)
	usual(&c.TokenMax, 24*time.Hour)
	usual(&c.PostingTTL, mmp.DefaultPostingTTL)
	usual(&c.RelayTTL, mmp.RelayTTL)
	usual(&c.ChallengeTTL, mmp.ChallengeTTL)
	usual(&c.PostingLimit, mmp.PostingLimit)
	usual(&c.DepositLimit, mmp.DepositLimit)
	usual(&c.QueueLimit, mmp.QueueLimit)
	usual(&c.MaxAgents, 1_000_000)
	usual(&c.MaxBytes, 8<<30)
	usual(&c.MaxUnknown, 10_000)
	usual(&c.MaxPolls, 4)
	usual(&c.NewIDs, 60)
}

func usual[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}
