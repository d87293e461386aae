package place

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"parley/internal/store"
)

// The front holds this much at most, and nothing for longer than that: what is
// left behind gets a row of its own. Most messages are fetched before.
const (
	frontBytes = 64 << 20
	frontCount = 40_000
	frontLife  = 30 * time.Second
	// settleBatch is how many messages get rows in one transaction.
	settleBatch = 256
	// overhead is about what a message costs in memory besides its blob.
	overhead = 512
)

// front is the newest part of the relay, where no other hub writes to the database:
// messages that are in a parcel on disk and in memory, and not yet in a row of their
// own. In each queue they come after those that have rows.
//
// Only the group's transaction changes it, before it commits; a transaction that
// is not known to have been committed leaves it dirty, and the next one reads it
// anew from the disk.
type front struct {
	on    bool
	dirty bool
	most  int // messages
	// telling is the newest parcel whose entries this transaction gives the audit.
	telling int64

	mu sync.Mutex
	// failed says that what is in memory may not be what is on the disk.
	failed bool
	// last is the newest parcel, told the newest one the audit surely has.
	last, told int64

	queues  map[string][]*message
	keyed   map[[2]string]*message
	senders map[string]map[int64]*message // of those who may ask what became of them
	parcels []*held
	count   int
	bytes   int64
	// earliest is when the first of them expires, or before.
	earliest time.Time
	// rows are the queues that may have rows; allRows says that every one may.
	rows    map[string]struct{}
	allRows bool
	// moves counts when messages begin to get rows, and when they all have.
	moves  uint64
	moving bool
}

// held is one parcel, with those of its messages that still wait here.
type held struct {
	num, at  int64
	messages []*message
	open     int
}

func (f *front) reset() {
	f.queues, f.keyed, f.senders = map[string][]*message{}, map[[2]string]*message{}, map[string]map[int64]*message{}
	f.parcels, f.count, f.bytes, f.earliest = nil, 0, 0, time.Time{}
	f.telling, f.failed = 0, false
	f.moves++
	f.moving = false
}

// begin makes the next parcel.
func (f *front) begin(at time.Time) *held {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	h := &held{num: f.last, at: store.Micros(at)}
	f.parcels = append(f.parcels, h)
	return h
}

func (f *front) add(h *held, m *message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.in, m.slot = h, len(h.messages)
	h.messages = append(h.messages, m)
	h.open++
	f.count++
	f.bytes += m.size + overhead
	f.queues[m.recipient] = append(f.queues[m.recipient], m)
	if m.idem != "" {
		f.keyed[[2]string{m.sender, m.idem}] = m
	}
	if m.tracked {
		if f.senders[m.sender] == nil {
			f.senders[m.sender] = map[int64]*message{}
		}
		f.senders[m.sender][m.num] = m
	}
	if f.earliest.IsZero() || m.expires.Before(f.earliest) {
		f.earliest = m.expires
	}
}

func (f *front) leave(m *message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := m.in
	h.messages[m.slot] = nil
	m.in = nil
	if h.open--; h.open == 0 {
		h.messages = nil
	}
	f.count--
	f.bytes -= m.size + overhead
	queue := f.queues[m.recipient]
	switch i := slices.Index(queue, m); {
	case len(queue) == 1:
		delete(f.queues, m.recipient)
	case i == 0:
		queue[0] = nil
		f.queues[m.recipient] = queue[1:]
	default:
		f.queues[m.recipient] = slices.Delete(queue, i, i+1)
	}
	if m.idem != "" {
		delete(f.keyed, [2]string{m.sender, m.idem})
	}
	if m.tracked {
		if delete(f.senders[m.sender], m.num); len(f.senders[m.sender]) == 0 {
			delete(f.senders, m.sender)
		}
	}
}

// move is leave for a message that gets a row.
func (f *front) move(m *message) {
	f.leave(m)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.moving {
		f.moving = true
		f.moves++
	}
	f.hasRows(m.recipient)
}

// hasRows is called with the lock held.
func (f *front) hasRows(recipient string) {
	if f.rows == nil {
		f.rows = map[string]struct{}{}
	}
	if f.rows[recipient] = struct{}{}; len(f.rows) > maxCounted {
		f.rows, f.allRows = nil, true
	}
}

// committed says that the changes are on disk.
func (f *front) committed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = false
	f.told = max(f.told, f.telling)
	if f.moving {
		f.moving = false
		f.moves++
	}
}

// undone says that the changes were not made: the next transaction reads anew.
func (f *front) undone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = f.on
}

func (f *front) unsure() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// mayHaveRows tells whether a queue is worth asking the database for.
func (f *front) mayHaveRows(recipient string) bool {
	if !f.on {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, has := f.rows[recipient]
	return has || f.allRows
}

// first are the messages at the head of a queue, and whether more are behind them.
func (f *front) first(recipient string, limit int, now time.Time) (found []*message, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.queues[recipient] {
		switch {
		case !m.expires.After(now):
		case len(found) == limit:
			return found, true
		default:
			found = append(found, m)
		}
	}
	return found, false
}

// waiting counts a queue.
func (f *front) waiting(recipient string, now time.Time) (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.queues[recipient] {
		if m.expires.After(now) {
			n++
		}
	}
	return n
}

// has tells whether a queue or a sender has something here.
func (f *front) has(queue, sender string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queues[queue]) > 0 || len(f.senders[sender]) > 0
}

// peek is for a look that takes nothing: whether something can be handed out, and
// else a mark; if it has changed after the database was asked, ask the group.
func (f *front) peek(recipient string, now time.Time) (some bool, mark uint64) {
	if !f.on {
		return false, 0
	}
	if n := f.waiting(recipient, now); n > 0 {
		return true, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moving || f.failed, f.moves
}

// oldest are those of the parcels that were made before a time.
func (f *front) oldest(before int64, most int) (found []*message) {
	for _, h := range f.parcels {
		if h.at >= before || len(found) >= most {
			break
		}
		for _, m := range h.messages {
			if m != nil && len(found) < most {
				found = append(found, m)
			}
		}
	}
	return found
}

// expired are those that ended, at most so many. It looks at all, so it is only
// asked when one must be there.
func (f *front) expired(now time.Time, most int) (found []*message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := time.Time{}
	for _, h := range f.parcels {
		for _, m := range h.messages {
			switch {
			case m == nil:
			case !m.expires.After(now) && len(found) < most:
				found = append(found, m)
			case next.IsZero() || m.expires.Before(next):
				next = m.expires
			}
		}
	}
	f.earliest = next
	return found
}

// hasExpired tells whether it is worth looking.
func (f *front) hasExpired(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.earliest.IsZero() && !f.earliest.After(now)
}

// ofSender are the messages a sender may ask for.
func (f *front) ofSender(sender string) (found []*message) {
	for _, m := range f.senders[sender] {
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b *message) int { return cmp.Compare(a.num, b.num) })
	return found
}

// full tells whether something must get a row to make room.
func (f *front) full() bool { return f.bytes > frontBytes || f.count > f.most }

// idle tells that there is nothing to tidy.
func (f *front) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.parcels) == 0
}

// behind tells whether the audit may still have to be told something.
func (f *front) behind() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last > f.told
}

// tell says up to which parcel the audit has been told.
func (f *front) tell(num int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = max(f.told, num)
}

// mark changes when messages begin to get rows, and when they have them.
func (f *front) mark() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moves
}

// each calls do for every message that waits here.
func (f *front) each(do func(*message)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, queue := range f.queues {
		for _, m := range queue {
			do(m)
		}
	}
}
