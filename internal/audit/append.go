package audit

import (
	"database/sql"
	"errors"
	"strings"

	"parley.internal/internal/store"
)

// insertRows is how many entries one statement writes: a round trip to
// PostgreSQL costs more than a row.
const insertRows = 32

const insertColumns = `INSERT INTO audit_entries (seq, at, actor, on_behalf_of, action, target, outcome, duration, digest, detail, prev, hash) VALUES `

const insertValues = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

var (
	insertOne  = insertColumns + insertValues
	insertMany = insertColumns + insertValues + strings.Repeat(", "+insertValues, insertRows-1)
)

// AppendTx appends entries in the transaction of the act they describe: both
// are kept or neither. The end of the chain stays locked until the commit, so
// call it last, in a transaction that is short.
func (l *Chain) AppendTx(tx *store.Tx, entries ...Entry) error {
	prepared := make([]canonicalEntry, len(entries))
	for i, e := range entries {
		var err error
		if prepared[i], err = l.prepare(e); err != nil {
			return err
		}
	}
	_, err := l.appendPrepared(tx, prepared)
	return err
}

// appendPrepared links entries to the chain and returns its new end.
func (l *Chain) appendPrepared(tx *store.Tx, entries []canonicalEntry) (head, error) {
	end, err := l.lockHead(tx)
	if err != nil || len(entries) == 0 {
		return end, err
	}
	rows := make([][]any, len(entries))
	for i, c := range entries {
		c.Seq = end.seq + 1
		next, err := c.link(end.hash)
		if err != nil {
			return head{}, err
		}
		rows[i] = []any{
			c.Seq, c.At, c.Actor, c.OnBehalf, c.Action, c.Target, c.Outcome, c.Duration, c.Digest, string(c.Detail),
			append([]byte{}, end.hash[:]...), append([]byte{}, next[:]...),
		}
		end = head{seq: c.Seq, hash: next}
	}
	if err := insert(tx, rows); err != nil {
		return head{}, err
	}
	_, err = tx.Exec(`UPDATE audit_head SET seq = ?, hash = ? WHERE one = 1`, end.seq, end.hash[:])
	return end, err
}

func insert(tx *store.Tx, rows [][]any) error {
	for len(rows) >= insertRows {
		args := make([]any, 0, insertRows*len(rows[0]))
		for _, row := range rows[:insertRows] {
			args = append(args, row...)
		}
		if _, err := tx.Exec(insertMany, args...); err != nil {
			return err
		}
		rows = rows[insertRows:]
	}
	for _, row := range rows {
		if _, err := tx.Exec(insertOne, row...); err != nil {
			return err
		}
	}
	return nil
}

// head is the end of the chain.
type head struct {
	seq  int64
	hash Hash
}

// lockHead reads the end of the chain and keeps others from appending until the
// transaction ends.
func (l *Chain) lockHead(tx *store.Tx) (head, error) {
	end, err := scanHead(tx, tx.ForUpdate())
	if err == nil {
		l.watch(end)
	}
	return end, err
}

// watch finds an end of the chain that lies before what this hub has written itself:
// somebody cut the trail while the hub runs.
func (l *Chain) watch(end head) {
	l.mu.Lock()
	seen := l.seen
	cut := end.seq < seen.seq || end.seq == seen.seq && end.hash != seen.hash
	if cut {
		l.seen = end // told once
	}
	l.mu.Unlock()
	if !cut {
		return
	}
	found := Cut{After: min(end.seq, seen.seq-1), UpTo: seen.seq, Kept: "the memory of this hub", hash: seen.hash}
	l.opts.Logger.Error("the audit trail was cut", "ends_at", end.seq, "written_up_to", seen.seq)
	l.Note(foundEntry(found))
}

func readHead(tx *store.Tx) (head, error) { return scanHead(tx, "") }

func scanHead(tx *store.Tx, lock string) (head, error) {
	var h head
	var hash []byte
	err := tx.QueryRow(`SELECT seq, hash FROM audit_head WHERE one = 1`+lock).Scan(&h.seq, &hash)
	h.hash = exactHash(hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoEnd
	}
	return h, err
}

// exactHash takes a column for a hash only if it is one, so that bytes tacked
// on to it do not go unnoticed.
func exactHash(column []byte) (h Hash) {
	if len(column) == len(h) {
		copy(h[:], column)
	}
	return h
}
