package skill

import (
	"context"
	"log/slog"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// Level is how far a peer is known to one agent.
type Level string

// The levels: L0 a person trusts its key, L1 it has proven one, L2 anybody.
const (
	L0 Level = "L0"
	L1 Level = "L1"
	L2 Level = "L2"
)

// Host is an agent of this hub that meets others.
type Host struct {
	// Name is its name here, ID the one it has at places.
	Name        string
	ID          string
	Description string
	Ring        mmp.Keyring
}

// Own is a skill of this hub, as its file has it.
type Own struct {
	ID      string
	Name    string
	Summary string
	Tags    []string
	Public  bool
	Content string
	// Provenance is nil for one of our own making.
	Provenance *meeting.Provenance
}

// Inbox is where people are asked; *approval.Inbox is one.
type Inbox interface {
	Ask(ctx context.Context, r approval.Request) (*approval.Pending, error)
	Resume(ctx context.Context, id string) (*approval.Pending, error)
	Cancel(ctx context.Context, id, reason string) (approval.Outcome, error)
}

// Line is how one agent reaches others at one place.
type Line interface {
	// Send seals a message and hands it to the relay; done when it returns nil.
	Send(ctx context.Context, to string, m meeting.Message) error
	// Key is the pinned key of an address there; nil when there is none.
	Key(ctx context.Context, address string) *mmp.PublicKey
	// AcceptKey pins another key, after a person said so.
	AcceptKey(ctx context.Context, address, keyID string) error
}

// Trust tells what people said about keys, and how an id proved its own.
type Trust interface {
	TrustedKey(ctx context.Context, keyID string) (bool, error)
	// ProvenBy is "challenge", "static" or "".
	ProvenBy(ctx context.Context, agent string) (string, error)
}

// Deps is what the package is made from. DB, Inbox and Owner are required.
type Deps struct {
	DB    *store.DB
	Inbox Inbox
	Trust Trust
	Trail audit.Recorder
	// Owner is the hub's owner, whose inbox questions about what is the hub's go to.
	Owner func(ctx context.Context) (string, error)
	// PersonOf is the id of the person whose agent it is; empty for the hub's own.
	// AgentsOf names the agents of a person. Without them all agents are the hub's.
	PersonOf func(ctx context.Context, agent string) (string, error)
	AgentsOf func(ctx context.Context, person string) ([]string, error)
	// Allow asks the judge before an actor says something to others, and whoever the judge
	// wants asked; nil asks nobody.
	Allow func(ctx context.Context, who identity.Actor, tool string, what any) error
	// Host finds an agent that meets others, by its name; nil knows only those that
	// joined. It may take a while: keys are made when they are first needed.
	Host func(name string) (Host, error)
	// Own lists the skills an agent has from files.
	Own func(agent string) []Own
	// Agents names every agent of this hub, for approvals that name single ones.
	Agents func() []string
	// Deliver puts a note of a peer into the agent's conversation with it, as marked
	// data, and returns the agent's answer. The same note may come again after a
	// crash. Nil keeps notes in the history only.
	Deliver func(ctx context.Context, n Note) (string, error)
	Log     *slog.Logger
	Now     func() time.Time
}

// Config is how exchanges behave.
type Config struct {
	// Dir is where approved skills are written for people to see; empty for nowhere.
	Dir string
	// Extensions is the folder of extension definitions; empty for none.
	Extensions string
	// Hashes is how hashes of skills are sent.
	Hashes mmp.HashForm
	// Front is the agent that answers when nobody is named.
	Front string
	// Version is the hub's.
	Version string
	// AllowFormats are further formats, from L0 only and as inert text.
	AllowFormats []string
	// L2Offers lets strangers offer skills.
	L2Offers bool
	// AllowUnprefixed takes extensions without a namespace.
	AllowUnprefixed bool
}

// Bounds of what one peer may cause.
const (
	l1Waiting    = 20
	l1Bytes      = 5 << 20
	l1InboxDay   = 10
	l2Requests   = 5
	autoHour     = 20
	refusedFor   = 90 * 24 * time.Hour
	keepMessages = 30 * 24 * time.Hour
	outboxFor    = 24 * time.Hour
)

func (d *Deps) defaults() {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Own == nil {
		d.Own = func(string) []Own { return nil }
	}
	if d.Agents == nil {
		d.Agents = func() []string { return nil }
	}
	if d.PersonOf == nil {
		d.PersonOf = func(context.Context, string) (string, error) { return "", nil }
	}
	if d.AgentsOf == nil {
		d.AgentsOf = func(context.Context, string) ([]string, error) { return nil, nil }
	}
	if d.Trust == nil {
		d.Trust = noTrust{}
	}
	if d.Trail == nil {
		d.Trail = audit.Nowhere{}
	}
}

type noTrust struct{}

func (noTrust) TrustedKey(context.Context, string) (bool, error) { return false, nil }
func (noTrust) ProvenBy(context.Context, string) (string, error) { return "", nil }
