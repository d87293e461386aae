package place

import "sync/atomic"

// bounds remembers how many messages wait in a queue at most. Where nobody else
// puts messages in, a queue that was counted need not be counted again until it
// might be full: whatever leaves it makes it only shorter. Only the transaction
// of the group uses it, and there is one at a time.
type bounds struct {
	// alone says that no other hub writes to the database, which is SQLite.
	alone bool
	most  map[string]int64
	// strangers are the queues of unknown ids that were found empty and counted
	// since the last recount.
	strangers map[string]struct{}
	// old asks for both to be forgotten.
	old atomic.Bool
}

func (q *bounds) of(recipient string) (int64, bool) {
	if !q.alone {
		return 0, false
	}
	most, ok := q.most[recipient]
	return most, ok
}

func (q *bounds) set(recipient string, most int64) {
	if q.most == nil || len(q.most) > maxCounted {
		q.most = map[string]int64{}
	}
	q.most[recipient] = most
}

// refresh forgets, if somebody asked for it.
func (q *bounds) refresh() {
	if q.old.Swap(false) {
		q.most, q.strangers = nil, nil
	}
}

// stranger counts a queue of an id that nobody knows, once.
func (p *Place) stranger(recipient string) bool {
	q := &p.bounds
	if _, ok := q.strangers[recipient]; ok {
		return true
	}
	if p.figures.strangers.Add(1) > p.c.MaxUnknown {
		p.figures.strangers.Add(-1)
		return false
	}
	if q.strangers == nil {
		q.strangers = map[string]struct{}{}
	}
	q.strangers[recipient] = struct{}{}
	return true
}
