package roomagent

import "sync"

// queue runs callbacks one after the other, in order, without making whoever
// adds them wait. While nothing is to do there is no goroutine.
type queue struct {
	mu      sync.Mutex
	work    []func()
	working bool
	// held keeps everything until somebody listens.
	held bool
}

func (q *queue) do(run func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.work = append(q.work, run)
	q.start()
}

// release lets a held queue run.
func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = false
	q.start()
}

func (q *queue) start() {
	if q.working || q.held || len(q.work) == 0 {
		return
	}
	q.working = true
	go q.drain()
}

func (q *queue) drain() {
	for {
		q.mu.Lock()
		if len(q.work) == 0 {
			q.working = false
			q.mu.Unlock()
			return
		}
		run := q.work[0]
		q.work = q.work[1:]
		q.mu.Unlock()
		guarded(run)
	}
}
