package lease

import (
	"database/sql"
	"strconv"
	"strings"

	"parley.internal/internal/store"
)

// CheckAll is Check for many leases with few queries. The answer has a verdict
// for each: nil or ErrLost. The error is a failure of the database.
func CheckAll(tx *store.Tx, leases []*Lease) ([]error, error) {
	if verdicts, err := checkAlone(tx, leases); verdicts != nil || err != nil {
		return verdicts, err
	}
	if all, err := allHeld(tx, leases); all || err != nil {
		return make([]error, len(leases)), err
	}
	return checkEach(tx, leases)
}

// checkAlone answers for a hub that is alone on its database: as long as it is the
// only member there, nobody can have taken anything from it, and what it gave up
// itself it knows. Whoever comes to be alone removes the members before it, so one
// row fences all leases. nil means that each must be looked at.
func checkAlone(tx *store.Tx, leases []*Lease) ([]error, error) {
	if len(leases) < allFrom || !leases[0].leases.opts.Alone {
		return nil, nil
	}
	mine := leases[0].leases
	for _, l := range leases {
		if l.leases != mine {
			return nil, nil
		}
	}
	var members int
	var id sql.NullString
	if err := tx.QueryRow(`SELECT count(*), max(id) FROM hubs`).Scan(&members, &id); err != nil || members != 1 || id.String != mine.id {
		return nil, err
	}
	verdicts := make([]error, len(leases))
	for i, l := range leases {
		if l.gone() {
			verdicts[i] = ErrLost
		}
	}
	return verdicts, nil
}

// allFrom is how many leases make it worth while to hand them to SQLite as one list.
const allFrom = 8

// allHeld tells whether every lease is current, by counting those that are: nearly
// always all of them, and cheaper to know than which. false means that it does not know.
func allHeld(tx *store.Tx, leases []*Lease) (bool, error) {
	if tx.Dialect() != store.SQLite || len(leases) < allFrom {
		return false, nil
	}
	owner, list := leases[0].leases.id, make([]byte, 1, 64*len(leases))
	list[0] = '{'
	for i, l := range leases {
		if l.leases.id != owner || strings.ContainsFunc(l.name, needsEscape) {
			return false, nil
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(append(append(list, '"'), l.name...), '"', ':')
		list = strconv.AppendInt(list, l.epoch, 10)
	}
	list = append(list, '}')
	// A name that is there twice is counted twice, as it is in leases.
	var n int
	err := tx.QueryRow(`SELECT count(*) FROM json_each(?) v CROSS JOIN leases l ON l.name = v.key AND l.epoch = v.value WHERE l.owner = ?`,
		string(list), owner).Scan(&n)
	return n == len(leases), err
}

func needsEscape(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }

func checkEach(tx *store.Tx, leases []*Lease) ([]error, error) {
	type title struct {
		name, owner string
		epoch       int64
	}
	found := make(map[title]bool, len(leases))
	for rest := leases; len(rest) > 0; {
		n := chunk(len(rest))
		args := make([]any, n)
		for i, l := range rest[:n] {
			args[i] = l.name
		}
		err := tx.Each(func(row *sql.Rows) error {
			var t title
			if err := row.Scan(&t.name, &t.owner, &t.epoch); err != nil {
				return err
			}
			found[t] = true
			return nil
		}, `SELECT name, owner, epoch FROM leases WHERE name IN (?`+strings.Repeat(", ?", n-1)+`)`+tx.ForShare(), args...)
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	verdicts := make([]error, len(leases))
	for i, l := range leases {
		if !found[title{l.name, l.leases.id, l.epoch}] {
			l.drop()
			verdicts[i] = ErrLost
		}
	}
	return verdicts, nil
}

// chunk is the largest power of two up to n, at most 128, so that few different
// texts are prepared.
func chunk(n int) int {
	c := 1
	for c*2 <= n && c < 128 {
		c *= 2
	}
	return c
}
