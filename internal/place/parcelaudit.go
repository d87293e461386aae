package place

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"

	"parley/internal/store"
)

// What a parcel says happened is the audit's entry of it, on disk with the act. The
// audit takes it over within a second, and before anything is written to it or read
// from it otherwise; a number in place_meta says how far it has come.

// maxTold is how many entries the audit is told in one transaction.
const maxTold = 1000

func auditedTo(tx *store.Tx) (int64, error) {
	text, err := getMeta(tx, "parcels")
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// tellAudit writes the entries of parcels that it does not have yet, in order.
func tellAudit(tx *store.Tx, most int) (audited int64, more bool, err error) {
	if audited, err = auditedTo(tx); err != nil {
		return audited, false, err
	}
	before, errMore := audited, errors.New("more")
	var told []auditRow
	err = tx.Each(func(r *sql.Rows) error {
		if len(told) >= most {
			return errMore
		}
		var num, at int64
		var body []byte
		if err := r.Scan(&num, &at, &body); err != nil {
			return err
		}
		audited = num
		return eachRecord(body, false, func(rec record) error {
			if e, ok := rec.entry(at); ok {
				told = append(told, e)
			}
			return nil
		})
	}, `SELECT num, at, body FROM place_parcels WHERE num > ? ORDER BY num`, audited)
	if more = errors.Is(err, errMore); err != nil && !more || audited == before {
		return audited, more, err
	}
	if err := writeEntries(tx, told); err != nil {
		return before, false, err
	}
	return audited, more, setMeta(tx, "parcels", strconv.FormatInt(audited, 10))
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
	if !p.front.behind() {
		return nil
	}
	_, _, err := tellAudit(tx, math.MaxInt)
	return err
}

// audited is for those who are going to read the audit.
func (p *Place) audited(ctx context.Context) error {
	if !p.front.behind() {
		return nil
	}
	var told int64
	err := p.writeSoft(ctx, func(tx *store.Tx) (err error) {
		told, _, err = tellAudit(tx, math.MaxInt)
		return err
	})
	if err == nil {
		p.front.tell(told)
	}
	return err
}
