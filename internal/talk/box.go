package talk

import (
	"context"
	"slices"
	"strings"
	"sync"

	"parley.internal/internal/wake"
)

// Bounds of what may wait for one reader. Beyond mergeFrom, neighbouring pieces of
// text are merged, losing nothing; beyond the others the reader is cut.
const (
	mergeFrom = 64
	maxEvents = 8192
	maxBytes  = 16 << 20
)

// box is a reader's queue of events. Putting never blocks: a run does not wait for
// whoever reads it.
type box[T any] struct {
	// text is the words of an item, and the run and kind they belong to: neighbours of
	// one run and kind are pieces of one text, which may be put together.
	text func(*T) (text *string, run string, kind Kind)

	mu     sync.Mutex
	wake   wake.Bell
	direct func(T) // takes items where they are put; see tell
	items  []T
	grow   *strings.Builder // the text of the last item, while it grows
	bytes  int
	closed bool
	err    error
}

func newBox[T any](text func(*T) (*string, string, Kind)) *box[T] {
	return &box[T]{text: text, wake: wake.New()}
}

func (b *box[T]) put(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
	case b.direct != nil:
		b.direct(item)
	default:
		b.keep(item)
	}
}

// keep is put for a reader that comes for it. (Apart, since it moves the item to the
// heap.)
func (b *box[T]) keep(item T) {
	text, _, _ := b.text(&item)
	b.bytes += len(*text) + 64
	switch {
	case len(b.items) >= mergeFrom && b.merge(&item):
	case len(b.items) >= maxEvents || b.bytes > maxBytes:
		b.items, b.grow = nil, nil
		b.end(ErrLagged)
	default:
		b.flushGrown()
		b.items = append(b.items, item)
	}
	b.wake.Ring()
}

func (b *box[T]) merge(item *T) bool {
	last := &b.items[len(b.items)-1]
	have, run, kind := b.text(last)
	more, run2, kind2 := b.text(item)
	if run != run2 || kind != kind2 || kind != Chunk && kind != Thinking {
		return false
	}
	if b.grow == nil {
		b.grow = &strings.Builder{}
		b.grow.WriteString(*have)
	}
	b.grow.WriteString(*more)
	return b.bytes <= maxBytes
}

// flushGrown gives the last item the text that has grown.
func (b *box[T]) flushGrown() {
	if b.grow != nil && len(b.items) > 0 {
		text, _, _ := b.text(&b.items[len(b.items)-1])
		*text = b.grow.String()
	}
	b.grow = nil
}

// close lets the reader read what is there and then ends with err.
func (b *box[T]) close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(err)
	b.wake.Ring()
}

func (b *box[T]) end(err error) {
	if !b.closed {
		b.closed, b.err = true, err
	}
}

// drain gives everything that waits; ended tells that nothing more will come.
func (b *box[T]) drain() (items []T, ended bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushGrown()
	items, b.items, b.bytes = b.items, nil, 0
	return items, b.closed, b.err
}

// putBack returns what a reader did not want yet.
func (b *box[T]) putBack(items []T) {
	if len(items) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushGrown()
	b.items = append(slices.Clip(items), b.items...)
	for i := range items {
		text, _, _ := b.text(&items[i])
		b.bytes += len(*text) + 64
	}
}

// each yields items until the box is closed, ctx ends or yield says so.
func (b *box[T]) each(ctx context.Context, yield func(T, error) bool) bool {
	var zero T
	for {
		items, ended, err := b.drain()
		for i, item := range items {
			if !yield(item, nil) {
				b.putBack(items[i+1:])
				return false
			}
		}
		if ended {
			if err != nil {
				yield(zero, err)
			}
			return false
		}
		if len(items) > 0 {
			continue
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			yield(zero, context.Cause(ctx))
			return false
		}
	}
}

// tell hands items over where they are put, from those that wait on, and returns
// when the box is closed or ctx ends. fn is called with the lock held, so one at a
// time, and must not wait for anything. That spares a change of goroutine for each.
func (b *box[T]) tell(ctx context.Context, fn func(T)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushGrown()
	for i := range b.items {
		fn(b.items[i])
	}
	b.items, b.bytes, b.direct = nil, 0, fn
	defer func() { b.direct = nil }()
	for !b.closed {
		b.mu.Unlock()
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
		if b.mu.Lock(); ctx.Err() != nil && !b.closed {
			return context.Cause(ctx)
		}
	}
	return b.err
}
