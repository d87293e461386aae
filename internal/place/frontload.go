package place

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"parley/internal/store"
)

// loadFront reads the parcels.
func (p *Place) loadFront(tx *store.Tx) error {
	f := &p.front
	f.mu.Lock()
	f.reset()
	f.mu.Unlock()
	audited, err := auditedTo(tx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.last, f.told = max(f.last, audited), audited
	f.mu.Unlock()
	known := map[int64]*message{}
	return tx.Each(func(r *sql.Rows) error {
		h := &held{}
		var body []byte
		if err := r.Scan(&h.num, &h.at, &body); err != nil {
			return err
		}
		f.mu.Lock()
		f.parcels = append(f.parcels, h)
		f.last = max(f.last, h.num)
		f.mu.Unlock()
		err := eachRecord(body, true, func(rec record) error {
			if rec.m == nil {
				return nil
			}
			p.lastNum = max(p.lastNum, rec.m.num)
			if rec.kind == recMessage {
				known[rec.m.num] = rec.m
				f.add(h, rec.m)
			} else if m := known[rec.m.num]; m != nil {
				f.leave(m)
				delete(known, rec.m.num)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("parcel %d: %w", h.num, err)
		}
		return nil
	}, `SELECT num, at, body FROM place_parcels ORDER BY num`)
}

// openFront reads what is there at the start. Where other hubs write too, there is
// no front: what a backup brought along gets rows.
func (p *Place) openFront(ctx context.Context) error {
	p.front.on = !p.d.Clustered && p.d.DB.Dialect() == store.SQLite
	p.front.most = frontCount
	if p.front.on {
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
	p.front.reset()
	p.front.last, p.front.told = 0, 0
	return err
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
	if _, _, err := tellAudit(tx, math.MaxInt); err != nil {
		return err
	}
	var rows []any
	for _, m := range p.front.oldest(math.MaxInt64, math.MaxInt) {
		rows = appendRow(rows, tx.Dialect(), m)
	}
	insert := newMessages[tx.Dialect()]
	if err := insert.Exec(tx, rows); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM place_parcels`)
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
