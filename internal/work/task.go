package work

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/wake"
	"parley.internal/protocol/viber"
)

// Times of a running task.
const (
	// progressEvery is how long a task may be silent.
	progressEvery = 10 * time.Second
	// flushEvery bounds how often text is written: often enough that nobody sees
	// it, seldom enough that a fast model does not cost a flush per token.
	flushEvery = 8 * time.Millisecond
	// checkpointEvery is how much unseen text a crash may cost a task that streams
	// no deltas.
	checkpointEvery = time.Second
	// collectQuiet is how long collected messages wait for more of them.
	collectQuiet = 500 * time.Millisecond
)

// errOver is the cause of a task's context when it has ended.
var errOver = errors.New("the task is over")

// task is a running task. All of it but the fields marked otherwise belongs to the
// goroutine in run.
type task struct {
	w *Work
	record
	opts  viber.TaskOptions
	lease *lease.Lease

	// From anywhere: the mailbox, the end, and what wakes the task. It waits for that
	// alone, whatever happens: for every token, waiting for several things would cost
	// as much as dealing with it.
	mail   mailbox
	gone   chan struct{}
	wake   wake.Bell
	paused atomic.Bool

	// ctx is what model calls and tools live in.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// ending: the last event is made; over: nothing more is done here.
	ending, over bool

	// What it thinks with, once prepared.
	agent   *brain.Agent
	model   brain.Model
	session brain.Session // with an agent that is a program of its own; nil for a mere model
	tools   *tool.Set
	system  string
	skills  []skillfile.Skill // the agent's
	inUse   []skillfile.Skill // those that narrow its tools
	meter   *brain.Meter
	show    *brain.Showing // nil without files
	ready   bool

	history  []model.Message
	historyN int64        // rows written
	opened   []historyRow // its beginning, if not yet written
	cutShort string       // what was said before a restart, if there is no history to say it in
	usedIDs  map[string]bool
	call     *modelCall
	batch    *batch
	turnText strings.Builder

	steers, followups, collects []*queued
	arrived                     int
	asks                        map[string]*question
	remembered                  map[string]string // allowed for the task, by whom

	// What the next commit writes, and what was written.
	out          write
	text         []byte // text that waits to be a delta
	air          flight // text that is on its way
	landed       func(first int64, err error)
	stream       string
	seq          int64
	flushed      time.Time
	checkpointed time.Time
	logBytes     int

	deadline, beat, collect, flush, killed *alarm
	stopNow                                func()                 // ends a task that is being stopped, once its programs have ended
	closing                                bool                   // its terminals are being ended, because it is being stopped
	stopped                                []func(Stopped, error) // who waits for the end
}

func newTask(w *Work, r record) *task {
	t := &task{
		w: w, record: r, opts: r.spec.Submit.Opts(), gone: make(chan struct{}), wake: wake.New(),
		usedIDs: map[string]bool{}, asks: map[string]*question{}, remembered: map[string]string{}, logBytes: r.state.LogBytes,
	}
	t.stream, t.landed, t.air.ready = streamName(r.id), t.onLanded, make(chan struct{}, 1)
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t
}

// do runs fn on the task's goroutine.
func (t *task) do(ctx context.Context, fn func()) error {
	select {
	case <-t.gone:
		return owner.ErrGone
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		t.post(fn)
		return nil
	}
}

// post is do for the task's own helpers: they have nobody to answer to. What comes
// after the end is not done.
func (t *task) post(fn func()) {
	t.mail.put(fn)
	t.wake.Ring()
}

// mailbox holds what a task is to do. Whoever puts something in waits for what comes
// of it, so it is never long.
type mailbox struct {
	mu    sync.Mutex
	queue []func()
}

func (m *mailbox) put(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(m.queue, fn)
}

// next takes the oldest; nil if there is none.
func (m *mailbox) next() func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return nil
	}
	fn := m.queue[0]
	m.queue = slices.Delete(m.queue, 0, 1)
	return fn
}

// background runs fn on a goroutine that Close waits for.
func (t *task) background(fn func()) { t.w.workers.Go(fn) }

// run is the task's life. A task that is taken over comes with what it left.
func (t *task) run(left *leftover) {
	defer t.leave()
	t.timers()
	defer t.stopTimers()
	t.lease.OnLost(t.wake.Ring)
	t.begin(left)
	for t.commitBeforeWait(); !t.over; t.commitBeforeWait() {
		<-t.wake
		for fn := t.mail.next(); fn != nil && !t.over; fn = t.mail.next() {
			fn()
			t.commitBeforeWait()
		}
		t.heedLease()
		t.hear()
		t.alarms()
	}
}

// heedLease stops a task that another hub owns now.
func (t *task) heedLease() {
	select {
	case <-t.lease.Lost():
		if !t.over {
			t.lose()
		}
	default:
	}
}

func (t *task) timers() {
	for _, a := range []**alarm{&t.deadline, &t.beat, &t.collect, &t.flush, &t.killed} {
		*a = newAlarm(t.wake.Ring)
	}
	t.setClock()
}

func (t *task) stopTimers() {
	for _, a := range []*alarm{t.deadline, t.beat, t.collect, t.flush, t.killed} {
		a.stop()
	}
}

// alarms does what is due.
func (t *task) alarms() {
	if !t.over && t.deadline.rings() {
		t.timedOut()
	}
	if !t.over && t.beat.rings() {
		t.progress("")
	}
	if !t.over && t.collect.rings() {
		t.turnOver()
	}
	if !t.over && t.killed.rings() && t.stopNow != nil {
		t.stopNow()
	}
	if t.flush.rings() {
		t.flushed = time.Time{}
	}
}

// begin tells that the task runs and prepares it.
func (t *task) begin(left *leftover) {
	if left == nil {
		t.w.announce(t, t.startedEvent())
		t.phase(viber.Planning, "")
		t.prepare(nil)
		return
	}
	t.restore(left)
}

// leave is the last thing a task does here.
func (t *task) leave() {
	t.cancel(errOver)
	if err := t.air.wait(); err != nil {
		t.w.d.Logger.Warn("a task leaves text behind", "task", t.id, "error", err)
	}
	if t.session != nil {
		t.background(t.session.Close)
	}
	t.w.forget(t)
}

// suspend leaves the task for its next owner: nothing more is written.
func (t *task) suspend() {
	if t.over {
		return
	}
	t.commit() // what was said so far
	if t.over {
		return
	}
	t.over = true
	t.cancel(errOver)
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if err := t.lease.Release(ctx); err != nil {
		t.w.d.Logger.Warn("cannot release a task", "task", t.id, "error", err)
	}
	t.answerStops(Stopped{}, owner.ErrGone)
}

// lose stops: another hub owns the task now.
func (t *task) lose() {
	t.over = true
	t.cancel(errOver)
	t.answerStops(Stopped{}, owner.ErrGone)
}

// broken stops because nothing can be written. The next sweep finds the task.
func (t *task) broken(err error) {
	t.w.d.Logger.Error("a task cannot be written", "task", t.id, "error", err)
	t.lose()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.lease.Release(ctx) // if this fails too, the lease dies with the hub
}

func (t *task) answerStops(s Stopped, err error) {
	for _, answer := range t.stopped {
		answer(s, err)
	}
	t.stopped = nil
}
