package place

import (
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/board"
)

// tally is what a stretch of the audit adds up to.
type tally struct {
	// to is the number of its last entry, 0 if it has none.
	to     int64
	sums   map[hourKey]hourSum
	agents map[hourAgent]struct{}
	edges  map[[2]string]edgeSum
}

type hourAgent struct {
	hour  int64
	agent string
}

type edgeSum struct{ count, bytes, last int64 }

// maxTally bounds one stretch.
const maxTally = 20_000

// tallyOf adds up the entries after a number that were written before a time; 0 is
// all of them. Rows are not split.
func tallyOf(tx *store.Tx, after, before int64) (*tally, error) {
	t := &tally{sums: map[hourKey]hourSum{}, agents: map[hourAgent]struct{}{}, edges: map[[2]string]edgeSum{}}
	errDone := errors.New("enough")
	n := 0
	err := tx.Each(func(r *sql.Rows) error {
		row, err := scanAudit(r)
		if err != nil {
			return err
		}
		if before > 0 && (row.at >= before || n >= maxTally) {
			return errDone
		}
		for _, e := range row.unpack() {
			t.add(e)
			n++
		}
		t.to = row.seq
		return nil
	}, auditColumns+` WHERE seq > ? ORDER BY seq`, after)
	if errors.Is(err, errDone) {
		err = nil
	}
	return t, err
}

func (t *tally) add(e auditRow) {
	k := hourKey{e.at / hourMicros, e.event, e.action}
	s := t.sums[k]
	t.sums[k] = hourSum{s.count + 1, s.bytes + e.size}
	if e.event != board.AuditRelay {
		return
	}
	t.agents[hourAgent{k.hour, e.agent}] = struct{}{}
	t.agents[hourAgent{k.hour, e.other}] = struct{}{}
	if e.action == relay.Enqueue {
		edge := t.edges[[2]string{e.agent, e.other}]
		t.edges[[2]string{e.agent, e.other}] = edgeSum{edge.count + 1, edge.bytes + e.size, max(edge.last, e.at)}
	}
}

var (
	addHours = store.ManyRows(`INSERT INTO place_hours (hour, event, action, count, bytes) VALUES `, `(?, ?, ?, ?, ?)`,
		` ON CONFLICT (hour, event, action) DO UPDATE SET count = place_hours.count + excluded.count, bytes = place_hours.bytes + excluded.bytes`)
	addHourAgents = store.ManyRows(`INSERT INTO place_hour_agents (hour, agent) VALUES `, `(?, ?)`, ` ON CONFLICT DO NOTHING`)
	addEdges      = store.ManyRows(`INSERT INTO place_edges (sender, recipient, count, bytes, last_at) VALUES `, `(?, ?, ?, ?, ?)`,
		` ON CONFLICT (sender, recipient) DO UPDATE SET count = place_edges.count + excluded.count, bytes = place_edges.bytes + excluded.bytes,
			last_at = excluded.last_at`)
)

// keep adds the tally to the sums that are kept, always in the same order.
func (t *tally) keep(tx *store.Tx) error {
	var args []any
	for k, s := range t.sums {
		args = append(args, k.hour, k.event, k.action, s.count, s.bytes)
	}
	if err := addHours.Exec(tx, args); err != nil {
		return err
	}
	args = args[:0]
	agents := slices.SortedFunc(maps.Keys(t.agents), func(a, b hourAgent) int {
		return strings.Compare(a.agent, b.agent)
	})
	for _, a := range agents {
		args = append(args, a.hour, a.agent)
	}
	if err := addHourAgents.Exec(tx, args); err != nil {
		return err
	}
	args = args[:0]
	pairs := slices.SortedFunc(maps.Keys(t.edges), func(a, b [2]string) int {
		return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1])
	})
	for _, pair := range pairs {
		e := t.edges[pair]
		args = append(args, pair[0], pair[1], e.count, e.bytes, e.last)
	}
	return addEdges.Exec(tx, args)
}
