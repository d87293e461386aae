package relay

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"parley.internal/internal/store"
	"parley.internal/internal/turns"
	"parley.internal/protocol/mmp"
)

// stuck is how long a transaction may take before it is given up.
const stuck = 30 * time.Second

// least is what a message counts at least where there are very many: tiny ones fill the
// disk and the memory of a place too.
const (
	least    = 512
	veryMany = 100_000
)

// full tells whether there is no room for so many more bytes.
func (r *Relay) full(bytes int64) bool {
	n := r.count.Load()
	return r.bytes.Load()+bytes > r.d.MaxBytes || n > veryMany && n*least > r.d.MaxBytes
}

// Judge decides who may do what. It is asked in the turn's transaction, so that what it
// knows of keys cannot be older than the turn. An mmp.Error refuses one request; any
// other error undoes the turn.
type Judge interface {
	// Look is told everybody who sends or receives in a turn, before anything else.
	Look(tx *store.Tx, now time.Time, sends []*Sending, receives []*Receiving) error
	// Guard decides whether a sender is who it says.
	Guard(tx *store.Tx, s *Sending) error
	// Admit decides about a message; some says that others wait for its recipient. It
	// sets the peer of one that is for another place.
	Admit(tx *store.Tx, s *Sending, some bool) error
	// Refuses tells whether a full queue refuses a message; else it drops one.
	Refuses(tx *store.Tx, s *Sending) (bool, error)
	// Receives decides whether somebody may have a queue.
	Receives(tx *store.Tx, r *Receiving) error
	// Failed is told that a turn was undone, and whose queues were to be handed out.
	Failed(queues []string)
}

// Deps is what a relay is made from.
type Deps struct {
	DB *store.DB
	// Dir is the folder in which an earlier release may have left a log; empty is none.
	Dir   string
	Judge Judge
	// Note writes entries of the audit, with the act they are about.
	Note func(tx *store.Tx, at time.Time, notes []Note) error
	Log  *slog.Logger
	Now  func() time.Time
	// Limit is how many messages wait in a queue, MaxBytes how much in all of them.
	Limit    int
	MaxBytes int64
	// Soft has nothing wait for the disk.
	Soft bool
}

// Note is what the audit is told of a message.
type Note struct {
	Action, Reason string
	Message        *Message
}

// The actions of notes.
const (
	Enqueue   = "enqueue"
	Dequeue   = "dequeue"
	Expiry    = "expired"
	Drop      = "dropped"
	Refusal   = "refused"
	Forwarder = "forwarded"
)

// Relay holds sealed messages until their recipients fetch them.
type Relay struct {
	d      Deps
	ledger ledger
	turns  *turns.Group[*request]
	count  atomic.Int64  // of messages that wait, as far as this hub knows
	bytes  atomic.Int64  // and of their bytes
	named  atomic.Uint64 // how many ids were made, from a random start
	last   int64         // the newest number, of the turn
}

// request is one of a turn: exactly one of its fields is set.
type request struct {
	send *Sending
	take *Receiving
	// other ends messages, or lends them no more.
	other func(t *turn) error
	// durable says that it must be on the disk before it is answered.
	durable bool
}

// A turn has 512 requests at the most, and fewer if they are large.
const mostWeight = 8 << 20

func (q *request) weight() int {
	const each = mostWeight / 512
	if q.send == nil {
		return each
	}
	return each + len(q.send.Message.Blob)
}

// Open begins with what the database has.
func Open(ctx context.Context, d Deps) (*Relay, error) {
	r := &Relay{d: d, ledger: &table{db: d.DB}}
	if d.DB.Dialect() == store.SQLite {
		r.ledger = &memory{db: d.DB}
	}
	r.named.Store(rand.Uint64())
	r.turns = turns.New(mostWeight, (*request).weight, func(batch []*turns.Call[*request]) (func(), error) { return nil, r.commit(batch) })
	if err := r.takeOver(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.last, err = r.ledger.open(ctx); err != nil {
		return nil, err
	}
	return r, r.Recount(ctx)
}

// Recount counts what this hub otherwise only adds up, and remembers where the next
// start begins to look.
func (r *Relay) Recount(ctx context.Context) error {
	err := r.d.DB.Read(ctx, func(tx *store.Tx) error {
		s, err := r.ledger.sum(tx, r.d.Now())
		if err == nil {
			r.bytes.Store(s.Bytes)
			r.count.Store(s.Messages)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.ledger.remember(ctx)
}

// commit has a turn. Messages that come and those that are acknowledged wait for the
// disk; after a loss of power others that were taken come again, under their ids.
func (r *Relay) commit(batch []*turns.Call[*request]) (err error) {
	// What began is finished whatever becomes of its callers, unless the database is
	// stuck: then they must be let go.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].Ctx), stuck)
	defer cancel()
	defer r.caught(&err)
	var t *turn
	write := r.writer(batch)
	run := func(tx *store.Tx) error {
		t = &turn{r: r, tx: tx, now: r.d.Now(), batch: batch, came: map[string]int64{}}
		return t.run()
	}
	err = write(ctx, run)
	if store.IsConflict(err) {
		// Another hub was first with an idempotency key, and now it can be seen.
		err = write(ctx, run)
	}
	if err != nil {
		r.failed(batch)
		return err
	}
	r.ledger.end(t)
	r.bytes.Add(t.bytes)
	r.count.Add(t.count)
	return nil
}

// writer is the way to the disk that a turn needs. On a full disk those who only take
// messages out are still served.
func (r *Relay) writer(batch []*turns.Call[*request]) func(context.Context, func(*store.Tx) error) error {
	sends, soft := false, true
	for _, c := range batch {
		sends = sends || c.What.send != nil
		soft = soft && (r.d.Soft || !c.What.durable)
	}
	switch {
	case !sends:
		return func(ctx context.Context, fn func(*store.Tx) error) error { return r.d.DB.WriteFreeing(ctx, soft, fn) }
	case soft:
		return r.d.DB.WriteSoft
	}
	return r.d.DB.Write
}

// failed has those look again who wait for what was not handed out after all.
func (r *Relay) failed(batch []*turns.Call[*request]) {
	var queues []string
	for _, c := range batch {
		if c.What.take != nil {
			queues = append(queues, c.What.take.Queue)
		}
	}
	r.d.Judge.Failed(queues)
}

// caught makes an error of a panic: one bad request must not take the hub with it.
func (r *Relay) caught(err *error) {
	if cause := recover(); cause != nil {
		r.d.Log.Error("relay: panic in a transaction", "panic", cause, "stack", string(debug.Stack()))
		*err = mmp.ErrInternal
	}
}
