package relay

import (
	"context"
	"database/sql"
	"hash/fnv"
	"slices"
	"time"

	"parley.internal/internal/store"
)

// table is the ledger of hubs that share a PostgreSQL database: it remembers nothing
// and asks. A turn has the queues it sends to locked, so that limits are exact and
// numbers come in the order of commits; receivers get disjoint messages, since each
// passes by what another has locked.
type table struct {
	db     *store.DB
	counts map[string]int64 // of the turn
}

// open forgets what a backup of a hub with a file of its own brought along: numbers are
// others here, and would be misread where this is restored.
func (l *table) open(ctx context.Context) (int64, error) {
	return 0, l.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM place_meta WHERE name = '` + since + `'`)
		return err
	})
}

func (*table) remember(context.Context) error { return nil }
func (*table) end(*turn)                      {}
func (*table) came(*Message)                  {}
func (*table) went(*Message)                  {}
func (*table) lend(string, []any, time.Time)  {}

var (
	lockAll  = store.ManyRows(`SELECT count(pg_advisory_xact_lock(h)) FROM (VALUES `, `(?::bigint)`, `) t(h)`)
	countAll = store.ManyRows(`SELECT recipient, count(*) FROM place_messages WHERE state = 0 AND expires_at > ? AND recipient IN (`, `?`, `) GROUP BY recipient`)
)

// Lock keeps others that name the same things waiting until the transaction ends.
// Everybody locks in the same order. SQLite has one writer and needs nothing.
func Lock(tx *store.Tx, things []string) error {
	if tx.Dialect() != store.Postgres {
		return nil
	}
	numbers := make([]int64, 0, len(things))
	for _, thing := range things {
		h := fnv.New64a()
		_, _ = h.Write([]byte(thing))
		numbers = append(numbers, int64(h.Sum64())) //nolint:gosec // any number will do
	}
	slices.Sort(numbers)
	var args []any
	for _, n := range slices.Compact(numbers) {
		args = append(args, n)
	}
	return lockAll.Exec(tx, args)
}

func (l *table) begin(t *turn, queues []string) error {
	l.counts = map[string]int64{}
	var locks []string
	var args []any
	for _, queue := range queues {
		if _, ok := l.counts[queue]; !ok {
			l.counts[queue] = 0
			locks, args = append(locks, "queue "+queue), append(args, queue)
		}
	}
	if err := Lock(t.tx, locks); err != nil {
		return err
	}
	now := store.Micros(t.now)
	return countAll.Run(t.tx, args, func(query string, args []any) error {
		return t.tx.Each(func(r *sql.Rows) error {
			var queue string
			var n int64
			err := r.Scan(&queue, &n)
			l.counts[queue] = n
			return err
		}, query, append([]any{now}, args...)...)
	})
}

// count follows what the turn does by what it put into its queues and took out.
func (l *table) count(t *turn, queue string) (int64, error) {
	return l.counts[queue] + t.came[queue], nil
}

const waiting = `recipient = ? AND state = 0 AND expires_at > ?`

func (*table) front(t *turn, queue string, limit int) (found []*Message, more bool, err error) {
	// What another receiver of this turn has must be out of the queue.
	if err := t.writeGone(); err != nil {
		return nil, false, err
	}
	now := store.Micros(t.now)
	found, err = whole(t.tx, selectWhole+waiting+` AND leased_until <= ? ORDER BY num LIMIT ? FOR UPDATE SKIP LOCKED`, queue, now, now, limit)
	if err != nil || len(found) < limit {
		return found, false, err
	}
	// It is asked apart: locking one row too many would make other receivers pass it by.
	err = t.tx.QueryRow(`SELECT count(*) > 0 FROM (SELECT 1 FROM place_messages WHERE `+waiting+` AND leased_until <= ? AND num > ? LIMIT 1) t`,
		queue, now, now, found[len(found)-1].Num).Scan(&more)
	return found, more, err
}

func (*table) lent(t *turn, _, id string) (*Message, error) {
	found, err := heads(t.tx, selectHeads+`id = ?`+t.tx.ForUpdate(), id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func (*table) expired(t *turn, limit int) ([]*Message, error) {
	return heads(t.tx, selectHeads+`state = 0 AND expires_at <= ? ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED`, store.Micros(t.now), limit)
}

func (l *table) overdue(ctx context.Context, now time.Time) (some bool, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) > 0 FROM (SELECT 1 FROM place_messages WHERE state = 0 AND expires_at <= ? LIMIT 1) t`, store.Micros(now)).Scan(&some)
	})
	return some, err
}

func (*table) entries(tx *store.Tx, t *turn, queue string, now time.Time) (out []entry, err error) {
	if t != nil {
		if err := t.write(); err != nil {
			return nil, err
		}
	}
	err = tx.Each(func(r *sql.Rows) error {
		var e entry
		err := r.Scan(&e.num, &e.expires, &e.leased, &e.sender, &e.size)
		out = append(out, e)
		return err
	}, `SELECT num, expires_at, leased_until, sender, size FROM place_messages WHERE `+waiting+` ORDER BY num`, queue, store.Micros(now))
	return out, err
}

func (*table) sum(tx *store.Tx, now time.Time) (out Sum, err error) {
	var oldest sql.NullInt64
	err = tx.QueryRow(`SELECT count(*), count(DISTINCT recipient), min(created_at), COALESCE(sum(size), 0), COALESCE(max(size), 0) FROM place_messages
		WHERE state = 0 AND expires_at > ?`, store.Micros(now)).Scan(&out.Messages, &out.Queues, &oldest, &out.Bytes, &out.Biggest)
	if oldest.Valid {
		out.Oldest = store.Time(oldest.Int64)
	}
	return out, err
}

func (*table) fullest(tx *store.Tx, limit int, which func(queue string) bool, now time.Time) (out []Status, err error) {
	us := store.Micros(now)
	err = tx.Each(func(r *sql.Rows) error {
		var s Status
		var oldest, newest int64
		err := r.Scan(&s.Queue, &s.Pending, &s.Leased, &s.Bytes, &oldest, &newest, &s.Outgoing)
		s.Oldest, s.Newest = store.Time(oldest), store.Time(newest)
		if len(out) < limit && which(s.Queue) {
			out = append(out, s)
		}
		return err
	}, `SELECT recipient, count(CASE WHEN leased_until <= ? THEN 1 END), count(CASE WHEN leased_until > ? THEN 1 END),
			sum(size), min(created_at), max(created_at), max(peer) <> ''
		FROM place_messages WHERE state = 0 AND expires_at > ? GROUP BY recipient ORDER BY 2 DESC, 1`, us, us, us)
	return out, err
}

func (*table) names(tx *store.Tx) (out []string, err error) {
	err = tx.Each(func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		out = append(out, name)
		return err
	}, `SELECT DISTINCT recipient FROM place_messages WHERE state = 0 AND peer = ''`)
	return out, err
}
