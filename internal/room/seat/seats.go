package seat

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/room"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

const (
	// lookEvery is how often a hub looks for seats nobody has taken.
	lookEvery = 5 * time.Second
	// doorTime is how long a new seat waits for the room's door.
	doorTime = 10 * time.Second
	// demoCards is the card table's name among the seats.
	demoCards = "demo:cards"
)

// Deps is what seats are made from. All but People and Log are required.
type Deps struct {
	DB     *store.DB
	Leases *lease.Leases
	Rooms  room.API
	Mind   Mind
	// People tells how whoever seated an agent stands now; nil trusts what they were.
	People room.People
	Log    *slog.Logger
}

// Request asks for a seat. Tools are none unless they are listed here.
type Request struct {
	Agent string   `json:"agent"`
	Tools []string `json:"tools,omitempty"`
}

// Seated is a seat as others see it.
type Seated struct {
	Room  string   `json:"room"`
	Agent string   `json:"agent"`
	KeyID string   `json:"keyId"`
	Tools []string `json:"tools,omitempty"`
	By    string   `json:"by"`
}

func (r *row) seated() Seated {
	return Seated{Room: r.room, Agent: r.agent, KeyID: r.keyID(), Tools: r.tools, By: r.by}
}

// Seats keeps whom the hub has seated in their rooms.
type Seats struct {
	d    Deps
	life context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	taken   map[string]bool // by row.name
	stopped bool
}

// New makes seats; nobody sits until Start or Seat.
func New(d Deps) *Seats {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	s := &Seats{d: d, taken: map[string]bool{}}
	s.life, s.stop = context.WithCancel(context.Background())
	return s
}

// Start takes the seats there are, now and when another hub has left them.
func (s *Seats) Start() {
	s.wg.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			s.look()
			select {
			case <-s.life.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// Shutdown has everybody leave.
func (s *Seats) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.stop()
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Seats) look() {
	list, err := s.rows(s.life, "")
	if err != nil {
		if s.life.Err() == nil {
			s.d.Log.Warn("cannot read who is seated in rooms", "error", err)
		}
		return
	}
	for _, r := range list {
		if s.claim(r) {
			s.sitDown(r, nil)
		}
	}
}

// claim notes that a seat is about to be taken here; false if it is already.
func (s *Seats) claim(r *row) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[r.name()] || s.stopped {
		return false
	}
	s.taken[r.name()] = true
	s.wg.Add(1)
	return true
}

func (s *Seats) unclaim(r *row) {
	s.mu.Lock()
	delete(s.taken, r.name())
	s.mu.Unlock()
	s.wg.Done()
}

// sitDown sits down on a claimed seat. in, if not nil, is told what the door said.
func (s *Seats) sitDown(r *row, in func(error)) {
	go func() {
		defer s.unclaim(r)
		s.keep(s.life, r, in)
	}()
}

// check says whether an agent of the hub can sit in a room at all.
func (s *Seats) check(ctx context.Context, who identity.Actor, roomID string) error {
	state, err := s.d.Rooms.Policy(ctx, who, roomID)
	switch {
	case err != nil:
		return err
	case state.Policy.Sealed:
		return &kibitz.Refusal{Code: kibitz.SealRequired, Reason: "the hub has no key to a sealed room"}
	case state.Policy.Agents.Mode == kibitz.AgentsNone:
		return &kibitz.Refusal{Code: kibitz.GateNoAgents, Reason: "no agents in this room"}
	}
	return nil
}

// Seat seats an agent: its key enters the policy, with the default grant. It
// returns once the agent is in or waits in the lobby. An agent that sits there
// already stays as it is.
func (s *Seats) Seat(ctx context.Context, who identity.Actor, roomID string, req Request) (Seated, error) {
	if _, err := s.d.Mind.Disclose(req.Agent, req.Tools); err != nil {
		return Seated{}, &kibitz.Refusal{Code: kibitz.ToUnknown, Reason: "there is no such agent"}
	}
	if err := s.check(ctx, who, roomID); err != nil {
		return Seated{}, err
	}
	more, err := s.d.Mind.Beyond(ctx, req.Agent, req.Tools)
	if errors.Is(err, ErrNoTool) {
		return Seated{}, &kibitz.Refusal{Code: kibitz.ToUnknown, Reason: err.Error()}
	}
	if err != nil {
		return Seated{}, err
	}
	if len(more) > 0 && !who.Scopes.Has(identity.AgentsManage) {
		reason := "the agent's file does not list " + strings.Join(more, ", ") + "; to give it more needs the scope " + identity.AgentsManage
		return Seated{}, &kibitz.Refusal{Code: kibitz.GrantDenied, Reason: reason}
	}
	return s.seat(ctx, who, roomID, req)
}

