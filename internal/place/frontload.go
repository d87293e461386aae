package place

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"parley/internal/redo"
	"parley/internal/store"
)

// loadFront reads the parcels of the database, and has those that are only in the log
// from memory.
func (p *Place) loadFront(tx *store.Tx) error {
	f := &p.front
	audited, err := auditedTo(tx)
	if err != nil {
		return err
	}
	bundled, err := metaNumber(tx, "bundled")
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.reset()
	f.last, f.told = max(f.last, audited, bundled), audited
	pending := append([]*held(nil), f.pending...)
	f.mu.Unlock()
	known := map[int64]*fresh{}
	// Each in its turn: one may speak of messages of another.
	load := func(before int64) error {
		for len(pending) > 0 && pending[0].num < before {
			h := pending[0]
			pending = pending[1:]
			if h.num <= bundled {
				continue
			}
			h.messages, h.open = nil, 0
			if err := p.loadParcel(h, known); err != nil {
				return err
			}
		}
		return nil
	}
	err = tx.Each(func(r *sql.Rows) error {
		var num, at int64
		var row []byte
		if err := r.Scan(&num, &at, &row); err != nil {
			return err
		}
		err := eachParcel(num, at, row, func(h *held) error {
			if err := load(h.num); err != nil {
				return err
			}
			return p.loadParcel(h, known)
		})
		if err != nil {
			return fmt.Errorf("parcel %d: %w", num, err)
		}
		return nil
	}, `SELECT num, at, body FROM place_parcels ORDER BY num`)
	if err != nil {
		return err
	}
	return load(math.MaxInt64)
}

func (p *Place) loadParcel(h *held, known map[int64]*fresh) error {
	f, body := &p.front, h.body
	f.mu.Lock()
	f.parcels = append(f.parcels, h)
	f.last = max(f.last, h.num)
	if f.keep(h, body); h.num <= f.told {
		f.untold = f.untold[:len(f.untold)-1]
	}
	f.trim()
	f.mu.Unlock()
	return eachFresh(body, func(num int64, m *fresh) {
		p.lastNum = max(p.lastNum, num)
		if m != nil {
			known[num] = m
			f.add(h, m)
		} else if m := known[num]; m != nil {
			f.leave(m)
			delete(known, num)
		}
	})
}

// openFront reads what is there at the start. Where other hubs write too, there is
// no front: what a backup brought along gets rows.
func (p *Place) openFront(ctx context.Context) error {
	f := &p.front
	f.on = !p.d.Clustered && p.d.DB.Dialect() == store.SQLite
	f.most, f.awake = frontCount, frontBytes
	if err := p.recover(ctx); err != nil {
		return err
	}
	if f.on {
		return p.read(ctx, func(tx *store.Tx) error {
			if err := p.loadFront(tx); err != nil {
				return err
			}
			return p.loadQueues(tx)
		})
	}
	some := false
	err := p.read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) > 0 FROM place_parcels`).Scan(&some)
	})
	if err != nil || !some {
		return err
	}
	err = p.write(ctx, p.unpackAll)
	f.reset()
	f.last, f.told = 0, 0
	return err
}

// recover opens the log and gives the database what it had not yet when a hub before
// this one ended.
func (p *Place) recover(ctx context.Context) error {
	if p.d.Dir == "" || p.d.DB.Dialect() != store.SQLite {
		return nil
	}
	var owner string
	var bundled int64
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		if owner, err = getMeta(tx, "redo"); err == nil {
			bundled, err = metaNumber(tx, "bundled")
		}
		return err
	})
	if err != nil {
		return err
	}
	log, found, err := redo.Open(p.d.Dir, owner)
	if err != nil {
		return err
	}
	if p.front.on {
		p.front.log = log
	} else {
		defer func() { _ = log.Close() }()
	}
	var pending []*held
	for _, r := range found {
		if r.Num <= bundled {
			continue
		}
		h := &held{num: r.Num, at: r.At, body: r.Body}
		if h.fates, err = countFates(r.Body); err != nil {
			return fmt.Errorf("parcel %d of the log: %w", r.Num, err)
		}
		pending = append(pending, h)
	}
	if len(pending) > 0 {
		err = p.write(ctx, func(tx *store.Tx) error {
			_, err := writeBundles(tx, pending)
			return err
		})
		if err != nil {
			return err
		}
		p.d.Log.Info("place: took over what was only in the log", "parcels", len(pending))
	}
	return log.Reset()
}

func countFates(body []byte) (n int, err error) {
	err = eachRecord(body, func(rec record) error {
		if rec.kind == recFate {
			n++
		}
		return nil
	})
	return n, err
}

// unpackAll gives everything rows.
func (p *Place) unpackAll(tx *store.Tx) error {
	if tx.Dialect() == store.Postgres {
		if err := lockAll.Exec(tx, []any{lockOf("place parcels")}); err != nil {
			return err
		}
	}
	if err := p.loadFront(tx); err != nil {
		return err
	}
	if err := p.catchUp(tx); err != nil {
		return err
	}
	b := &batch{p: p, tx: tx}
	found, err := b.open(p.front.oldest(math.MaxInt64, math.MaxInt))
	if err != nil {
		return err
	}
	var rows []any
	for _, m := range found {
		rows = appendRow(rows, tx.Dialect(), m)
	}
	insert := newMessages[tx.Dialect()]
	if err := insert.Exec(tx, rows); err != nil {
		return err
	}
	_, err = tx.Exec(`DELETE FROM place_parcels`)
	return err
}

// loadQueues finds the queues that have rows, one look each.
func (p *Place) loadQueues(tx *store.Tx) error {
	f := &p.front
	return tx.Each(func(r *sql.Rows) error {
		var name sql.NullString
		err := r.Scan(&name)
		if name.Valid && !f.allRows {
			f.mu.Lock()
			f.hasRows(name.String)
			f.mu.Unlock()
		}
		return err
	}, `WITH RECURSIVE q(name) AS (SELECT min(recipient) FROM place_messages WHERE state = 0
			UNION ALL SELECT (SELECT min(recipient) FROM place_messages WHERE state = 0 AND recipient > q.name) FROM q WHERE q.name IS NOT NULL)
		SELECT name FROM q LIMIT ?`, maxCounted+2)
}
