package roomagent

import (
	"slices"
	"sync"
)

// listeners are callbacks that may come and go while they are called.
type listeners[T any] struct {
	mu   sync.Mutex
	next int
	fns  map[int]func(T)
	// order keeps them in the order they came.
	order []int
}

func (l *listeners[T]) add(fn func(T)) (unsubscribe func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fns == nil {
		l.fns = map[int]func(T){}
	}
	id := l.next
	l.next++
	l.fns[id] = fn
	l.order = append(l.order, id)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.fns, id)
		l.order = slices.DeleteFunc(l.order, func(other int) bool { return other == id })
	}
}

// call runs each that is still subscribed when its turn comes. One that panics
// stops no other.
func (l *listeners[T]) call(v T) {
	l.mu.Lock()
	order := append([]int(nil), l.order...)
	l.mu.Unlock()
	for _, id := range order {
		l.mu.Lock()
		fn := l.fns[id]
		l.mu.Unlock()
		if fn != nil {
			guarded(func() { fn(v) })
		}
	}
}

func guarded(run func()) {
	defer func() { _ = recover() }()
	run()
}
