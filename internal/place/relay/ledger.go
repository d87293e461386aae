package relay

import (
	"context"
	"time"

	"parley.internal/internal/store"
)

// ledger knows which messages wait where; the messages themselves are rows. There are
// two: that of a hub with a file of its own remembers, and that of hubs which share a
// database asks it. What a turn did so far counts for its later requests.
type ledger interface {
	// open begins with what the table has, and tells the greatest number there. remember
	// makes the next one quick.
	open(ctx context.Context) (last int64, err error)
	remember(ctx context.Context) error
	// begin is told which queues the turn sends to, and end that it is on the disk.
	begin(t *turn, queues []string) error
	end(t *turn)
	// came, went and lend are what the turn does. A lease that is over lends no more.
	came(m *Message)
	went(m *Message)
	lend(queue string, nums []any, until time.Time)
	// count is how many wait in a queue, lent ones too. It may be too many as long as
	// that is fewer than a full queue has.
	count(t *turn, queue string) (int64, error)
	// front is what a receiver may have, with blobs, and whether more is behind it.
	front(t *turn, queue string, limit int) (found []*Message, more bool, err error)
	// lent finds a message that was handed out and not acknowledged; nil is none.
	lent(t *turn, queue, id string) (*Message, error)
	// expired are messages whose time is over; overdue tells whether there are any.
	expired(t *turn, limit int) ([]*Message, error)
	overdue(ctx context.Context, now time.Time) (bool, error)
	// entries are those that wait in a queue, in order, lent ones too.
	entries(tx *store.Tx, t *turn, queue string, now time.Time) ([]entry, error)
	// sum is about all queues, fullest lists some with most in them, and names all.
	sum(tx *store.Tx, now time.Time) (Sum, error)
	fullest(tx *store.Tx, limit int, which func(queue string) bool, now time.Time) ([]Status, error)
	names(tx *store.Tx) ([]string, error)
}

// entry is what has to be known of a message to decide about its queue. Times are
// microseconds.
type entry struct {
	num, expires, leased int64
	sender               string
	size                 int64
}

func (e *entry) waits(now int64) bool { return e.expires > now }

func (e *entry) free(now int64) bool { return e.expires > now && e.leased <= now }

// Sum is about everything that waits.
type Sum struct {
	Messages, Queues, Bytes, Biggest int64
	Oldest                           time.Time // zero when nothing waits
}

// Status is about one queue.
type Status struct {
	Queue           string
	Pending, Leased int
	Bytes, Dropped  int64
	Oldest, Newest  time.Time
	Outgoing        bool // it is for another place
}
