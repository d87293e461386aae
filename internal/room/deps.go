package room

import (
	"context"
	"log/slog"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/defaults"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/room/ice"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// Deps is what rooms are made from. DB, Leases, Bus and Trail are required.
type Deps struct {
	DB     *store.DB
	Leases *lease.Leases
	Bus    bus.Bus
	Trail  audit.Trail
	// Fetch reads a key set from an address that vouch.CheckKeyURL allows: without
	// redirects, at most vouch.MaxKeySet bytes. Nil: no key server can be reached.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// People tells how whoever made somebody a host stands now; nil asks nobody.
	People People
	// ICE is how links get through NAT; nil leaves them to what participants find themselves.
	ICE ICE
	Log *slog.Logger
	// Clustered says that other hubs share the store and the bus.
	Clustered bool
	Limits    Limits
}

// People knows the credentials that actors came with.
type People interface {
	// Standing is an actor as its credential stands now; one that ended is refused.
	Standing(ctx context.Context, a identity.Actor) (identity.Actor, error)
	// Lasting is an actor for what outlives the page it was made on.
	Lasting(ctx context.Context, a identity.Actor) (identity.Actor, error)
}

// ICE knows servers that help links through NAT.
type ICE interface {
	// Open are those that need no credential.
	Open() []kibitz.ICEServer
	// For are a participant's, with credentials that are good for ice.Lifetime.
	For(who string, now time.Time) []kibitz.ICEServer
	// Gone ends what a participant had.
	Gone(who string)
}

// AnnounceTime is how long somebody at the door may take to say who they are.
const AnnounceTime = 30 * time.Second

// Limits bound a hub; the zero value has the usual ones.
type Limits struct {
	Announce  time.Duration // to announce oneself (30 s)
	Lobby     time.Duration // in the lobby (10 min)
	Away      time.Duration // in the roster after the connection broke (12 s)
	Resume    time.Duration // resumable after the connection broke (120 s)
	Challenge time.Duration // between two proofs of a key (240 s)
	Prove     time.Duration // to answer a challenge (60 s)
	Verify    time.Duration // for all proofs of one announce (5 s)
	Idle      time.Duration // an empty room stays in memory (24 h)
	Roster    time.Duration // between two rosters (200 ms)
	Room      float64       // content messages a second of a room (200)
	// NoRates switches the rate limits off, for measuring what lies behind them.
	NoRates bool
}

func (d *Deps) defaults() {
	if d.ICE == nil {
		d.ICE = (*ice.Servers)(nil)
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	l := &d.Limits
	defaults.Set(&l.Announce, AnnounceTime)
	defaults.Set(&l.Lobby, 10*time.Minute)
	defaults.Set(&l.Away, 12*time.Second)
	defaults.Set(&l.Resume, 120*time.Second)
	defaults.Set(&l.Challenge, 240*time.Second)
	defaults.Set(&l.Prove, 60*time.Second)
	defaults.Set(&l.Verify, 5*time.Second)
	defaults.Set(&l.Idle, 24*time.Hour)
	defaults.Set(&l.Roster, 200*time.Millisecond)
	defaults.Set(&l.Room, 200)
}
