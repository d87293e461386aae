package agentfirst

import (
	"context"
	"sync"

	wire "parley.internal/protocol/agentfirst"
)

// eventOverhead is what an event costs in memory beyond its bytes on the wire.
const eventOverhead = 256

// queue holds the answers to one request until its consumer takes them. The
// connection's reader puts in, one consumer takes out.
type queue struct {
	limit int
	// wait makes put wait for room, on connections that serve one request only;
	// else a full queue ends with ErrLagged.
	wait bool

	mu    sync.Mutex
	items []queued
	bytes int
	left  bool  // the consumer is gone; put discards
	err   error // what take returns once the items are taken

	more chan struct{} // an item or the end has come
	room chan struct{} // an item was taken, or the consumer is gone
}

type queued struct {
	m    *wire.ServerMessage
	size int
}

func newQueue(limit int, wait bool) *queue {
	return &queue{limit: limit, wait: wait, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put adds an answer of size bytes. It never waits unless the queue was made so,
// and then not beyond dead.
func (q *queue) put(m *wire.ServerMessage, size int, dead <-chan struct{}) {
	size += eventOverhead
	for !q.tryPut(m, size) {
		select {
		case <-q.room:
		case <-dead:
			return
		}
	}
}

// tryPut is false when there is no room yet. An empty queue takes anything.
func (q *queue) tryPut(m *wire.ServerMessage, size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left || q.err != nil {
		return true
	}
	if q.bytes > 0 && q.bytes+size > q.limit {
		if q.wait {
			return false
		}
		q.err = ErrLagged
		signal(q.more)
		return true
	}
	q.items = append(q.items, queued{m, size})
	q.bytes += size
	signal(q.more)
	return true
}

// finish says that nothing more will come; take returns err after the rest.
func (q *queue) finish(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	signal(q.more)
}

// leave discards what is there and what will come.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left, q.items, q.bytes = true, nil, 0
	signal(q.room)
}

// next returns the next answer, or why there is none.
func (q *queue) next(ctx context.Context) (*wire.ServerMessage, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if m, err := q.tryNext(); m != nil || err != nil {
			return m, err
		}
		select {
		case <-q.more:
		case <-ctx.Done():
		}
	}
}

func (q *queue) tryNext() (*wire.ServerMessage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil, q.err
	}
	first := q.items[0]
	q.items[0] = queued{}
	q.items = q.items[1:]
	q.bytes -= first.size
	signal(q.room)
	return first.m, nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
