package viber

import (
	"context"
	"sync"
)

// itemOverhead is what an item costs in memory beyond its bytes on the wire.
const itemOverhead = 512

// queue holds a stream until its consumer takes it. The connection's reader puts
// in and never waits.
type queue[T any] struct {
	limit int

	mu    sync.Mutex
	items []queued[T]
	bytes int
	err   error // what take returns once the items are taken

	more chan struct{} // an item or the end has come
}

type queued[T any] struct {
	item T
	size int
}

func newQueue[T any](limit int) *queue[T] {
	return &queue[T]{limit: limit, more: make(chan struct{}, 1)}
}

// put adds an item; false means that there was no room and the stream has ended
// with ErrLagged. An empty queue takes anything.
func (q *queue[T]) put(item T, size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return true
	}
	size += itemOverhead
	if q.bytes > 0 && q.bytes+size > q.limit {
		q.err = ErrLagged
		q.signal()
		return false
	}
	q.items = append(q.items, queued[T]{item, size})
	q.bytes += size
	q.signal()
	return true
}

// finish says that nothing more will come; take returns err after the rest.
func (q *queue[T]) finish(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.signal()
}

// next returns the next item, or why there is none.
func (q *queue[T]) next(ctx context.Context) (T, error) {
	for {
		item, ok, err := q.tryNext()
		if ok || err != nil {
			return item, err
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return item, ctx.Err()
		}
	}
}

func (q *queue[T]) tryNext() (item T, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		// Whoever asks next is to learn it too.
		if q.err != nil {
			q.signal()
		}
		return item, false, q.err
	}
	first := q.items[0]
	q.items[0] = queued[T]{}
	q.items = q.items[1:]
	q.bytes -= first.size
	if len(q.items) > 0 {
		q.signal()
	}
	return first.item, true, nil
}

func (q *queue[T]) signal() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}
