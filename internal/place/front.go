package place

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/redo"
	"parley/internal/store"
)

// The front holds this much at most, and nothing for longer than that: what is
// left behind gets a row of its own. Most messages are fetched before.
const (
	frontCount = 400_000
	frontDisk  = 384 << 20 // bytes of parcels, which a start has to read
	frontLife  = 5 * time.Minute
	// frontBytes of parcels are in memory too; older ones are read when needed.
	frontBytes = 64 << 20
	// settleBatch is how many messages get rows in one transaction.
	settleBatch = 256
)

// front is the newest part of the relay, where no other hub writes to the database:
// messages that are in a parcel on disk and not in a row of their own. Here is where
// to find them. In each queue they come after those that have rows.
//
// Only the group changes it, before what it did is on disk; what is not known to be
// there leaves it dirty, and then it is read anew from the disk.
type front struct {
	on    bool
	dirty bool
	most  int   // messages
	awake int64 // bytes of parcels in memory
	// wrote is the parcel of the transaction that ran last, and body what is in it;
	// drained are the queues that it found without rows.
	wrote   *held
	body    []byte
	drained map[string]struct{}
	// log makes parcels durable until the database has them; nil has the database
	// do it.
	log relayLog
	// resting says that the log failed, and is not tried again until the database has
	// taken what waits; broken, that it never is.
	resting atomic.Bool
	broken  bool
	// failing says that the database did not take what waits in the log.
	failing atomic.Bool
	// appending keeps a parcel in the log and among the pending ones as one.
	appending sync.Mutex
	// bundling is held by whoever gives pending parcels to the database.
	bundling sync.Mutex
	// settled are the files of the log that may be written over once the database
	// has what waits.
	settled []func()

	mu sync.Mutex
	// failed says that what is in memory may not be what is on the disk.
	failed bool
	// last is the newest parcel, told the newest one the audit surely has.
	last, told int64

	queues  map[string][]*fresh
	keyed   map[[2]string]*fresh
	senders map[string]map[int64]*fresh // of those who may ask what became of them
	parcels []*held
	// pending are in the log and not in the database; fates counts what the database
	// does not know yet of messages that can be asked for.
	pending []*held
	fates   int
	// voided is a parcel that the log may have and the database must never take.
	voided int64
	// untold are those the audit may not have; bodies those that are in memory.
	untold, bodies []*held
	count          int
	disk, memory   int64 // bytes of parcels
	// earliest is when the first of them expires, or before.
	earliest int64
	// rows are the queues that may have rows; allRows says that every one may.
	rows    map[string]struct{}
	allRows bool
	// moves counts when messages begin to get rows, and when they all have.
	moves  uint64
	moving bool
}

// relayLog is a *redo.Log; tests have it fail.
type relayLog interface {
	Append(r redo.Record, sync bool) error
	Switch() (settled func(), ok bool)
	Used() int64
	Reserve(n int64) error
	Close() error
}

// fresh is a message that has no row: what is needed to find it. The rest is in its
// parcel.
type fresh struct {
	num, expires int64
	recipient    string
	in           *held
	// off is where its record begins, slot its place among those of the parcel.
	off, slot, size uint32
	// named is the sender and the idempotency key of one that can be asked for.
	named *[2]string
}

func (m *fresh) waits(now time.Time) bool { return m.expires > store.Micros(now) }

// held is one parcel, with those of its messages that still wait here.
type held struct {
	num, at  int64
	messages []*fresh
	open     int
	fates    int
	size     int
	body     []byte // nil when it is only in the database
	// row is where the database has it, beginning at base; 0 while it does not.
	row  int64
	base int
}

func (f *front) reset() {
	f.queues, f.keyed, f.senders = map[string][]*fresh{}, map[[2]string]*fresh{}, map[string]map[int64]*fresh{}
	f.parcels, f.untold, f.bodies, f.count, f.disk, f.memory, f.earliest = nil, nil, nil, 0, 0, 0, 0
	f.failed = false
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

func (f *front) add(h *held, m *fresh) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.in, m.slot = h, uint32(len(h.messages)) //nolint:gosec // far fewer than that
	h.messages = append(h.messages, m)
	h.open++
	f.count++
	queue := f.queues[m.recipient]
	if len(queue) > 0 {
		m.recipient = queue[0].recipient // one copy is enough
	}
	f.queues[m.recipient] = append(queue, m)
	if m.named != nil {
		f.name(m)
	}
	if f.earliest == 0 || m.expires < f.earliest {
		f.earliest = m.expires
	}
}

