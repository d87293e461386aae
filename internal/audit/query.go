package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/internal/store"
)

// Filter chooses entries. Empty fields choose everything.
type Filter struct {
	Actor    string
	OnBehalf string
	// Action matches as a prefix: "token." finds every act on tokens.
	Action  string
	Target  string
	Outcome string
	// Since and Until bound the time: from Since on, before Until.
	Since, Until time.Time
	// After and Before bound the numbers, both exclusive; zero does not bound.
	After, Before int64
	// Limit is how many at most (default 100, at most 10,000).
	Limit int
	// Oldest takes the first that match instead of the last.
	Oldest bool
}

// where is the filter as SQL.
func (f Filter) where() (string, []any) {
	var clauses []string
	var args []any
	add := func(used bool, clause string, values ...any) {
		if used {
			clauses, args = append(clauses, clause), append(args, values...)
		}
	}
	add(f.Actor != "", "actor = ?", f.Actor)
	add(f.OnBehalf != "", "on_behalf_of = ?", f.OnBehalf)
	add(f.Action != "", "substr(action, 1, ?) = ?", utf8.RuneCountInString(f.Action), f.Action)
	add(f.Target != "", "target = ?", f.Target)
	add(f.Outcome != "", "outcome = ?", f.Outcome)
	add(!f.Since.IsZero(), "at >= ?", store.Micros(f.Since))
	add(!f.Until.IsZero(), "at < ?", store.Micros(f.Until))
	add(f.After > 0, "seq > ?", f.After)
	add(f.Before > 0, "seq < ?", f.Before)
	if len(clauses) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(clauses, " AND "), args
}

func (f Filter) limit() int {
	if f.Limit <= 0 {
		return 100
	}
	return min(f.Limit, 10_000)
}

// Query finds entries, always in the order of their numbers.
func (l *Chain) Query(ctx context.Context, f Filter) ([]Record, error) {
	where, args := f.where()
	order := " ORDER BY seq DESC LIMIT ?"
	if f.Oldest {
		order = " ORDER BY seq LIMIT ?"
	}
	records := []Record{}
	err := l.db.Read(ctx, func(tx *store.Tx) error {
		records = records[:0]
		return tx.Each(func(row *sql.Rows) error {
			s, err := scanStored(row)
			if err != nil {
				return err
			}
			r, err := s.record()
			records = append(records, r)
			return err
		}, selectEntries+where+order, append(args, f.limit())...)
	})
	if !f.Oldest {
		slices.Reverse(records)
	}
	return records, err
}

// HourCount is how much happened in the hour that starts at Hour (UTC).
type HourCount struct {
	Hour  time.Time `json:"hour"`
	Count int64     `json:"count"`
	// Failed are those of them whose outcome is not ok.
	Failed int64 `json:"failed"`
}

// Hours counts the entries that match, by hour; hours without any are left out.
// Limit, Oldest and the numbers' bounds of the filter do not matter here.
func (l *Chain) Hours(ctx context.Context, f Filter) ([]HourCount, error) {
	f.After, f.Before = 0, 0
	where, args := f.where()
	counts := []HourCount{}
	err := l.db.Read(ctx, func(tx *store.Tx) error {
		counts = counts[:0]
		return tx.Each(func(row *sql.Rows) error {
			var hour, n, failed int64
			err := row.Scan(&hour, &n, &failed)
			counts = append(counts, HourCount{Hour: time.Unix(hour*3600, 0).UTC(), Count: n, Failed: failed})
			return err
		}, `SELECT at / 3600000000 AS hour, count(*), sum(CASE WHEN outcome = 'ok' THEN 0 ELSE 1 END) FROM audit_entries`+where+` GROUP BY at / 3600000000 ORDER BY at / 3600000000`, args...)
	})
	return counts, err
}

const selectEntries = `SELECT seq, at, actor, on_behalf_of, action, target, outcome, duration, digest, detail, prev, hash FROM audit_entries`

// stored is a row as it is, before anybody believes it.
type stored struct {
	canonicalEntry
	prev, hash []byte
}

func scanStored(row store.Row) (stored, error) {
	var s stored
	var detail string
	err := row.Scan(&s.Seq, &s.At, &s.Actor, &s.OnBehalf, &s.Action, &s.Target, &s.Outcome, &s.Duration, &s.Digest, &detail, &s.prev, &s.hash)
	s.Detail = json.RawMessage(detail)
	return s, err
}

func (s stored) record() (Record, error) {
	r := Record{Seq: s.Seq, Entry: Entry{
		At: store.Time(s.At), Actor: s.Actor, OnBehalf: s.OnBehalf, Action: Action(s.Action), Target: s.Target,
		Outcome: s.Outcome, Duration: time.Duration(s.Duration) * time.Microsecond, Digest: s.Digest,
	}}
	r.Prev, r.Hash = exactHash(s.prev), exactHash(s.hash)
	err := json.Unmarshal(s.Detail, &r.Detail)
	if len(r.Detail) == 0 {
		r.Detail = nil
	}
	return r, err
}
