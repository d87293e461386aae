package place

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
)

// Sums are kept by hour up to an entry's number; what came after it is added when
// somebody asks. The sweeper moves the number on, so the rest stays short.

const hourMicros = int64(time.Hour / time.Microsecond)

// settle is how long entries stay unsummed: longer than any transaction, so that
// none with a smaller number commits after the sum was made.
const settle = 10 * time.Second

type hourKey struct {
	hour          int64
	event, action string
}

type hourSum struct{ count, bytes int64 }

func rolledTo(tx *store.Tx) (int64, error) {
	text, err := getMeta(tx, "rolled")
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// rollUp sums what has settled.
func (p *Place) rollUp(ctx context.Context) error {
	before := store.Micros(p.now().Add(-settle))
	return p.write(ctx, func(tx *store.Tx) error {
		from, err := rolledTo(tx)
		if err != nil {
			return err
		}
		var to sql.NullInt64
		if err := tx.QueryRow(`SELECT max(seq) FROM (SELECT seq, at FROM place_audit WHERE seq > ? ORDER BY seq LIMIT 20000) t WHERE at < ?`, from, before).Scan(&to); err != nil {
			return err
		}
		if !to.Valid {
			return nil
		}
		return rollRange(tx, from, to.Int64)
	})
}

func rollRange(tx *store.Tx, from, to int64) error {
	for _, query := range []string{
		`INSERT INTO place_hours (hour, event, action, count, bytes)
			SELECT at / 3600000000, event, action, count(*), sum(size) FROM place_audit WHERE seq > ? AND seq <= ? GROUP BY 1, 2, 3
			ON CONFLICT (hour, event, action) DO UPDATE SET count = place_hours.count + excluded.count, bytes = place_hours.bytes + excluded.bytes`,
		`INSERT INTO place_hour_agents (hour, agent)
			SELECT DISTINCT at / 3600000000, agent FROM place_audit WHERE seq > ? AND seq <= ? AND event = 'relay' ON CONFLICT DO NOTHING`,
		`INSERT INTO place_hour_agents (hour, agent)
			SELECT DISTINCT at / 3600000000, other FROM place_audit WHERE seq > ? AND seq <= ? AND event = 'relay' ON CONFLICT DO NOTHING`,
		`INSERT INTO place_edges (sender, recipient, count, bytes, last_at)
			SELECT agent, other, count(*), sum(size), max(at) FROM place_audit WHERE seq > ? AND seq <= ? AND event = 'relay' AND action = 'enqueue' GROUP BY 1, 2
			ON CONFLICT (sender, recipient) DO UPDATE SET count = place_edges.count + excluded.count, bytes = place_edges.bytes + excluded.bytes,
				last_at = excluded.last_at`,
	} {
		// SQLite wants a WHERE before ON CONFLICT of an INSERT … SELECT; each has one.
		if _, err := tx.Exec(query, from, to); err != nil {
			return err
		}
	}
	return setMeta(tx, "rolled", strconv.FormatInt(to, 10))
}

// sums adds kept and fresh sums since an hour; 0 is all time.
func sums(tx *store.Tx, since int64) (map[hourKey]hourSum, error) {
	from, err := rolledTo(tx)
	if err != nil {
		return nil, err
	}
	out := map[hourKey]hourSum{}
	add := func(r *sql.Rows) error {
		var k hourKey
		var s hourSum
		if err := r.Scan(&k.hour, &k.event, &k.action, &s.count, &s.bytes); err != nil {
			return err
		}
		had := out[k]
		out[k] = hourSum{had.count + s.count, had.bytes + s.bytes}
		return nil
	}
	if err := tx.Each(add, `SELECT hour, event, action, count, bytes FROM place_hours WHERE hour >= ?`, since); err != nil {
		return nil, err
	}
	return out, tx.Each(add, `SELECT at / 3600000000, event, action, count(*), COALESCE(sum(size), 0) FROM place_audit
		WHERE seq > ? AND at >= ? GROUP BY 1, 2, 3`, from, since*hourMicros)
}

// uniqueAgents counts, per hour, whoever took part in the relay.
func uniqueAgents(tx *store.Tx, since int64) (map[int64]int64, error) {
	from, err := rolledTo(tx)
	if err != nil {
		return nil, err
	}
	out := map[int64]int64{}
	err = tx.Each(func(r *sql.Rows) error {
		var hour, n int64
		err := r.Scan(&hour, &n)
		out[hour] = n
		return err
	}, `SELECT hour, count(*) FROM (
			SELECT hour, agent FROM place_hour_agents WHERE hour >= ?
			UNION SELECT at / 3600000000, agent FROM place_audit WHERE seq > ? AND at >= ? AND event = 'relay'
			UNION SELECT at / 3600000000, other FROM place_audit WHERE seq > ? AND at >= ? AND event = 'relay') u GROUP BY hour`,
		since, from, since*hourMicros, from, since*hourMicros)
	return out, err
}

// AuditStats sums the audit.
func (p *Place) AuditStats(ctx context.Context, who Caller, hours int) (mmp.AuditStats, error) {
	out := mmp.AuditStats{Hourly: map[string]mmp.AuditHour{}}
	if p.c.Auth == Strict && !who.Operator && who.Agent == "" {
		return out, mmp.ErrAuthRequired
	}
	now := p.now()
	first := store.Micros(now)/hourMicros - int64(hours) + 1
	err := p.read(ctx, func(tx *store.Tx) error {
		all, err := sums(tx, 0)
		if err != nil {
			return err
		}
		agents, err := uniqueAgents(tx, first)
		if err != nil {
			return err
		}
		out.Summary, err = p.summary(tx, all)
		for i, name := range mmp.HourKeys(now, hours) {
			hour := first + int64(i)
			h := mmp.AuditHour{UniqueAgents: agents[hour]}
			for _, action := range []string{actEnqueue, actDequeue} {
				s := all[hourKey{hour, mmp.AuditRelay, action}]
				h.RelayCount += s.count
				h.TotalBytes += s.bytes
			}
			out.Hourly[name] = h
		}
		return err
	})
	return out, err
}

func (p *Place) summary(tx *store.Tx, all map[hourKey]hourSum) (mmp.AuditSummary, error) {
	s := mmp.AuditSummary{StartedAt: mmp.At(p.remember.since)}
	for k, v := range all {
		switch {
		case k.event == mmp.AuditRelay && (k.action == actEnqueue || k.action == actDequeue):
			s.TotalRelays += v.count
			s.TotalBytesRelayed += v.bytes
		case k.event == mmp.AuditRelay && k.action == actDropped:
			s.TotalDropped += v.count
		case k.event == mmp.AuditRelay && k.action == actRefused:
			s.TotalRefused += v.count
		case k.event == mmp.AuditRelay && k.action == actExpired:
			s.TotalExpired += v.count
		case k.event == mmp.AuditRegistration && k.action != "unregister":
			s.TotalRegistrations += v.count
		case k.event == mmp.AuditKeyRegistration:
			s.TotalKeyRegistrations += v.count
		case k.event == mmp.AuditBulletin && k.action == "post":
			s.TotalBulletinPosts += v.count
		}
	}
	var last sql.NullInt64
	err := tx.QueryRow(`SELECT at FROM place_audit ORDER BY seq DESC LIMIT 1`).Scan(&last)
	if last.Valid {
		s.LastActivityAt = mmp.At(store.Time(last.Int64))
	}
	if noRows(err) {
		err = nil
	}
	return s, err
}
