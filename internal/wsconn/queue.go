package wsconn

import "slices"

// item is one waiting message: either wire (prepared) or data.
type item struct {
	wire   []byte
	data   []byte
	key    string
	kind   Kind
	policy Policy
}

// itemCost is what an item takes beside its bytes, so that empty messages are not free.
const itemCost = 16

// size is what an item takes of the limit. Of Newest ones only one with a key waits,
// so they may be as large as they are: a room's roster must not cut its readers.
func (it *item) size() int {
	if it.policy == Newest {
		return itemCost
	}
	return len(it.wire) + len(it.data) + itemCost
}

// queue is what waits for one connection. The connection's lock guards it.
type queue struct {
	items []item
	head  int
	// bytes counts waiting and taken items; taken ones are being written.
	bytes, taken int
}

// keepItems is the most slots an empty queue keeps, so that idle connections stay small.
const keepItems = 4

func (q *queue) len() int { return len(q.items) - q.head }

func (q *queue) waiting() []item { return q.items[q.head:] }

func (q *queue) fits(size int, limit QueueLimit) bool {
	return q.bytes == 0 || q.len() < limit.Frames && q.bytes+size <= limit.Bytes
}

func (q *queue) push(it item) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, it)
	q.bytes += it.size()
}

// front is only valid while len is above 0.
func (q *queue) front() *item { return &q.items[q.head] }

// dropFront removes the front; its bytes count until done.
func (q *queue) dropFront() {
	n := q.front().size()
	q.taken += n
	*q.front() = item{}
	q.head++
	q.shrink()
}

// done says that everything taken was written.
func (q *queue) done() {
	q.bytes -= q.taken
	q.taken = 0
}

func (q *queue) shrink() {
	if q.head < len(q.items) {
		return
	}
	q.head = 0
	q.items = q.items[:0]
	if cap(q.items) > keepItems {
		q.items = nil
	}
}

// remove deletes the i-th waiting item.
func (q *queue) remove(i int) {
	i += q.head
	q.bytes -= q.items[i].size()
	q.items = slices.Delete(q.items, i, i+1)
	q.shrink()
}

// clear forgets what waits, not what is being written.
func (q *queue) clear() {
	q.items, q.head = nil, 0
	q.bytes = q.taken
}

// last is the index of the newest waiting item with that key, or -1.
func (q *queue) last(key string) int {
	w := q.waiting()
	for i, v := range slices.Backward(w) {
		if v.key == key {
			return i
		}
	}
	return -1
}

// replaceNewest removes a waiting item that a new one of the same key makes obsolete.
func (q *queue) replaceNewest(key string) bool {
	i := q.last(key)
	if i < 0 || q.waiting()[i].policy != Newest {
		return false
	}
	q.remove(i)
	return true
}

// merge joins m into the waiting item of its key.
func (q *queue) merge(m *Message, limit QueueLimit) bool {
	i := q.last(m.Key)
	if i < 0 || m.Join == nil || m.Frame != nil {
		return false
	}
	it := &q.waiting()[i]
	if it.policy != Merge || it.kind != m.Kind || len(it.data)+len(m.Data) > maxMerged {
		return false
	}
	joined, ok := m.Join(it.data, m.Data)
	if !ok || q.bytes+len(joined)-len(it.data) > max(limit.Bytes, len(joined)) {
		return false
	}
	q.bytes += len(joined) - len(it.data)
	it.data = joined
	return true
}

// shed drops the oldest droppable items until size more bytes fit, and returns how many it dropped.
func (q *queue) shed(size int, limit QueueLimit) (dropped int) {
	for i := 0; i < q.len() && !q.fits(size, limit); {
		if q.waiting()[i].policy == Droppable {
			q.remove(i)
			dropped++
		} else {
			i++
		}
	}
	return dropped
}
