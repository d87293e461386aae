package fleet

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/defaults"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/internal/lease"
	"parley.internal/internal/mask"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// Inbox is where a person is asked; *approval.Inbox is one.
type Inbox interface {
	Ask(ctx context.Context, r approval.Request) (*approval.Pending, error)
	// AnswerByRule has a standing rule answer instead of a person, if there is one.
	AnswerByRule(ctx context.Context, r approval.Request) (approval.Outcome, bool)
	Resume(ctx context.Context, id string) (*approval.Pending, error)
	Cancel(ctx context.Context, id, reason string) (approval.Outcome, error)
}

// Notice is something about a machine that people should hear of.
type Notice struct {
	// Kind is crit, overdue or recovered.
	Kind    string    `json:"kind"`
	Machine string    `json:"agent_id"`
	Title   string    `json:"title"`
	Detail  string    `json:"detail,omitempty"`
	At      time.Time `json:"at"`
}

// Notifier carries notices out of the hub: webhooks, ntfy. It must not block.
type Notifier interface {
	Notify(n Notice)
}

// Deps is what a fleet is made from. DB, Bus, Leases, Audit and Key are needed.
type Deps struct {
	DB     *store.DB
	Bus    bus.Bus
	Leases *lease.Leases
	Audit  audit.Recorder
	// Inbox asks people; without one, what needs approval is refused.
	Inbox Inbox
	// Key signs challenges; one per cluster.
	Key ed25519.PrivateKey
	Log *slog.Logger
	// Mask is what nobody gets to see of what machines answer.
	Mask *mask.Mask
	// URL is the hub's base address as machines reach it.
	URL func() string
	// Alone says that no other hub shares the database: then leases and bus are
	// not needed to know who holds a machine.
	Alone bool
	// Owner is the id of the person whose inbox gets notices.
	Owner func(ctx context.Context) string
	// Standing gives a caller as its credential stands now; an error means
	// nothing any more.
	Standing Standing
	Notifier Notifier
	// Own is the program this hub runs itself, for installers.
	Own update.OwnProgram
	// ReleaseKeys, if any, are the only ones whose binaries are taken.
	ReleaseKeys []ed25519.PublicKey

	// InsecureLegacyTokens admits endpoints without keys by bearer token.
	InsecureLegacyTokens bool
	// NoMirror leaves judging to the machines.
	NoMirror bool
	// Rules say who must agree to certain calls.
	Rules judge.Rules
	// NoMCPApproval lets MCP clients change machines unasked.
	NoMCPApproval bool

	Limits Limits
}

// Standing looks an actor's credential up: what it may still do at this moment.
type Standing func(ctx context.Context, who identity.Actor) (identity.Actor, error)

// Limits bound a hub; the zero value has the usual ones.
type Limits struct {
	InFlight      int           // calls under way on one machine (32)
	Queued        int           // calls that wait for one machine (100)
	Settle        time.Duration // from policy to the first queued call (5 s)
	ApprovalWait  time.Duration // how long a question stays open (15 min)
	Ping, Silence time.Duration // heartbeat and silence (30 s, 90 s)
	Overdue       time.Duration // when an overdue machine raises a notice (15 min)
	Cooldown      time.Duration // between two notices about a machine (1 h)
	KeyGrace      time.Duration // of a re-keyed machine's old key (7 d)
	BadFrames     int           // within a minute, then the session ends (20)
	UpdateSilence time.Duration // a staged update unheard of for that long is silent (10 min)
	FullHistory   int           // machines up to which every snapshot is kept 30 d (200)
	Sweep         time.Duration // how often due things are looked for (1 s)
	Prune         time.Duration // how often old rows go (1 h)
	Drain         time.Duration // how long a stopping hub waits for calls (10 s)
}

func (d *Deps) defaults() {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.URL == nil {
		d.URL = func() string { return "" }
	}
	if d.Owner == nil {
		d.Owner = func(context.Context) string { return "owner" }
	}
	if d.Notifier == nil {
		d.Notifier = noNotifier{}
	}
	l := &d.Limits
	defaults.Set(&l.InFlight, kenny.MaxInFlight)
	defaults.Set(&l.Queued, 100)
	defaults.Set(&l.Settle, 5*time.Second)
	defaults.Set(&l.ApprovalWait, 15*time.Minute)
	defaults.Set(&l.Ping, kenny.PingEvery)
	defaults.Set(&l.Silence, kenny.SilenceLimit)
	defaults.Set(&l.Overdue, 15*time.Minute)
	defaults.Set(&l.Cooldown, time.Hour)
	defaults.Set(&l.KeyGrace, 7*24*time.Hour)
	defaults.Set(&l.BadFrames, 20)
	defaults.Set(&l.UpdateSilence, 10*time.Minute)
	defaults.Set(&l.FullHistory, 200)
	defaults.Set(&l.Sweep, time.Second)
	defaults.Set(&l.Prune, time.Hour)
	defaults.Set(&l.Drain, 10*time.Second)
}

type noNotifier struct{}

func (noNotifier) Notify(Notice) {}