// name is called with the lock held.
func (f *front) name(m *fresh) {
	sender, idem := m.named[0], m.named[1]
	if idem != "" {
		f.keyed[*m.named] = m
	}
	if f.senders[sender] == nil {
		f.senders[sender] = map[int64]*fresh{}
	}
	f.senders[sender][m.num] = m
}

func (f *front) leave(m *fresh) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := m.in
	h.messages[m.slot] = nil
	if h.open--; h.open == 0 {
		h.messages = nil
		f.drop(h)
	}
	f.count--
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
	if m.named == nil {
		return
	}
	if f.keyed[*m.named] == m {
		delete(f.keyed, *m.named)
	}
	if sender := m.named[0]; len(f.senders[sender]) == 1 {
		delete(f.senders, sender)
	} else {
		delete(f.senders[sender], m.num)
	}
}

// move is leave for a message that gets a row.
func (f *front) move(m *fresh) {
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

// keep says what a parcel is, once it is complete. It is called with the lock held.
func (f *front) keep(h *held, body []byte) {
	h.body, h.size = body, len(body)
	f.disk += int64(len(body))
	f.memory += int64(len(body))
	f.bodies = append(f.bodies, h)
	f.untold = append(f.untold, h)
}

// committed says that the changes are on disk: in the log if pending, else in a row
// of the database.
func (f *front) committed(h *held, body []byte, pending bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = false
	for recipient := range f.drained {
		delete(f.rows, recipient)
	}
	f.drained = nil
	if h != nil {
		if f.keep(h, body); pending {
			f.pending = append(f.pending, h)
			f.fates += h.fates
		} else {
			h.row = h.num
		}
		f.trim()
	}
	if f.moving {
		f.moving = false
		f.moves++
	}
}

// trim forgets the bodies of the oldest parcels when there are too many in memory.
// It is called with the lock held.
func (f *front) trim() {
	n := 0
	for ; n < len(f.bodies); n++ {
		h := f.bodies[n]
		if h.body != nil && (f.memory <= f.awake || !f.drop(h)) {
			break
		}
		f.bodies[n] = nil
	}
	f.bodies = f.bodies[n:]
}

// drop forgets a body that the database has and nobody needs at once. It is called
// with the lock held.
func (f *front) drop(h *held) bool {
	if h.body == nil || h.row == 0 || h.num > f.told {
		return false
	}
	f.memory -= int64(len(h.body))
	h.body = nil
	return true
}

// undone says that the changes were not made: they are read anew from the disk.
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
func (f *front) first(recipient string, limit int, now time.Time) (found []*fresh, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.queues[recipient] {
		switch {
		case !m.waits(now):
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
		if m.waits(now) {
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
func (f *front) oldest(before int64, most int) (found []*fresh) {
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
func (f *front) expired(now time.Time, most int) (found []*fresh) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := int64(0)
	for _, h := range f.parcels {
		for _, m := range h.messages {
			switch {
			case m == nil:
			case !m.waits(now) && len(found) < most:
				found = append(found, m)
			case next == 0 || m.expires < next:
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
	return f.earliest != 0 && f.earliest <= store.Micros(now)
}

// ofSender are the messages a sender may ask for.
func (f *front) ofSender(sender string) (found []*fresh) {
	for _, m := range f.senders[sender] {
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b *fresh) int { return cmp.Compare(a.num, b.num) })
	return found
}

// full tells whether something must get a row to make room.
func (f *front) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.disk > frontDisk || f.count > f.most
}

// untidy tells whether parcels can go, or have messages that have waited for long.
func (f *front) untidy(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.parcels) == 0 {
		return false
	}
	h := f.parcels[0]
	return h.open == 0 && h.row != 0 && h.num <= f.told || h.at < store.Micros(now.Add(-frontLife))
}

// empty tells that nothing waits here.
func (f *front) empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count == 0
}

// owesFates tells whether the database does not know yet what became of a message.
func (f *front) owesFates() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fates > 0
}

// behind tells whether the audit may still have to be told something.
func (f *front) behind() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.untold) > 0
}

// mark changes when messages begin to get rows, and when they have them.
func (f *front) mark() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moves
}

// each calls do for every message that waits here.
func (f *front) each(do func(*fresh)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, queue := range f.queues {
		for _, m := range queue {
			do(m)
		}
	}
}
