package lease

import (
	"database/sql"
	"strings"

	"parley/internal/store"
)

// CheckAll is Check for many leases with few queries. The answer has a verdict
// for each: nil or ErrLost. The error is a failure of the database.
func CheckAll(tx *store.Tx, leases []*Lease) ([]error, error) {
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
