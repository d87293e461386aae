package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/store"
	"parley.internal/internal/wake"
)

// Options tune an inbox; the zero value is right for a hub.
type Options struct {
	// Audit receives every question and every decision; nil records nothing.
	Audit audit.Recorder
	// Rules are the standing answers of people; nil has none.
	Rules  Rules
	Logger *slog.Logger
	// Recheck is how often the store is asked what the bus may have lost and
	// what is due (default one second).
	Recheck time.Duration
}

// Inbox is this hub's view of all questions.
type Inbox struct {
	db   *store.DB
	bus  bus.Bus
	opts Options
	sub  bus.Subscription
	stop context.CancelFunc
	done sync.WaitGroup
	wake wake.Bell     // makes the follower look at once
	gone chan struct{} // closed by Close; ends every wait

	mu      sync.Mutex
	waiting map[string]map[*Pending]struct{}
	feeds   map[*feed]struct{}
	// seen is the newest change this hub has acted on; only the follower uses it.
	seen int64
	// digested is the day up to which notes about rules were left; the follower's, too.
	digested time.Time
}

// Open starts an inbox on a migrated store. Close ends it.
func Open(ctx context.Context, db *store.DB, b bus.Bus, opts Options) (*Inbox, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Recheck <= 0 {
		opts.Recheck = time.Second
	}
	in := &Inbox{
		db: db, bus: b, opts: opts, wake: wake.New(), gone: make(chan struct{}),
		waiting: map[string]map[*Pending]struct{}{}, feeds: map[*feed]struct{}{},
	}
	// The clock is read before anybody can wait, so no change is missed.
	err := db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT seq FROM approval_clock WHERE one = 1`).Scan(&in.seen)
	})
	if err != nil {
		return nil, err
	}
	if in.sub, err = b.Subscribe("approval.*", func(bus.Msg) { in.wake.Ring() }); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	in.stop = stop
	in.done.Go(func() { in.follow(run) })
	return in, nil
}

// Close ends waits and watches with ErrClosed. The questions stay.
func (in *Inbox) Close() error {
	in.mu.Lock()
	select {
	case <-in.gone:
	default:
		close(in.gone)
	}
	in.mu.Unlock()
	in.stop()
	in.sub.Close()
	in.done.Wait()
	return nil
}

// Ask puts a question into a person's inbox and returns once it is on disk.
func (in *Inbox) Ask(ctx context.Context, req Request) (*Pending, error) {
	a, err := in.Prepare(req)
	if err != nil {
		return nil, err
	}
	return a.Done(in.db.Write(ctx, a.Write))
}

// Asking is a question that becomes one in a transaction of the caller's, together
// with what else belongs to it:
//
//	a, err := inbox.Prepare(req)
//	err = db.Write(ctx, func(tx *store.Tx) error { …; return a.Write(tx) })
//	pending, err := a.Done(err)
type Asking struct {
	in   *Inbox
	item Item
	p    *Pending
}

// Prepare checks a question. Done must follow, whatever becomes of it.
func (in *Inbox) Prepare(req Request) (*Asking, error) {
	item, err := req.item()
	if err != nil {
		return nil, err
	}
	return &Asking{in: in, item: item, p: in.register(item.ID)}, nil
}

// Item is the question as it will be asked.
func (a *Asking) Item() Item { return a.item }

// Write puts the question into the inbox, inside a transaction.
func (a *Asking) Write(tx *store.Tx) (err error) {
	if a.item.changed, err = tick(tx); err != nil {
		return err
	}
	if err := a.item.insert(tx); err != nil {
		return err
	}
	return a.in.record(tx, a.item.RequestedBy, audit.ApprovalAsked, a.item, nil, 0)
}

// Done says how the transaction ended and gives what to wait for.
func (a *Asking) Done(err error) (*Pending, error) {
	if err != nil {
		a.in.unregister(a.item.ID, a.p)
		if store.IsConflict(err) {
			return nil, fmt.Errorf("%w: the id is taken", ErrInvalid)
		}
		return nil, err
	}
	a.p.item = a.item
	a.in.announce(a.item)
	return a.p, nil
}

// Resume finds a question again, after a restart or on another hub. One that is
// decided already has its outcome at once.
func (in *Inbox) Resume(ctx context.Context, id string) (*Pending, error) {
	p := in.register(id)
	err := in.db.Read(ctx, func(tx *store.Tx) (err error) {
		p.item, err = load(tx, id, "")
		return err
	})
	if err != nil || p.item.Outcome.State != StatePending {
		in.unregister(id, p)
		p.decide(p.item.Outcome)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// announce tells the other hubs, and this one, that something changed.
func (in *Inbox) announce(items ...Item) {
	in.wake.Ring()
	for _, item := range items {
		data, err := json.Marshal(map[string]string{"id": item.ID, "state": string(item.Outcome.State)})
		if err == nil {
			err = in.bus.Publish("approval."+bus.Token(item.Principal), data)
		}
		if err != nil {
			in.opts.Logger.Warn("an approval reaches other hubs late", "error", err)
		}
	}
}

// record writes one audit entry about a question.
func (in *Inbox) record(tx *store.Tx, actor string, action audit.Action, item Item, detail map[string]any, waited time.Duration) error {
	if in.opts.Audit == nil {
		return nil
	}
	all := map[string]any{"kind": item.Kind, "principal": item.Principal}
	for name, value := range map[string]string{"tool": item.Tool, "on": item.Target, "task": item.Task, "conversation": item.Conversation} {
		if value != "" {
			all[name] = value
		}
	}
	maps.Copy(all, detail)
	outcome := "ok"
	if item.Outcome.State != StatePending {
		outcome = string(item.Outcome.State)
	}
	return in.opts.Audit.AppendTx(tx, audit.Entry{
		Actor: actor, OnBehalf: item.OnBehalfOf, Action: action, Target: item.ID, Outcome: outcome, Duration: waited, Digest: item.Digest, Detail: all,
	})
}
