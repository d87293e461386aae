package telemetry

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/store"
)

// Store is what machines told about themselves, on disk: the newest snapshot of
// each, earlier ones, and series of numbers out of them.
type Store struct {
	db     *store.DB
	packer *packer
}

// NewStore makes it. Close it in the end.
func NewStore(db *store.DB) (*Store, error) {
	packer, err := newPacker()
	if err != nil {
		return nil, err
	}
	return &Store{db: db, packer: packer}, nil
}

// Close lets go of what packing needs.
func (p *Store) Close() { p.packer.close() }

// Pack compresses a snapshot for StoreTx: that is work no transaction should wait for.
func (p *Store) Pack(snapshot map[string]jsontext.Value) ([]byte, error) {
	return p.packer.pack(snapshot)
}

// StoreTx files a snapshot with its verdict. Newest is what was received last, whatever
// the machine's clock says.
func (p *Store) StoreTx(tx *store.Tx, machine string, v *Verdict, packed []byte, snapshot map[string]jsontext.Value) error {
	words, err := v.text()
	if err != nil {
		return err
	}
	received, collected := store.Micros(v.Received), store.Micros(v.Collected)
	_, err = tx.Exec(`INSERT INTO fleet_latest (machine, received_at, collected_at, clock_off, snapshot, verdict) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (machine) DO UPDATE SET received_at = excluded.received_at, collected_at = excluded.collected_at, clock_off = excluded.clock_off,
			snapshot = excluded.snapshot, verdict = excluded.verdict WHERE excluded.received_at >= fleet_latest.received_at`,
		machine, received, collected, store.Bool(v.ClockOff), packed, words)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO fleet_snapshots (machine, received_at, collected_at, snapshot) VALUES (?, ?, ?, ?) ON CONFLICT (machine, received_at) DO NOTHING`,
		machine, received, collected, packed)
	if err != nil {
		return err
	}
	return storeSeries(tx, machine, v.Received, measure(snapshot, v.Overall))
}

// Judged replaces the verdict on the snapshot that was received at the verdict's time.
func (p *Store) Judged(ctx context.Context, machine string, v *Verdict) error {
	words, err := v.text()
	if err != nil {
		return err
	}
	return p.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_latest SET verdict = ? WHERE machine = ? AND received_at = ?`, words, machine, store.Micros(v.Received))
		return err
	})
}

// Newest reads the newest snapshot of a machine; nil if there is none.
func (p *Store) Newest(ctx context.Context, machine string) (snapshot map[string]jsontext.Value, received, collected time.Time, err error) {
	var packed []byte
	err = p.db.Read(ctx, func(tx *store.Tx) error {
		var r, c int64
		err := tx.QueryRow(`SELECT snapshot, received_at, collected_at FROM fleet_latest WHERE machine = ?`, machine).Scan(&packed, &r, &c)
		received, collected = store.Time(r), store.Time(c)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, time.Time{}, time.Time{}, nil
	}
	if err != nil {
		return nil, received, collected, err
	}
	snapshot, err = p.packer.unpack(packed)
	return snapshot, received, collected, err
}

var sectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// ValidSection tells whether a section of telemetry can have that name.
func ValidSection(name string) bool { return sectionName.MatchString(name) }

// Condition chooses rows of a table.
type Condition struct {
	Where string
	Args  []any
}

// OldSeries are the rows of fleet_series that are not kept any longer: every value for
// a month, days for a year and a month.
func OldSeries(now time.Time) []Condition {
	var out []Condition
	for _, metric := range metrics {
		for span, kept := range map[int]time.Duration{spanFull: fullSeries, spanDay: 400 * 24 * time.Hour} {
			out = append(out, Condition{"span = ? AND metric = ? AND at < ?", []any{span, metric, store.Micros(now.Add(-kept))}})
		}
	}
	return out
}
