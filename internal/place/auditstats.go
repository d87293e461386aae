package place

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
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

// rollUp sums what has settled, a stretch at a time: the writer is not kept from
// others while it is added up.
func (p *Place) rollUp(ctx context.Context) error {
	before := store.Micros(p.now().Add(-settle))
	for {
		var t *tally
		var from int64
		err := p.read(ctx, func(tx *store.Tx) (err error) {
			if from, err = rolledTo(tx); err == nil {
				t, err = tallyOf(tx, from, before)
			}
			return err
		})
		if err != nil || t.to == 0 {
			return err
		}
		err = p.writeSoft(ctx, func(tx *store.Tx) error {
			// Another hub may have summed it meanwhile.
			if now, err := rolledTo(tx); err != nil || now != from {
				return err
			}
			if err := t.keep(tx); err != nil {
				return err
			}
			return setMeta(tx, "rolled", strconv.FormatInt(t.to, 10))
		})
		if err != nil {
			return err
		}
	}
}

// sums adds kept and fresh sums since an hour; 0 is all time.
func sums(tx *store.Tx, since int64, rest *tally) (map[hourKey]hourSum, error) {
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
	for k, s := range rest.sums {
		if k.hour >= since {
			had := out[k]
			out[k] = hourSum{had.count + s.count, had.bytes + s.bytes}
		}
	}
	return out, nil
}

// restOf adds up what is not in the sums that are kept.
func restOf(tx *store.Tx) (*tally, error) {
	from, err := rolledTo(tx)
	if err != nil {
		return nil, err
	}
	return tallyOf(tx, from, 0)
}

// uniqueAgents counts, per hour, whoever took part in the relay.
func uniqueAgents(tx *store.Tx, since int64, rest *tally) (map[int64]int64, error) {
	out := map[int64]int64{}
	err := tx.Each(func(r *sql.Rows) error {
		var hour, n int64
		err := r.Scan(&hour, &n)
		out[hour] = n
		return err
	}, `SELECT hour, count(*) FROM place_hour_agents WHERE hour >= ? GROUP BY hour`, since)
	if err != nil {
		return nil, err
	}
	for a := range rest.agents {
		if a.hour < since {
			continue
		}
		var counted int64
		if err := tx.QueryRow(`SELECT count(*) FROM place_hour_agents WHERE hour = ? AND agent = ?`, a.hour, a.agent).Scan(&counted); err != nil {
			return nil, err
		}
		out[a.hour] += 1 - counted
	}
	return out, nil
}

// AuditStats sums the audit.
func (p *Place) AuditStats(ctx context.Context, who Visitor, hours int) (board.AuditStats, error) {
	out := board.AuditStats{Hourly: map[string]board.AuditHour{}}
	if p.c.Auth == Strict && !who.Operator() && who.Agent == "" {
		return out, mmp.ErrAuthRequired
	}
	now := p.now()
	first := store.Micros(now)/hourMicros - int64(hours) + 1
	err := p.read(ctx, func(tx *store.Tx) error {
		rest, err := restOf(tx)
		if err != nil {
			return err
		}
		all, err := sums(tx, 0, rest)
		if err != nil {
			return err
		}
		agents, err := uniqueAgents(tx, first, rest)
		if err != nil {
			return err
		}
		out.Summary, err = p.summary(tx, all)
		for i, name := range board.HourKeys(now, hours) {
			hour := first + int64(i)
			h := board.AuditHour{UniqueAgents: agents[hour]}
			for _, action := range []string{relay.Enqueue, relay.Dequeue} {
				s := all[hourKey{hour, board.AuditRelay, action}]
				h.RelayCount += s.count
				h.TotalBytes += s.bytes
			}
			out.Hourly[name] = h
		}
		return err
	})
	return out, err
}

func (p *Place) summary(tx *store.Tx, all map[hourKey]hourSum) (board.AuditSummary, error) {
	s := board.AuditSummary{StartedAt: mmp.At(p.remember.since)}
	for k, v := range all {
		switch {
		case k.event == board.AuditRelay && (k.action == relay.Enqueue || k.action == relay.Dequeue):
			s.TotalRelays += v.count
			s.TotalBytesRelayed += v.bytes
		case k.event == board.AuditRelay && k.action == relay.Drop:
			s.TotalDropped += v.count
		case k.event == board.AuditRelay && k.action == relay.Refusal:
			s.TotalRefused += v.count
		case k.event == board.AuditRelay && k.action == relay.Expiry:
			s.TotalExpired += v.count
		case k.event == board.AuditRegistration && k.action != "unregister":
			s.TotalRegistrations += v.count
		case k.event == board.AuditKeyRegistration:
			s.TotalKeyRegistrations += v.count
		case k.event == board.AuditBulletin && k.action == "post":
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
