package board

import (
	"maps"
	"slices"
	"sync"
)

// laneDepth is how many requests may wait; then nothing more is read from the
// client.
const laneDepth = 64

// lane does things one after another. It has a goroutine only while there is
// something to do, so that idle connections cost nothing.
type lane struct {
	mu      sync.Mutex
	room    *sync.Cond
	queue   []func()
	running bool
}

// put adds something to do, waiting for room.
func (l *lane) put(c *conn, fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.room == nil {
		l.room = sync.NewCond(&l.mu)
	}
	for len(l.queue) >= laneDepth {
		l.room.Wait()
	}
	l.queue = append(l.queue, fn)
	if !l.running {
		l.running = true
		c.work.Go(func() { l.run(c) })
	}
}

func (l *lane) run(c *conn) {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.running, l.queue = false, nil
			l.mu.Unlock()
			return
		}
		next := l.queue[0]
		l.queue = l.queue[1:]
		l.room.Signal()
		l.mu.Unlock()
		next()
	}
}

// perTask does things one after another for each task, and those of different tasks
// beside each other.
type perTask struct {
	mu   sync.Mutex
	last map[string]chan struct{} // of each task, closed when it is done
	room chan struct{}
}

// put adds something to do for a task, waiting for room.
func (q *perTask) put(c *conn, task string, fn func()) {
	q.mu.Lock()
	if q.last == nil {
		q.last, q.room = map[string]chan struct{}{}, make(chan struct{}, laneDepth)
	}
	before, done := q.last[task], make(chan struct{})
	q.last[task] = done
	q.mu.Unlock()
	q.room <- struct{}{}
	c.work.Go(func() {
		if before != nil {
			<-before
		}
		fn()
		q.mu.Lock()
		if q.last[task] == done {
			delete(q.last, task)
		}
		q.mu.Unlock()
		close(done)
		<-q.room
	})
}

// wait returns when everything that was put is done.
func (q *perTask) wait() {
	q.mu.Lock()
	open := slices.Collect(maps.Values(q.last))
	q.mu.Unlock()
	for _, done := range open {
		<-done
	}
}
