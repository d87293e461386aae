package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A batch is bounded so that the first of its callers does not wait for
// hundreds of strangers.
const maxBatch = 512

// writer is the one goroutine that writes to SQLite. It runs the functions that
// wait, each under a savepoint, and commits them together: 256 callers share one
// flush of the disk.
type writer struct {
	on   *session
	tidy *checkpointer
	jobs chan *job
	quit chan struct{}
	done chan struct{}
	once sync.Once
	// soft says that commits do not wait for the disk at present.
	soft    bool
	reserve reserve
}

type job struct {
	ctx context.Context
	manner
	fn     func(*Tx) error
	state  atomic.Int32
	result chan struct{}
	err    error
	panics any
}

const (
	waiting int32 = iota
	taken
	abandoned
)

func startWriter(on *session, tidy *checkpointer, r reserve) *writer {
	r.keep(time.Now())
	w := &writer{on: on, tidy: tidy, reserve: r, jobs: make(chan *job, maxBatch), quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop()
	return w
}

// do hands fn to the writer and waits. A caller whose context ends before fn
// began leaves without effect; once begun it waits for the verdict.
func (w *writer) do(ctx context.Context, how manner, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{ctx: ctx, manner: how, fn: fn, result: make(chan struct{})}
	select {
	case w.jobs <- j:
	case <-w.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.result:
	case <-ctx.Done():
		if j.state.CompareAndSwap(waiting, abandoned) {
			return ctx.Err()
		}
		<-j.result
	case <-w.done:
		if j.state.CompareAndSwap(waiting, abandoned) {
			return ErrClosed
		}
		<-j.result
	}
	if j.panics != nil {
		panic(j.panics)
	}
	return j.err
}

func (w *writer) loop() {
	defer close(w.done)
	batch := make([]*job, 0, maxBatch)
	for {
		select {
		case j := <-w.jobs:
			batch = append(batch[:0], j)
		case <-w.quit:
			w.commit(w.gather(batch[:0]))
			return
		}
		batch = w.gather(batch)
		w.commit(batch)
		if len(batch) > 1 {
			// Those who were just answered often have more to write: let them, and
			// the next flush of the disk is for all of them.
			runtime.Gosched()
		}
	}
}

// gather adds whatever waits already.
func (w *writer) gather(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a batch in one transaction and answers every job of it.
func (w *writer) commit(batch []*job) {
	if batch = w.refuse(batch); len(batch) == 0 {
		return
	}
	err := w.transact(batch)
	if errors.Is(describe(err), ErrFull) && slices.ContainsFunc(batch, func(j *job) bool { return j.frees }) && w.reserve.giveUp(time.Now()) {
		for _, j := range batch {
			j.again()
		}
		w.commit(batch)
		return
	}
	for _, j := range batch {
		if err != nil && j.err == nil {
			j.err = fmt.Errorf("store: commit: %w", err)
		}
		close(j.result)
	}
	w.tidy.committed()
	if w.tidy.last.Swap(false) {
		_ = w.on.run("PRAGMA wal_checkpoint(PASSIVE)")
	}
}

// refuse answers those who may not use what the reserve left.
func (w *writer) refuse(batch []*job) []*job {
	if w.reserve.keep(time.Now()); !w.reserve.lent {
		return batch
	}
	return slices.DeleteFunc(batch, func(j *job) bool {
		if !j.frees {
			j.err = ErrFull
			close(j.result)
		}
		return !j.frees
	})
}

func (w *writer) transact(batch []*job) error {
	w.on.turn = time.Now()
	err := w.flush(batch)
	if err == nil {
		err = w.on.run("BEGIN IMMEDIATE")
	}
	if err == nil && len(batch) == 1 {
		err = w.runOnly(batch[0])
	} else if err == nil {
		for _, j := range batch {
			w.runOne(j)
		}
		err = w.end(true)
	}
	return err
}

// flush has the next commit wait for the disk unless nobody in the batch asks for
// it. The log is flushed as a whole, so that a commit that waits takes those
// before it along.
func (w *writer) flush(batch []*job) error {
	soft := !slices.ContainsFunc(batch, func(j *job) bool { return !j.soft })
	if soft == w.soft {
		return nil
	}
	level := "FULL"
	if soft {
		level = "NORMAL"
	}
	// Not prepared and kept: this acts when it is read, not when it is run.
	_, err := w.on.conn.ExecContext(context.Background(), "PRAGMA synchronous = "+level)
	if err == nil {
		w.soft = soft
	}
	return err
}

// end commits the transaction, or undoes it.
func (w *writer) end(good bool) error {
	if !good {
		return w.on.run("ROLLBACK")
	}
	err := w.on.run("COMMIT")
	if err != nil {
		_ = w.on.run("ROLLBACK")
	}
	return err
}

// runOnly runs the only job of a transaction, which needs no savepoint.
func (w *writer) runOnly(j *job) error {
	if j.state.CompareAndSwap(waiting, taken) {
		j.err = j.call(&Tx{ctx: context.WithoutCancel(j.ctx), dialect: SQLite, on: w.on})
	}
	return w.end(j.err == nil && j.panics == nil)
}

func (w *writer) runOne(j *job) {
	if !j.state.CompareAndSwap(waiting, taken) {
		return
	}
	if j.err = w.on.run("SAVEPOINT one"); j.err != nil {
		return
	}
	j.err = j.call(&Tx{ctx: context.WithoutCancel(j.ctx), dialect: SQLite, on: w.on})
	if j.err != nil || j.panics != nil {
		_ = w.on.run("ROLLBACK TO one")
	}
	if err := w.on.run("RELEASE one"); err != nil && j.err == nil {
		j.err = err
	}
}

// again has a job run once more, unless its caller has gone.
func (j *job) again() {
	j.err, j.panics = nil, nil
	j.state.CompareAndSwap(taken, waiting)
}

// call keeps a panic of fn for the goroutine that asked for it.
func (j *job) call(tx *Tx) (err error) {
	defer func() { j.panics = recover() }()
	return j.fn(tx)
}

// stop finishes what waits and ends the goroutine.
func (w *writer) stop() error {
	w.once.Do(func() { close(w.quit) })
	<-w.done
	return w.on.close()
}
