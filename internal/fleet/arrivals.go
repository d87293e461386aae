package fleet

import (
	"context"
	"database/sql"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/store"
)

// arrivals writes down connections, many at a time: after a restart a whole fleet
// comes back at once, and a transaction for a hundred machines costs little more
// than one for one: that they are connected, and that it happened.
type arrivals struct {
	f       *Fleet
	mu      sync.Mutex
	waiting []*arrival
	flowing bool // somebody writes; the others wait for it
	departs time.Time
}

// arrival is one connection on its way to the disk.
type arrival struct {
	s     *Session
	meta  string
	stamp int64
	// key is the public key if it is used for the first time; retires says that
	// older ones end with that.
	key     string
	retires bool
	event   telemetry.Event

	written bool
	err     error
	done    chan struct{}
}

const (
	// arrivalsMost bounds one transaction.
	arrivalsMost = 128
	// Those who come soon after a transaction share the next one: the wait is in
	// proportion to what one takes, and nobody sees it, since the machine has its
	// policy already.
	arrivalRest  = 50 * time.Millisecond
	arrivalShare = 5
)

// add returns when the connection is on disk, or why it cannot be.
func (a *arrivals) add(n *arrival) error {
	n.done = make(chan struct{})
	a.mu.Lock()
	a.waiting = append(a.waiting, n)
	if !a.flowing {
		a.flowing = true
		a.f.work.Go(a.flow)
	}
	a.mu.Unlock()
	<-n.done
	return n.err
}

// flow writes until nothing waits.
func (a *arrivals) flow() {
	for {
		a.mu.Lock()
		wait := time.Until(a.departs)
		a.mu.Unlock()
		if wait > 0 {
			time.Sleep(wait)
		} else {
			runtime.Gosched() // those who were just let in may have company
		}
		a.mu.Lock()
		n := min(len(a.waiting), arrivalsMost)
		batch := a.waiting[:n:n]
		a.waiting = a.waiting[n:]
		a.flowing = n > 0
		a.mu.Unlock()
		if n == 0 {
			return
		}
		began := time.Now()
		a.write(batch)
		a.mu.Lock()
		a.departs = time.Now().Add(min(arrivalShare*time.Since(began), arrivalRest))
		a.mu.Unlock()
	}
}

// write puts a batch on disk. One that may not be written harms no other.
func (a *arrivals) write(batch []*arrival) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.f.ctx), writeTime)
	defer cancel()
	// In one order, so that two who write the same rows do not wait for each other.
	slices.SortFunc(batch, func(x, y *arrival) int { return strings.Compare(x.s.m.id, y.s.m.id) })
	err := a.f.d.DB.Write(ctx, func(tx *store.Tx) error {
		var good []*arrival
		for _, n := range batch {
			n.written = false
			if n.err = n.s.check(tx); n.err == nil {
				good = append(good, n)
			}
		}
		return a.store(tx, good)
	})
	for _, n := range batch {
		switch {
		case n.err != nil:
		case err != nil:
			n.err = err
		case !n.written:
			n.err = errRemoved
		default:
			a.f.tell(Change{Kind: "event", Machine: n.s.m.id})
		}
		close(n.done)
	}
}

// store writes rows, events and the keys that were used for the first time.
func (a *arrivals) store(tx *store.Tx, all []*arrival) error {
	if err := a.storeRows(tx, all); err != nil {
		return err
	}
	var first []*arrival
	events := make([]telemetry.Event, 0, len(all))
	for _, n := range all {
		if !n.written {
			continue
		}
		events = append(events, n.event)
		switch {
		case n.key == "":
		case n.retires:
			if err := a.f.proved(tx, n.s.m.id, n.key, n.stamp, true); err != nil {
				return err
			}
		default:
			first = append(first, n)
		}
	}
	if err := telemetry.PutEvents(tx, events); err != nil {
		return err
	}
	args := make([]any, 0, 3*len(first))
	for _, n := range first {
		args = append(args, n.s.m.id, n.key, n.stamp)
	}
	return keysProved.Exec(tx, args)
}

const (
	online = `UPDATE fleet_machines SET meta = v.column2, state = v.column3, hub = v.column4, epoch = v.column5,
		connected_at = v.column6, last_seen = v.column6, changed_at = v.column6 FROM (VALUES `
	onlineRow = `(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT))`
	onlineEnd = `) AS v WHERE fleet_machines.id = v.column1 AND fleet_machines.removed_at = 0`
)

var (
	machinesOnline = store.ManyRows(online, onlineRow, onlineEnd)
	// machinesKnown is the same and tells which of them there are.
	machinesKnown = store.ManyRows(online, onlineRow, onlineEnd+` RETURNING id`)
	keysProved    = store.ManyRows(`UPDATE fleet_keys SET proved_at = v.column3 FROM (VALUES `, `(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT))`,
		`) AS v WHERE fleet_keys.machine = v.column1 AND fleet_keys.public_key = v.column2`)
)

func (a *arrivals) storeRows(tx *store.Tx, all []*arrival) error {
	args := make([]any, 0, arrivalWidth*len(all))
	for _, n := range all {
		args = append(args, n.s.m.id, n.meta, wasOnline, a.f.hub, n.s.epoch, n.stamp)
	}
	return machinesOnline.Run(tx, args, func(query string, args []any) error {
		some := all[:len(args)/arrivalWidth]
		all = all[len(some):]
		n, err := tx.Exec(query, args...)
		if err != nil {
			return err
		}
		if n != int64(len(some)) {
			return a.findKnown(tx, some, args)
		}
		for _, n := range some {
			n.written = true
		}
		return nil
	})
}

// arrivalWidth is how many values a row has.
const arrivalWidth = 6

// findKnown writes rows of which some are not there any more, and learns which.
func (a *arrivals) findKnown(tx *store.Tx, some []*arrival, args []any) error {
	byID := make(map[string]*arrival, len(some))
	for _, n := range some {
		byID[n.s.m.id] = n
	}
	return machinesKnown.Run(tx, args, func(query string, args []any) error {
		return tx.Each(func(row *sql.Rows) error {
			var id string
			err := row.Scan(&id)
			if n := byID[id]; n != nil {
				n.written = true
			}
			return err
		}, query, args...)
	})
}
