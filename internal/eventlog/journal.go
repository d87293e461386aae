package eventlog

import (
	"database/sql"
	"encoding/binary"
	"slices"
	"sync"

	"parley.internal/internal/store"
)

// Events are kept by stream, so that replaying one reads neighbours. Under load
// that is expensive to write: a thousand streams with one new event each change
// a thousand pages, fifty times a second. A transaction with many streams on
// SQLite therefore puts all of it into one row of the journal, and later ones
// move it to its place when a stream has many events to move.
//
// What is in the journal is on disk like everything else, and readers look into
// it. The same events are kept in memory, to be moved and to be read quickly.
const (
	// journalFrom is how many streams a transaction has before it uses the journal.
	journalFrom = 16
	// journalMost is how many events wait there before they begin to move:
	// enough that a thousand streams have a page full each.
	journalMost = 64 << 10
	// journalBytes bounds them in memory.
	journalBytes = 16 << 20
)

type journal struct {
	from, most int

	mu      sync.RWMutex // turns change it, readers read
	loaded  bool
	pending map[int64]*pending
	order   []*pending    // who has waited longest comes first
	rows    map[int64]int // events of each row that still wait
	events  int
	bytes   int
}

// pending is what one stream has in the journal.
type pending struct {
	id     int64
	runs   []run
	events int
	bytes  int
}

// run is consecutive events of one stream, in one row of the journal.
type run struct {
	row         int64
	first, last int64
	data        []byte
}

func (r run) events() int { return int(r.last - r.first + 1) }

func newJournal() journal {
	return journal{from: journalFrom, most: journalMost, pending: map[int64]*pending{}, rows: map[int64]int{}}
}

// moved is what a transaction takes out of the journal.
type moved struct {
	streams []*pending
	rows    []int64 // that are empty afterwards
	loaded  bool
}

// done follows the database after a transaction was committed.
func (j *journal) done(b *batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.loaded = j.loaded || b.moved.loaded
	for _, p := range b.moved.streams {
		j.forget(p)
	}
	j.order = j.order[len(b.moved.streams):]
	if b.row == 0 {
		return
	}
	events := 0
	for i := range b.heads {
		if h := &b.heads[i]; len(h.run) <= smallRun {
			r := run{row: b.row, first: h.first(), last: h.last, data: h.run}
			j.keep(h.id, r)
			events += r.events()
		}
	}
	j.rows[b.row] = events
}

func (j *journal) keep(id int64, r run) {
	p := j.pending[id]
	if p == nil {
		p = &pending{id: id}
		j.pending[id] = p
		j.order = append(j.order, p)
	}
	n := r.events()
	p.runs = append(p.runs, r)
	p.events, p.bytes = p.events+n, p.bytes+len(r.data)
	j.events, j.bytes = j.events+n, j.bytes+len(r.data)
}

func (j *journal) forget(p *pending) {
	delete(j.pending, p.id)
	j.events, j.bytes = j.events-p.events, j.bytes-p.bytes
	for _, r := range p.runs {
		if j.rows[r.row] -= r.events(); j.rows[r.row] <= 0 {
			delete(j.rows, r.row)
		}
	}
}

// drop forgets a stream that was deleted.
func (j *journal) drop(id int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p := j.pending[id]; p != nil {
		j.forget(p)
		j.order = slices.DeleteFunc(j.order, func(other *pending) bool { return other == p })
	}
}

// A row of the journal is a list of streams: id, size of the run, the run.
func appendBlock(block []byte, id int64, run []byte) []byte {
	block = binary.AppendUvarint(block, uint64(id))
	block = binary.AppendUvarint(block, uint64(len(run)))
	return append(block, run...)
}

// eachRun calls fn for every stream of a row.
func eachRun(block []byte, fn func(id int64, run []byte) error) error {
	for len(block) > 0 {
		id, n := binary.Uvarint(block)
		if n <= 0 {
			return errTorn
		}
		run, rest, ok := cut(block[n:])
		if !ok {
			return errTorn
		}
		if err := fn(int64(id), run); err != nil {
			return err
		}
		block = rest
	}
	return nil
}

// eachRow calls fn for every row of the journal, oldest first.
func eachRow(tx *store.Tx, fn func(row int64, block []byte) error) error {
	return tx.Each(func(rows *sql.Rows) error {
		var row int64
		var block []byte
		if err := rows.Scan(&row, &block); err != nil {
			return err
		}
		return fn(row, block)
	}, `SELECT id, data FROM event_journal ORDER BY id`)
}