func (s *Seats) seat(ctx context.Context, who identity.Actor, roomID string, req Request) (Seated, error) {
	if old, err := s.find(ctx, roomID, req.Agent); err != nil || old != nil {
		if err != nil {
			return Seated{}, err
		}
		return old.seated(), nil
	}
	key, err := newKey()
	if err != nil {
		return Seated{}, err
	}
	r := &row{room: roomID, agent: req.Agent, key: key, tools: req.Tools}
	if r.tools == nil {
		r.tools = []string{}
	}
	if err := s.made(ctx, who, r); err != nil {
		return Seated{}, err
	}
	if err := s.allow(ctx, who, r); err != nil {
		return Seated{}, err
	}
	if err := s.enter(ctx, r); err != nil {
		_ = s.remove(context.WithoutCancel(ctx), r)
		_, _ = s.d.Rooms.Revoke(context.WithoutCancel(ctx), who, roomID, r.keyID())
		if store.IsConflict(err) { // somebody else seated it meanwhile
			return s.seat(ctx, who, roomID, req)
		}
		return Seated{}, err
	}
	return r.seated(), nil
}

// enter stores the seat, takes it and waits for the door. It is claimed first: what
// the door says is for us.
func (s *Seats) enter(ctx context.Context, r *row) error {
	if !s.claim(r) {
		return room.ErrUnavailable
	}
	if err := s.insert(ctx, r); err != nil {
		s.unclaim(r)
		return err
	}
	door := make(chan error, 1)
	s.sitDown(r, func(err error) {
		select {
		case door <- err:
		default:
		}
	})
	timer := time.NewTimer(doorTime)
	defer timer.Stop()
	select {
	case err := <-door:
		return err
	case <-timer.C: // another hub was quicker, or the room is slow: it will be in
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unseat takes an agent out: its key goes from the policy, and with it its
// presence, on whichever hub it is.
func (s *Seats) Unseat(ctx context.Context, who identity.Actor, roomID, agent string) error {
	r, err := s.find(ctx, roomID, agent)
	if err != nil {
		return err
	}
	if r == nil {
		return &kibitz.Refusal{Code: kibitz.ToUnknown, Reason: "no such agent is seated here"}
	}
	// Whoever does not manage the room learns so before anything is changed.
	if _, err := s.d.Rooms.Policy(ctx, who, roomID); err != nil {
		return err
	}
	if err := s.remove(ctx, r); err != nil {
		return err
	}
	_, err = s.d.Rooms.Revoke(ctx, who, roomID, r.keyID())
	if kibitz.CodeOf(err) == kibitz.ToUnknown {
		err = nil // somebody took the key away before
	}
	return err
}

// List is who is seated in a room.
func (s *Seats) List(ctx context.Context, roomID string) ([]Seated, error) {
	list, err := s.rows(ctx, roomID)
	out := make([]Seated, len(list))
	for i, r := range list {
		out[i] = r.seated()
	}
	return out, err
}

func newKey() (*kibitz.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return kibitz.NewPrivateKey(key)
}

// allow puts a seat's key into the policy, with where its perception goes, unless
// it is there just so.
func (s *Seats) allow(ctx context.Context, who identity.Actor, r *row) error {
	caps := kibitz.AgentGrant()
	if shown, err := s.d.Mind.Disclose(r.agent, r.tools); err == nil {
		caps.Backend, caps.Egress = shown.Backend, shown.Egress
	}
	key, err := json.Marshal(r.key.Public())
	if err != nil {
		return err
	}
	_, err = s.d.Rooms.Allow(ctx, who, r.room, kibitz.AllowedKey{Key: key, Caps: &caps, Label: r.agent})
	return err
}
