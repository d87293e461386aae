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
	p.reload(ops[0].ctx)
	room := p.front.room(ops)
	b := p.newBatch(nil, ops)
	b.quick = true
	if room.sends || room.takes {
		b.learnKeys(ops)
	}
	mine := make([]*op, 0, len(ops))
	for _, o := range ops {
		switch {
		case o.send != nil && room.refuses:
			o.err = mmp.ErrStorage
			o.finish()
		case (o.send != nil && room.sends || o.take != nil && room.takes) && b.decides(o):
			mine = append(mine, o)
		default:
			rest = append(rest, o)
		}
	}
	if len(mine) == 0 {
		return rest
	}
	left, err := b.runQuick(mine)
	if err != nil {
		p.d.Log.Error("place: the log or what it needs failed, the database goes on without it", "error", err)
		p.keys.forgetAll()
		p.front.resting.Store(true)
		p.front.broken = p.front.broken || errors.Is(err, redo.ErrBroken)
		p.front.void(b.held)
		p.front.undone()
		return append(rest, mine...)
	}
	for _, o := range mine {
		if !slices.Contains(left, o) {
			o.finish()
		}
	}
	return append(rest, left...)
}

// reload reads the front anew if that is needed, so that what only takes does not
// depend on a database that can be written.
func (p *Place) reload(ctx context.Context) {
	f := &p.front
	if !f.on || !f.dirty {
		return
	}
	// What is read must not be older than what is only in the log is newer than.
	f.bundling.Lock()
	defer f.bundling.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stuck)
	defer cancel()
	if err := p.d.DB.Read(ctx, p.loadFront); err != nil {
		p.d.Log.Error("place: the newest messages cannot be read", "error", err)
		f.undone()
		return
	}
	f.dirty = false
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

func (f *front) hasVoid() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.voided != 0
}

const (
	// mostRecord is more than a record has besides a blob.
	mostRecord = 1 << 10
	// forTakes is left in the log by sends, so that a full disk still lets messages go.
	forTakes = 256 << 10
)

// roomFor is what there is room for without a transaction; sends are refused when
// there is none in the database either.
type roomFor struct{ sends, takes, refuses bool }

// room looks for it in memory and in the log. It is made before anything is done: what
// cannot be logged would have to be undone.
func (f *front) room(ops []*op) (out roomFor) {
	if f.log == nil || f.broken || f.resting.Load() || f.dirty || f.unsure() {
		return out
	}
	var sending, taking int64
	for _, o := range ops {
		switch {
		case o.send != nil:
			sending += int64(o.size()) + mostRecord
		case o.take != nil:
			taking += int64(min(o.take.q.Limit, f.length(o.take.q.AgentID))) * mostRecord
			out.takes = true
		}
	}
	if sending > 0 && !f.full() {
		err := f.log.Reserve(sending + taking + forTakes)
		out.sends, out.refuses = err == nil, err != nil && f.failing.Load()
	}
	out.takes = out.takes && (out.sends || f.log.Reserve(taking) == nil)
	return out
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
		return there == "" && here == "" && b.remembers(o.send.who, m.sender) && (b.bound(m.recipient) || b.remembers(Visitor{}, m.recipient))
	case o.take != nil:
		q := &o.take.q
		return !q.ManualAck && b.remembers(o.take.who, q.AgentID) && !b.p.front.mayHaveRows(q.AgentID)
	}
	return false
}

// learnKeys looks up the keys that are not known, in a transaction that writes nothing:
// only there nobody changes them meanwhile. Even a full disk lets that happen.
func (b *batch) learnKeys(ops []*op) {
	var unknown names
	want := func(who Visitor, id string) {
		if !b.remembers(who, id) {
			unknown.add(id)
		}
	}
	for _, o := range ops {
		switch {
		case o.send != nil:
			want(o.send.who, o.send.m.sender)
			if !b.bound(o.send.m.recipient) {
				want(Visitor{}, o.send.m.recipient)
			}
		case o.take != nil:
			want(o.take.who, o.take.q.AgentID)
		}
	}
	if len(unknown.args) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ops[0].ctx), stuck)
	defer cancel()
	err := b.p.d.DB.WriteSoft(ctx, func(tx *store.Tx) error {
		return (&batch{p: b.p, tx: tx, keys: map[string]int64{}}).lookKeys(unknown.args)
	})
	if err != nil {
		b.p.keys.forgetAll()
	}
}

// remembers tells whether it is known if an id has a key, or needs none.
func (b *batch) remembers(who Visitor, id string) bool {
	if who.holds(id) {
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
