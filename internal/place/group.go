package place

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
)

// A transaction is bounded, so that the first of its callers does not wait for
// hundreds of strangers, nor for a hundred large blobs.
const (
	maxGroup      = 512
	maxGroupBytes = 8 << 20
)

// stuck is how long a transaction may take before it is given up.
const stuck = 30 * time.Second

// group collects what callers want while the turn before is on its way to the disk,
// and does it all in the next one: however many wait, it is one write to the log, or
// a few statements.
type group struct {
	// run does a batch in one transaction.
	run func(batch []*op) error
	// quick, if set, does what needs none, and returns the rest.
	quick func(batch []*op) (rest []*op)

	mu      sync.Mutex
	waiting []*op
	flowing bool // somebody writes; the others wait for it
}

// op is one request: exactly one of send, take, enter and settle is set.
type op struct {
	ctx    context.Context
	send   *sending
	take   *taking
	enter  *entering
	settle *settling
	err    error
	done   chan struct{}
}

func (o *op) size() int {
	if o.send != nil {
		return len(o.send.m.blob)
	}
	return 0
}

// add gives a request to the group and waits until it is done or refused. A
// caller whose context ends leaves only if its request was not taken yet.
func (g *group) add(o *op) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if !g.flowing {
		// Nobody writes: the caller does it itself, and saves a change of goroutine.
		g.flowing = true
		g.mu.Unlock()
		defer g.handOver()
		g.write([]*op{o})
		return o.err
	}
	o.done = make(chan struct{})
	g.waiting = append(g.waiting, o)
	g.mu.Unlock()
	select {
	case <-o.done:
	case <-o.ctx.Done():
		if g.withdraw(o) {
			return o.ctx.Err()
		}
		<-o.done
	}
	return o.err
}

func (g *group) withdraw(gone *op) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, gone)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// handOver ends the caller's turn: a goroutine goes on if something waits.
func (g *group) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flowing = len(g.waiting) > 0; g.flowing {
		go g.flow()
	}
}

// flow writes until nothing waits; an idle place has no goroutine for it.
func (g *group) flow() {
	for batch := g.next(); len(batch) > 0; batch = g.next() {
		g.write(batch)
		// Those who were just answered often have more to say: let them, and the
		// next flush of the disk is for all of them.
		runtime.Gosched()
	}
}

func (g *group) next() []*op {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, size := 0, 0
	for n < len(g.waiting) && n < maxGroup {
		if size += g.waiting[n].size(); n > 0 && size > maxGroupBytes {
			break
		}
		n++
	}
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.flowing = n > 0
	return batch
}

// write does what can be done quickly, and then the rest.
func (g *group) write(batch []*op) {
	if g.quick != nil {
		batch = g.quick(batch)
	}
	if len(batch) > 0 {
		g.together(batch)
	}
}

// together does a batch in one transaction and, only if that fails, each request by
// itself, so that one bad request harms nobody else.
func (g *group) together(batch []*op) {
	err := g.run(batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, store.ErrClosed) && !errors.Is(err, context.DeadlineExceeded) {
		for _, o := range batch {
			g.together([]*op{o})
		}
		return
	}
	for _, o := range batch {
		if o.err == nil {
			o.err = err
		}
		o.finish()
	}
}

// finish answers a request that somebody waits for.
func (o *op) finish() {
	if o.done != nil {
		close(o.done)
	}
}

// commit runs a batch in a transaction. Only messages wait for the disk: after a loss
// of power those that were taken come again, under their ids, and who was
// registered registers again.
func (p *Place) commit(batch []*op) (err error) {
	// What began is finished whatever becomes of its callers, unless the database
	// is stuck: then they must be let go.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), stuck)
	defer cancel()
	defer p.caught(&err)
	if err := p.ready(ctx, batch); err != nil {
		return err
	}
	soft := p.c.Sync == SyncOS || !slices.ContainsFunc(batch, func(o *op) bool { return o.send != nil })
	run := func(tx *store.Tx) error { return p.runBatch(tx, batch) }
	err = p.writeAs(ctx, soft, run)
	if store.IsConflict(err) {
		// Another hub was first with an idempotency key, and now it can be seen.
		err = p.writeAs(ctx, soft, run)
	}
	if err != nil {
		p.keys.forgetAll()
		p.front.undone()
		for _, o := range batch {
			if o.take != nil { // what it took is there again, for others who wait for it
				p.waiters.notify(o.take.q.AgentID)
			}
		}
	} else {
		p.front.committed(p.front.wrote, p.front.body, false)
	}
	return p.storage(err)
}

// ready has the database know what a transaction depends on: which parcel must never
// come back, and the fates of messages, if one might be repeated.
func (p *Place) ready(ctx context.Context, batch []*op) error {
	keyed := func(o *op) bool { return o.send != nil && o.send.m.idem != "" }
	if p.front.hasVoid() || p.front.owesFates() && slices.ContainsFunc(batch, keyed) {
		return p.Bundle(ctx)
	}
	return nil
}

// caught makes an error of a panic: one bad request must not take the hub with it.
func (p *Place) caught(err *error) {
	if cause := recover(); cause != nil {
		p.d.Log.Error("place: panic in a transaction", "panic", cause, "stack", string(debug.Stack()))
		*err = mmp.ErrInternal
	}
}

func (p *Place) writeAs(ctx context.Context, soft bool, fn func(*store.Tx) error) error {
	if soft {
		return p.d.DB.WriteSoft(ctx, fn)
	}
	return p.d.DB.Write(ctx, fn)
}

// refusal tells an answer of the protocol, which concerns one request, from
// trouble that undoes the whole transaction.
func refusal(err error) bool {
	_, is := errors.AsType[mmp.Error](err)
	return is
}
