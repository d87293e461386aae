package eventlog

import (
	"database/sql"
	"slices"

	"parley.internal/internal/store"
)

// move takes events out of the journal, into their places. It only looks at the
// journal's memory; done changes it, after the commit.
func (j *journal) move(tx *store.Tx) (moved, error) {
	if !j.loaded {
		return moved{loaded: true}, moveLeftovers(tx)
	}
	m := j.choose()
	if len(m.streams) == 0 {
		return m, nil
	}
	if err := placeRuns(tx, m.streams); err != nil {
		return m, err
	}
	return m, deleteRows(tx, m.rows)
}

func deleteRows(tx *store.Tx, rows []int64) error {
	for _, row := range rows {
		if _, err := tx.Exec(`DELETE FROM event_journal WHERE id = ?`, row); err != nil {
			return err
		}
	}
	return nil
}

// choose picks the streams that have waited longest until the rest fits.
func (j *journal) choose() (m moved) {
	events, size := j.events, j.bytes
	for _, p := range j.order {
		if events <= j.most && size <= journalBytes {
			break
		}
		events, size = events-p.events, size-p.bytes
		m.streams = append(m.streams, p)
	}
	m.rows = j.emptied(m.streams)
	return m
}

// emptied lists the rows of which nothing waits once these streams have moved.
func (j *journal) emptied(streams []*pending) (rows []int64) {
	left := map[int64]int{}
	for _, p := range streams {
		for _, r := range p.runs {
			left[r.row] += r.events()
		}
	}
	for row, n := range left {
		if n >= j.rows[row] {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows
}

// moveLeftovers empties the journal that another life of the hub, or a backup,
// left behind.
func moveLeftovers(tx *store.Tx) error {
	found := map[int64]*pending{}
	var streams []*pending
	err := eachRow(tx, func(row int64, block []byte) error {
		return eachRun(block, func(id int64, data []byte) error {
			p := found[id]
			if p == nil {
				p = &pending{id: id}
				found[id] = p
				streams = append(streams, p)
			}
			first, last, err := boundsOf(data)
			p.runs = append(p.runs, run{row: row, first: first, last: last, data: data})
			return err
		})
	})
	if err != nil || len(streams) == 0 {
		return err
	}
	if err := placeRuns(tx, streams); err != nil {
		return err
	}
	_, err = tx.Exec(`DELETE FROM event_journal`)
	return err
}

// placeRuns puts the runs of streams into their places, joined. Some may be there
// already, and what was trimmed or deleted meanwhile stays gone.
func placeRuns(tx *store.Tx, streams []*pending) error {
	oldest, err := oldestOf(tx, streams)
	if err != nil {
		return err
	}
	var args []any
	for _, p := range streams {
		from, there := oldest[p.id]
		if !there {
			continue
		}
		for _, r := range joined(p.runs) {
			if r.last >= from {
				args = append(args, p.id, r.last, r.data)
			}
		}
	}
	return inRows(args, runWidth, putRuns, func(query string, args []any) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

// joined makes one run of those that follow one another, up to what a reader
// likes to read at once.
func joined(runs []run) []run {
	var all []run
	size := 0
	for _, r := range runs {
		size += len(r.data)
	}
	for _, r := range runs {
		n := len(all) - 1
		if n < 0 || all[n].last+1 != r.first || len(all[n].data) > joinedRun {
			r.data = append(make([]byte, 0, min(size, joinedRun+smallRun)), r.data...)
			all = append(all, r)
			continue
		}
		all[n].last = r.last
		all[n].data = append(all[n].data, afterHead(r.data)...)
	}
	return all
}

// joinedRun is about four pages of the database.
const joinedRun = 16 << 10

func oldestOf(tx *store.Tx, streams []*pending) (map[int64]int64, error) {
	args := make([]any, len(streams))
	for i, p := range streams {
		args[i] = p.id
	}
	oldest := make(map[int64]int64, len(streams))
	err := inRows(args, 1, askStreams, func(query string, args []any) error {
		return tx.Each(func(row *sql.Rows) error {
			var id, from int64
			if err := row.Scan(&id, &from); err != nil {
				return err
			}
			oldest[id] = from
			return nil
		}, query, args...)
	})
	return oldest, err
}

// scrub takes a stream out of the journal's rows: its id may be given again.
func (j *journal) scrub(tx *store.Tx, gone int64) error {
	changed := map[int64][]byte{}
	err := eachRow(tx, func(row int64, block []byte) error {
		kept, hit := []byte{}, false
		err := eachRun(block, func(id int64, run []byte) error {
			if id == gone {
				hit = true
			} else {
				kept = appendBlock(kept, id, run)
			}
			return nil
		})
		if hit {
			changed[row] = kept
		}
		return err
	})
	for row, block := range changed {
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE event_journal SET data = ? WHERE id = ?`, block, row)
	}
	if p := j.pending[gone]; p != nil && err == nil {
		err = deleteRows(tx, j.emptied([]*pending{p}))
	}
	return err
}
