package place

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"parley/internal/store"
)

// Parcels that follow each other go into one row of the database, a bundle: a few
// large rows cost less than many small ones. Its number is that of its last parcel.
const (
	bundleVersion = 2
	// bundleSize is about how large one gets, since a message is read with all of it.
	bundleSize = 128 << 10
	// bundleEvery is how long a parcel is only in the log, and bundleBytes how much is.
	bundleEvery = time.Second
	bundleBytes = 4 << 20
)

// appendParcel adds a parcel to a bundle and tells where its body begins.
func appendParcel(to []byte, h *held) (bundle []byte, base int) {
	if len(to) == 0 {
		to = append(to, bundleVersion)
	}
	to = binary.AppendVarint(to, h.num)
	to = binary.AppendVarint(to, h.at)
	to = binary.AppendUvarint(to, uint64(len(h.body)))
	return append(to, h.body...), len(to)
}

// eachParcel reads a row: a bundle, or a parcel by itself.
func eachParcel(num, at int64, row []byte, do func(h *held) error) error {
	if len(row) == 0 {
		return errParcel
	}
	if row[0] != bundleVersion {
		return do(&held{num: num, at: at, row: num, body: row, size: len(row)})
	}
	r := &parcelReader{rest: row[1:]}
	for len(r.rest) > 0 {
		h := &held{num: r.number(), at: r.number(), row: num}
		h.body = r.bytes()
		if r.bad {
			return errParcel
		}
		h.base, h.size = len(row)-len(r.rest)-len(h.body), len(h.body)
		if err := do(h); err != nil {
			return err
		}
	}
	return nil
}

// bundled is where parcels are in the database.
type bundled struct {
	h    *held
	row  int64
	base int
}

// writeBundles gives parcels of the log to the database, with what became of the
// messages that can be asked for.
func writeBundles(tx *store.Tx, pending []*held) (where []bundled, err error) {
	for len(pending) > 0 {
		var row []byte
		n := 0
		for n < len(pending) && len(row) < bundleSize && (n == 0 || pending[n].num == pending[n-1].num+1) {
			var base int
			row, base = appendParcel(row, pending[n])
			where = append(where, bundled{h: pending[n], base: base})
			n++
		}
		last := pending[n-1]
		for i := range where[len(where)-n:] {
			where[len(where)-n+i].row = last.num
		}
		if _, err := tx.Exec(`INSERT INTO place_parcels (num, at, body) VALUES (?, ?, ?)`, last.num, last.at, row); err != nil {
			return nil, err
		}
		if err := writeFates(tx, pending[:n]); err != nil {
			return nil, err
		}
		if pending = pending[n:]; len(pending) == 0 {
			err = setMeta(tx, "bundled", strconv.FormatInt(last.num, 10))
		}
	}
	return where, err
}

func writeFates(tx *store.Tx, parcels []*held) error {
	for _, h := range parcels {
		if h.fates == 0 {
			continue
		}
		err := eachRecord(h.body, func(rec record) error {
			if rec.kind != recFate {
				return nil
			}
			return rec.m.received(tx, store.Time(h.at))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// received writes the row of a message that was handed out without ever having one.
func (m *message) received(tx *store.Tx, now time.Time) error {
	_, err := tx.Exec(`INSERT`+intoMessage+`, num) VALUES (?, ?, ?, '', ?, ?, ?, ?, 1, ?, '', ?, ?, ?, ?, 0, 0, 0, ?, ?)`,
		m.id, m.sender, m.recipient, m.kind, m.hash, m.size, store.Bool(m.proven), stateReceived, m.idem,
		store.Micros(m.created), store.Micros(m.expires), store.Micros(now), []byte{}, m.num)
	return err
}

// Bundle gives the database what only the log has, and the audit what it does not
// know yet. It happens by itself; a backup begins with it.
func (p *Place) Bundle(ctx context.Context) error {
	f := &p.front
	if !f.on {
		return nil
	}
	f.bundling.Lock()
	defer f.bundling.Unlock()
	pending, untold, voided := f.toBundle()
	if len(pending) == 0 && len(untold) == 0 && len(f.settled) == 0 && voided == 0 {
		return nil
	}
	var where []bundled
	var told int64
	err := p.writeSynced(ctx, func(tx *store.Tx) (err error) {
		if where, err = writeBundles(tx, pending); err != nil {
			return err
		}
		if voided > 0 { // it is newer than what waits
			if err := setMeta(tx, "bundled", strconv.FormatInt(voided, 10)); err != nil {
				return err
			}
		}
		told, err = tellAudit(tx, untold)
		return err
	})
	f.failing.Store(err != nil)
	if err != nil {
		return err
	}
	f.wasBundled(where, told, voided)
	for _, settled := range f.settled {
		settled()
	}
	f.settled = nil
	f.resting.Store(false)
	return nil
}

// toBundle switches the log to its other file and tells what the database does not
// have of the one before.
func (f *front) toBundle() (pending, untold []*held, voided int64) {
	f.appending.Lock()
	defer f.appending.Unlock()
	if f.log != nil && f.log.Used() > 0 {
		if settled, ok := f.log.Switch(); ok {
			f.settled = append(f.settled, settled)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*held(nil), f.pending...), append([]*held(nil), f.untold...), f.voided
}

// wasBundled says what the database has now.
func (f *front) wasBundled(where []bundled, told, voided int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.voided == voided {
		f.voided = 0
	}
	for _, one := range where {
		one.h.row, one.h.base = one.row, one.base
		f.fates -= one.h.fates
	}
	f.pending = append([]*held(nil), f.pending[len(where):]...)
	f.hasTold(told)
	f.trim()
}

// hasTold forgets which parcels the audit has. It is called with the lock held.
func (f *front) hasTold(told int64) {
	f.told = max(f.told, told)
	n := 0
	for ; n < len(f.untold) && f.untold[n].num <= f.told; n++ {
		if f.untold[n].open == 0 {
			f.drop(f.untold[n])
		}
	}
	f.untold = append([]*held(nil), f.untold[n:]...)
}
