package hub

import (
	"context"
	"net/http"
	"sync"

	"parley.internal/internal/face/front"
)

// gate knows which requests run. Once shut it lets nobody new in.
type gate struct {
	mu      sync.Mutex
	running int
	shut    bool
	empty   chan struct{} // closed when it is shut and nothing runs
}

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// wrap counts the requests that pass.
func (g *gate) wrap(f *front.Front, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.enter() {
			w.Header().Set("Connection", "close")
			f.Fail(w, r, front.NewProblem(http.StatusServiceUnavailable, "shutting_down", "the hub is stopping; try again", nil))
			return
		}
		defer front.After(w, g.leave)
		next.ServeHTTP(w, r)
	})
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.running++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.shut && g.running == 0 {
		close(g.empty)
	}
}

// close lets nobody new in.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut && g.running == 0 {
		close(g.empty)
	}
	g.shut = true
}

// wait returns when nothing runs any more, or ctx ends.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
