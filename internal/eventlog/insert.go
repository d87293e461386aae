package eventlog

import (
	"encoding/binary"
	"strings"

	"parley.internal/internal/store"
)

// smallRun is what a stream may have in a transaction to pass through the
// journal; a larger run fills most of a page by itself and goes to its place.
const smallRun = 2048

// insert writes what the streams got: to the journal, or to the table.
func (b *batch) insert(tx *store.Tx) error {
	var block []byte
	var args []any
	if b.journal {
		block = make([]byte, 0, b.size())
	}
	for i := range b.heads {
		h := &b.heads[i]
		if b.journal && len(h.run) <= smallRun {
			block = appendBlock(block, h.id, h.run)
			continue
		}
		seq := h.first()
		for _, e := range h.entries {
			for _, ev := range e.events {
				args = appendRow(args, h.id, seq, store.Micros(b.at), ev)
				seq++
			}
		}
	}
	if len(block) > 0 {
		if err := tx.QueryRow(`INSERT INTO event_journal (data) VALUES (?) RETURNING id`, block).Scan(&b.row); err != nil {
			return err
		}
	}
	return insertRows(tx, args)
}

// size is enough for all runs in one block.
func (b *batch) size() (size int) {
	for i := range b.heads {
		size += len(b.heads[i].run) + 2*binary.MaxVarintLen64
	}
	return size
}

func appendRow(args []any, id, seq, at int64, ev Event) []any {
	if ev.Data == nil {
		ev.Data = []byte{}
	}
	return append(args, id, seq, at, ev.Kind, ev.Data)
}

func insertRows(tx *store.Tx, args []any) error {
	return inRows(args, eventWidth, newEvents[tx.Dialect()], func(query string, args []any) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

// texts are one statement for 1, 2, 4 … 128 rows: few texts to prepare and
// keep, and few calls for many rows.
type texts [8]string

func rowTexts(before, row, after string) (t texts) {
	for k := range t {
		t[k] = before + row + strings.Repeat(", "+row, 1<<k-1) + after
	}
	return t
}

// inRows runs a statement for many rows of so many values each.
func inRows(args []any, width int, t texts, run func(query string, args []any) error) error {
	for k := len(t) - 1; k >= 0; k-- {
		for n := width << k; len(args) >= n; args = args[n:] {
			if err := run(t[k], args[:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	intoEvents = ` INTO events (stream, seq, at, kind, data) VALUES `
	eventRow   = `(?, ?, ?, ?, ?)`
	eventWidth = 5
	runWidth   = 3
)

// SQLite need not keep a copy of each page it changes to undo a statement of
// many rows: with OR FAIL a statement is never undone by itself, and the
// transaction is, if one fails.
var (
	newEvents = map[store.Dialect]texts{
		store.SQLite:   rowTexts(`INSERT OR FAIL`+intoEvents, eventRow, ``),
		store.Postgres: rowTexts(`INSERT`+intoEvents, eventRow, ``),
	}
	askStreams = rowTexts(`SELECT id, oldest_seq FROM streams WHERE id IN (`, `?`, `)`)
	putRuns    = rowTexts(`INSERT INTO event_runs (stream, last_seq, data) VALUES `, `(?, ?, ?)`, ` ON CONFLICT DO NOTHING`)
)
