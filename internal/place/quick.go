package place

import (
	"context"
	"errors"
	"slices"

	"parley/internal/redo"
	"parley/internal/store"
	"parley/protocol/mmp"
)

// Most messages are put into a queue that this hub knows and fetched from there soon.
// Both need no transaction: they are decided by what is in memory, done there, and
// on disk when their parcel is in the log. The database gets the parcel later.

// errNotQuick says, before anything was done, that a request needs a transaction.
var errNotQuick = errors.New("place: this needs a transaction")

// doQuick does what can be done without a transaction, answers it, and returns the
// rest.
func (p *Place) doQuick(ops []*op) (rest []*op) {
	if !p.front.canBeQuick(ops) {
		return ops
	}
	b := p.newBatch(nil, ops)
	b.quick = true
	mine := make([]*op, 0, len(ops))
	for _, o := range ops {
		if b.decides(o) {
			mine = append(mine, o)
		} else {
			rest = append(rest, o)
		}
	}
	if len(mine) == 0 {
		return ops
	}
	left, err := b.runQuick(mine)
	if err != nil {
		p.d.Log.Error("place: the log or what it needs failed, the database goes on without it", "error", err)
		p.keys.forgetAll()
		p.front.resting.Store(true)
		p.front.broken = p.front.broken || errors.Is(err, redo.ErrBroken)
		p.front.void(b.held)
		p.front.undone()
		return ops
	}
	for _, o := range mine {
		if !slices.Contains(left, o) {
			o.finish()
		}
	}
	return append(rest, left...)
}

// void says that a parcel must not come back, though the log may have it: what it says
// is going to be done again.
func (f *front) void(h *held) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h != nil {
		f.voided = h.num
	}
}

// mostRecord is more than a record has besides a blob.
const mostRecord = 1 << 10

// canBeQuick tells whether there is room for what is asked, in memory and in the log.
func (f *front) canBeQuick(ops []*op) bool {
	if f.log == nil || f.broken || f.resting.Load() || f.dirty || f.unsure() || f.full() {
		return false
	}
	size := int64(0)
	for _, o := range ops {
		records := 1
		if o.take != nil {
			records = min(o.take.q.Limit, f.length(o.take.q.AgentID))
		}
		size += int64(o.size() + records*mostRecord)
	}
	return f.log.Fits(size)
}

func (f *front) length(queue string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queues[queue])
}

// decides tells whether what is in memory, and what may be read, is enough to decide
// a request.
func (b *batch) decides(o *op) bool {
	switch {
	case o.send != nil:
		m := o.send.m
		_, there := mmp.SplitAddress(m.recipient)
		_, here := mmp.SplitAddress(m.sender)
		return there == "" && here == "" && b.remembers(o.send.who, m.sender) && (b.bound(m.recipient) || b.remembers(Caller{}, m.recipient))
	case o.take != nil:
		q := &o.take.q
		return !q.ManualAck && b.remembers(o.take.who, q.AgentID) && !b.p.front.mayHaveRows(q.AgentID)
	}
	return false
}

// remembers tells whether it is known if an id has a key, or needs none. Keys are
// never looked up here: only a transaction knows that nobody changes them meanwhile.
func (b *batch) remembers(who Caller, id string) bool {
	if who.proves(id) {
		return true
	}
	at, known := b.p.keys.get(id)
	if known {
		b.keys[id] = at
	}
	return known
}

// runQuick does a batch and returns what turned out to need a transaction. After an
// error it is not known what is on the disk.
func (b *batch) runQuick(ops []*op) (left []*op, err error) {
	p := b.p
	defer p.caught(&err)
	p.front.dirty = true
	if b.asks(ops) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ops[0].ctx), stuck)
		defer cancel()
		err = p.d.DB.Read(ctx, func(tx *store.Tx) error {
			b.tx = tx
			left, err = b.doQuick(ops)
			return err
		})
	} else {
		left, err = b.doQuick(ops)
	}
	if err != nil {
		return nil, err
	}
	durable := p.c.Sync != SyncOS && slices.ContainsFunc(ops, func(o *op) bool { return o.send != nil })
	return left, p.logParcel(b, durable)
}

// asks tells whether the database must be asked something: about queues that are new
// here, idempotency keys, and messages that are not in memory.
func (b *batch) asks(ops []*op) bool {
	for _, o := range ops {
		switch {
		case o.send != nil:
			if o.send.m.idem != "" || !b.bound(o.send.m.recipient) {
				return true
			}
		case o.take != nil:
			found, _ := b.p.front.first(o.take.q.AgentID, o.take.q.Limit, b.now)
			if slices.ContainsFunc(found, b.p.front.asleep) {
				return true
			}
		}
	}
	return false
}

// asleep tells whether a message is only on the disk.
func (f *front) asleep(m *fresh) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return m.in.body == nil
}

func (b *batch) doQuick(ops []*op) (left []*op, err error) {
	if err := b.look(ops); err != nil {
		return nil, err
	}
	for _, do := range []func(*op) error{b.send, b.take} {
		for _, o := range ops {
			err := b.settle(o, do(o))
			switch {
			case errors.Is(err, errNotQuick):
				left = append(left, o)
			case err != nil:
				return nil, err
			}
		}
	}
	return left, nil
}

// logParcel makes what was done durable.
func (p *Place) logParcel(b *batch, durable bool) error {
	f := &p.front
	if b.held == nil {
		f.committed(nil, nil, false)
		return nil
	}
	f.appending.Lock()
	defer f.appending.Unlock()
	if err := f.log.Append(redo.Record{Num: b.held.num, At: b.held.at, Body: b.parcel}, durable); err != nil {
		return err
	}
	f.committed(b.held, b.parcel, true)
	if f.log.Used() > bundleBytes {
		select {
		case p.heavy <- struct{}{}:
		default:
		}
	}
	return nil
}

// bundleSoon bundles whenever there is much in the log.
func (p *Place) bundleSoon(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.heavy:
		}
		if err := p.Bundle(ctx); err != nil && ctx.Err() == nil {
			p.d.Log.Warn("place: the database does not take what is in the log", "error", err)
		}
	}
}
