package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/owner"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

// writeTimeout bounds a write that must not be given up because its caller left.
const writeTimeout = 30 * time.Second

// Work is a hub's tasks.
type Work struct {
	d     Deps
	hub   string // this hub's membership
	paces *paces
	locks *folderLocks
	ctx   context.Context
	stop  context.CancelFunc

	tasks     *tasks
	audiences audiences

	mu    sync.Mutex
	ended map[viber.TaskStatus]int64
	// workers are all goroutines: tasks, model calls, tools.
	workers sync.WaitGroup
}

var _ API = (*Work)(nil)

// New makes a hub's tasks. Start takes over what others left; Close ends it.
func New(d Deps) (*Work, error) {
	if d.DB == nil || d.Log == nil || d.Leases == nil || d.Bus == nil || d.Agents == nil || d.Models == nil || d.Inbox == nil {
		return nil, errors.New("work: a required dependency is missing")
	}
	d.defaults()
	ctx, stop := context.WithCancel(context.Background())
	w := &Work{
		d: d, hub: d.Leases.ID(), paces: newPaces(d.Limits.SubmitsPerMinute, d.Limits.SubmitBurst), locks: newFolderLocks(),
		ctx: ctx, stop: stop, ended: map[viber.TaskStatus]int64{},
		audiences: audiences{all: map[string]*audience{}},
	}
	w.tasks = w.newTasks()
	return w, nil
}

// Start takes over the tasks that no living hub runs, and keeps looking for such.
func (w *Work) Start(ctx context.Context) error {
	if err := w.tasks.Listen(); err != nil {
		return err
	}
	if err := w.sweep(ctx); err != nil {
		return err
	}
	w.workers.Go(w.housekeeping)
	return nil
}

func (w *Work) housekeeping() {
	tick := time.NewTicker(w.d.Limits.Sweep)
	defer tick.Stop()
	purged := time.Time{}
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
		if w.tasks.Refusing() {
			continue
		}
		if err := w.sweep(w.ctx); err != nil && w.ctx.Err() == nil {
			w.d.Logger.Warn("cannot look for abandoned tasks", "error", err)
		}
		if now := time.Now(); now.Sub(purged) > time.Minute {
			purged = now
			w.paces.forget(now)
			if err := w.purge(w.ctx, now); err != nil && w.ctx.Err() == nil {
				w.d.Logger.Warn("cannot forget old tasks", "error", err)
			}
		}
	}
}

// reserve registers a task before anybody can find it in the store, so that the
// sweep leaves it alone.
func (w *Work) reserve(p *proposal) (*task, error) {
	t := newTask(w, p.record)
	err := w.tasks.Add(t.id, t, func(here int) error {
		if here < w.d.Limits.RunningPerHub {
			return nil
		}
		return tooManyTasks(fmt.Sprintf("this hub runs %d tasks, which is its limit", here))
	})
	if errors.Is(err, owner.ErrClosed) {
		err = ErrShuttingDown
	}
	if err != nil {
		return nil, err
	}
	w.workers.Add(1) // run or forget ends it
	return t, nil
}

// forget unregisters a task that will not run here.
func (w *Work) forget(t *task) {
	w.tasks.Remove(t.id, t)
	close(t.gone)
	w.workers.Done()
}

// runs tells whether a task runs here.
func (w *Work) runs(id string) bool {
	_, here := w.tasks.Get(id)
	return here
}

// Refuse lets no new task in; those that run go on.
func (w *Work) Refuse() { w.tasks.Refuse() }

// Drain refuses new tasks and gives running ones some time to end by themselves.
// What runs on is left, with its log, for the next owner.
func (w *Work) Drain(ctx context.Context) {
	w.Refuse()
	w.letEnd(ctx)
	for _, t := range w.tasks.All() {
		_ = t.do(context.Background(), t.suspend)
	}
	for _, t := range w.tasks.All() {
		<-t.gone
	}
}

// letEnd waits until no task runs any more, for a while. Those that wait for a
// person are not waited for.
func (w *Work) letEnd(ctx context.Context) {
	timer := time.NewTimer(w.d.Limits.Drain)
	defer timer.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for slices.ContainsFunc(w.tasks.All(), func(t *task) bool { return !t.paused.Load() }) {
		select {
		case <-look.C:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close drains and waits for everything that was started.
func (w *Work) Close(ctx context.Context) error {
	w.Drain(ctx)
	w.stop()
	w.tasks.Close()
	w.workers.Wait()
	return nil
}

// Stats are figures of this hub.
func (w *Work) Stats() Stats {
	all := w.tasks.All()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Stats{Running: len(all), Ended: maps.Clone(w.ended)}
	for _, t := range all {
		if t.paused.Load() {
			s.Paused++
		}
	}
	return s
}

func (w *Work) countEnd(status viber.TaskStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended[status]++
}

// workspace is the folder that an agent works in for a person.
func (w *Work) workspace(person string, agent *brain.Agent) string {
	return w.d.Workspace(workspace.Person(person), agent.Workspace)
}
