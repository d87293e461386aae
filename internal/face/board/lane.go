package board

import "sync"

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
