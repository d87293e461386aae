package place

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"parley/internal/store"
)

// What a parcel says happened is the audit's entry of it, on disk with the act. The
// audit takes it over within a second, and before anything is written to it or read
// from it otherwise; a number in place_meta says how far it has come.

func auditedTo(tx *store.Tx) (int64, error) { return metaNumber(tx, "parcels") }

// metaNumber is a number the place remembers; 0 if it is not there.
func metaNumber(tx *store.Tx, name string) (int64, error) {
	text, err := getMeta(tx, name)
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// tellAudit writes the entries of parcels that it does not have yet, in order. What
// was told meanwhile may be newer than they are: numbers follow the clock all the
// same.
func tellAudit(tx *store.Tx, parcels []*held) (told int64, err error) {
	if len(parcels) == 0 {
		return 0, nil
	}
	audited, err := auditedTo(tx)
	if err != nil || parcels[len(parcels)-1].num <= audited {
		return audited, err
	}
	var newest int64
	err = tx.QueryRow(`SELECT at FROM place_audit ORDER BY seq DESC LIMIT 1`).Scan(&newest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return audited, err
	}
	var entries []auditRow
	for _, h := range parcels {
		if h.num <= audited {
			continue
		}
		err := eachRecord(h.body, func(rec record) error {
			if e, ok := rec.entry(max(h.at, newest)); ok {
				entries = append(entries, e)
			}
			return nil
		})
		if err != nil {
			return audited, err
		}
	}
	if err := writeEntries(tx, entries); err != nil {
		return audited, err
	}
	told = parcels[len(parcels)-1].num
	return told, setMeta(tx, "parcels", strconv.FormatInt(told, 10))
}

// writeEntries writes entries, those of one moment and event as a pack.
func writeEntries(tx *store.Tx, all []auditRow) error {
	var single []any
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].at == all[0].at && all[n].event == all[0].event {
			n++
		}
		if e := &all[0]; n == 1 || tx.Dialect() != store.SQLite {
			for _, e := range all[:n] {
				single = append(single, e.at, e.event, e.action, e.agent, e.other, e.ref, e.kind, e.size, e.hash, e.detailRaw)
			}
		} else {
			if err := writeNotes(tx, single); err != nil {
				return err
			}
			single = single[:0]
			var lines []byte
			for _, e := range all[:n] {
				lines = packEntry(lines, e.action, e.agent, e.other, e.ref, e.kind, e.size, e.hash, e.detailRaw)
			}
			if err := writePack(tx, e.at, e.event, n, lines); err != nil {
				return err
			}
		}
		all = all[n:]
	}
	return writeNotes(tx, single)
}

// catchUp tells the audit everything that came before what is going to be written
// to it: its numbers follow the clock.
func (p *Place) catchUp(tx *store.Tx) error {
	_, err := tellAudit(tx, p.front.notTold())
	return err
}

// audited is for those who are going to read the audit.
func (p *Place) audited(ctx context.Context) error {
	if !p.front.behind() {
		return nil
	}
	return p.Bundle(ctx)
}

func (f *front) notTold() []*held {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*held(nil), f.untold...)
}
