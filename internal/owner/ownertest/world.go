// Package ownertest holds every way of running package owner to one contract: a bus in
// the process or between processes, leases in SQLite or PostgreSQL.
package ownertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/store"
)

// World is where the hubs of one test meet.
type World struct {
	// Bus makes a connection of one hub.
	Bus func(t *testing.T) bus.Bus
	DB  *store.DB
	// Quick says that minutes pass in no time.
	Quick bool

	mu    sync.Mutex
	saved map[string]int // what tallies have durably
	begun int            // questions that were begun anywhere
	ended chan error     // how questions that wait have ended
	// forgotten is closed with the stream that shows nothing.
	forgotten chan struct{}
}

// Question and Answer are what a tally is asked.
type Question struct {
	Op   string `json:"op"`
	Text string `json:"text,omitzero"`
	N    int    `json:"n,omitzero"`
	// Empty and Wait are what JSON likes to lose.
	Empty *struct{}     `json:"empty,omitempty"`
	Wait  time.Duration `json:"wait,omitempty"`
}

// Answer is what it says.
type Answer struct {
	Hub  string `json:"hub,omitzero"`
	Text string `json:"text,omitzero"`
	N    int    `json:"n,omitzero"`
	// Whole: nothing of the question was lost on the way.
	Whole bool `json:"whole,omitzero"`
}

var (
	errNone    = errors.New("there is no such tally")
	errRefused = errors.New("refused")
)

// shortage is an error with something in it.
type shortage struct {
	What string `json:"what"`
	Need int    `json:"need"`
}

func (e *shortage) Error() string { return fmt.Sprintf("%s is short by %d", e.What, e.Need) }

// tally counts. It is what these hubs own.
type tally struct {
	id    string
	lease *lease.Lease
}

// hub is one of several.
type hub struct {
	t      *testing.T
	w      *World
	bus    bus.Bus
	leases *lease.Leases
	*owner.Things[*tally, Question, Answer]
}

// long keeps a hub alive for the whole test; brief lets it be dead soon after it stops
// saying that it lives.
var (
	long  = lease.Options{TTL: time.Hour}
	brief = lease.Options{TTL: 2 * time.Second}
)

func (w *World) hub(t *testing.T, opts lease.Options, change ...func(*owner.Kind[*tally, Question, Answer])) *hub {
	t.Helper()
	h := &hub{t: t, w: w, bus: w.Bus(t)}
	var err error
	if h.leases, err = lease.Join(context.WithoutCancel(t.Context()), w.DB, "hub", opts); err != nil {
		t.Fatal(err)
	}
	k := owner.Kind[*tally, Question, Answer]{
		Name: "tally", Do: h.do, DoHub: h.doHub, Load: h.load, Follow: h.follow, Unowned: w.exists, Repeatable: true,
		Holds:  func(t *tally) *lease.Lease { return t.lease },
		Errors: []owner.Named{owner.Error("none", errNone), owner.Error("refused", errRefused), owner.ErrorType[*shortage]("shortage")},
	}
	for _, c := range change {
		c(&k)
	}
	h.Things = owner.New(owner.Deps{Bus: h.bus, Leases: h.leases, Clustered: true}, k)
	if err := h.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		h.leases.Abandon()
		if err := h.bus.Close(); err != nil {
			t.Errorf("closing the bus of a hub: %v", err)
		}
	})
	return h
}

// notLoaded makes a kind whose things do not come to life by being asked for.
func notLoaded(k *owner.Kind[*tally, Question, Answer]) { k.Load, k.Repeatable = nil, false }

func (w *World) exists(_ context.Context, id string) error {
	if strings.HasPrefix(id, "no-") {
		return errNone
	}
	return nil
}

func (h *hub) load(_ context.Context, id string, l *lease.Lease) (*tally, error) {
	if id == "broken" {
		return nil, errRefused
	}
	return &tally{id, l}, nil
}

// own brings a thing to life here.
func (h *hub) own(id string) *tally {
	h.t.Helper()
	got, err := h.Take(h.t.Context(), id)
	if err != nil {
		h.t.Fatalf("taking %s: %v", id, err)
	}
	return got
}

func (h *hub) letGo(id string, it *tally) {
	if err := h.LetGo(context.WithoutCancel(h.t.Context()), id, it); err != nil {
		h.t.Errorf("letting go of %s: %v", id, err)
	}
}

// do is what a tally can do.
func (h *hub) do(ctx context.Context, it *tally, q Question) (Answer, error) {
	a := Answer{Hub: h.leases.ID()}
	switch q.Op {
	case "add":
		return a, h.w.add(ctx, it, q.N, &a.N)
	case "echo":
		a.Text, a.N = q.Text, len(q.Text)
		a.Whole = q.Empty != nil && q.Wait == time.Second
	case "length":
		a.N = len(q.Text)
	case "long":
		a.Text = strings.Repeat("x", q.N)
	case "gone":
		return a, owner.ErrGone
	case "refuse":
		return a, fmt.Errorf("%w: not today", errRefused)
	case "short":
		return a, fmt.Errorf("wrapped: %w", &shortage{"time", q.N})
	case "odd":
		return a, errors.New("nobody knows this one")
	case "wait":
		h.w.mu.Lock()
		h.w.begun++
		h.w.mu.Unlock()
		h.w.ended <- nil
		<-ctx.Done()
		h.w.ended <- ctx.Err()
		return a, ctx.Err()
	}
	return a, nil
}

// add writes like a domain does: fenced, in one step.
func (w *World) add(ctx context.Context, it *tally, n int, sum *int) error {
	return w.DB.Write(ctx, func(tx *store.Tx) error {
		if err := it.lease.Check(tx); err != nil {
			return owner.ErrGone
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.saved[it.id] += n
		*sum = w.saved[it.id]
		return nil
	})
}

func (h *hub) doHub(_ context.Context, q Question) (Answer, error) {
	if q.Op == "refuse" {
		return Answer{}, errRefused
	}
	return Answer{Hub: h.leases.ID(), Text: q.Text}, nil
}

// counting shows the numbers up to a last one.
type counting struct {
	next, last int
	closed     chan struct{}
}

func (c *counting) Next(ctx context.Context) (Answer, error) {
	if c.next == c.last {
		return Answer{}, io.EOF
	}
	if c.next < 0 { // never comes
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	c.next++
	return Answer{N: c.next}, nil
}

func (c *counting) Close() { close(c.closed) }

func (h *hub) follow(_ context.Context, _ *tally, q Question) (owner.Stream[Answer], error) {
	if q.Op == "refuse" {
		return nil, errRefused
	}
	if q.Op == "never" {
		h.w.forgotten = make(chan struct{})
		return &counting{next: -1, closed: h.w.forgotten}, nil
	}
	return &counting{last: q.N, closed: make(chan struct{})}, nil
}
