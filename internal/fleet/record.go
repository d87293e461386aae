package fleet

import (
	"crypto/ed25519"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"time"

	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny/health"
)

// How a machine's last connection stands, in its row.
const (
	wasNever  = "never"
	wasOnline = "online"
	wasOff    = "off"
	wasCut    = "cut"
)

// record is a machine as the store knows it.
type record struct {
	id          string
	name        string
	tags        []string
	mobile      bool
	meta        Meta
	thresholds  Thresholds
	maintenance Window
	mutes       map[string]health.Mute
	alerts      alerts
	state       string
	hub         string
	epoch       int64
	created     time.Time
	removed     bool
	connected   time.Time
	lastSeen    time.Time
	changed     int64
	keys        []keyRecord
	latest      *telemetry.Verdict
	// waiting says that calls may be queued for it; memory only.
	waiting bool
}

// keyRecord is a public key a machine may prove itself with.
type keyRecord struct {
	public ed25519.PublicKey
	text   string
	until  time.Time // zero: no end
	proved bool
}

// valid reports whether the key still counts.
func (k keyRecord) valid(now time.Time) bool { return k.until.IsZero() || now.Before(k.until) }

// alerts is what was announced about a machine.
type alerts struct {
	// Level is what is announced now: 0 nothing, 1 overdue, 2 crit.
	Level int `json:"level"`
	// Last is the level and At the time of the latest notice of trouble.
	Last int   `json:"last"`
	At   int64 `json:"at"`
}

const recordColumns = `id, name, tags, mobile, meta, thresholds, maintenance, mutes, alerts, state, hub, epoch,
	created_at, removed_at, connected_at, last_seen, changed_at`

func scanRecord(row store.Row) (record, error) {
	var r record
	var mobile, created, removed, connected, seen int64
	var tags, meta, thresholds, window, mutes, alerts string
	err := row.Scan(&r.id, &r.name, &tags, &mobile, &meta, &thresholds, &window, &mutes, &alerts, &r.state, &r.hub, &r.epoch,
		&created, &removed, &connected, &seen, &r.changed)
	if err != nil {
		return r, err
	}
	for _, f := range []struct {
		text string
		to   any
	}{{tags, &r.tags}, {meta, &r.meta}, {thresholds, &r.thresholds}, {window, &r.maintenance}, {mutes, &r.mutes}, {alerts, &r.alerts}} {
		if err := json.Unmarshal([]byte(f.text), f.to); err != nil {
			return r, err
		}
	}
	r.mobile, r.removed = mobile != 0, removed != 0
	r.created, r.connected, r.lastSeen = store.Time(created), store.Time(connected), store.Time(seen)
	return r, nil
}

// readRecords loads machines with their keys and verdicts; where chooses them.
func readRecords(tx *store.Tx, where string, args ...any) (map[string]*record, error) {
	all := map[string]*record{}
	err := tx.Each(func(row *sql.Rows) error {
		r, err := scanRecord(row)
		all[r.id] = &r
		return err
	}, `SELECT `+recordColumns+` FROM fleet_machines WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	sub := `SELECT id FROM fleet_machines WHERE ` + where
	err = tx.Each(func(row *sql.Rows) error {
		var id string
		var k keyRecord
		var until, proved int64
		if err := row.Scan(&id, &k.text, &until, &proved); err != nil {
			return err
		}
		k.until, k.proved = store.Time(until), proved != 0
		// Enrolment has checked the key; checking the point again would take most of
		// a hub's start.
		raw, err := base64.StdEncoding.DecodeString(k.text)
		if err == nil && len(raw) == ed25519.PublicKeySize && all[id] != nil {
			k.public = raw
			all[id].keys = append(all[id].keys, k)
		}
		return err
	}, `SELECT machine, public_key, until, proved_at FROM fleet_keys WHERE revoked_at = 0 AND machine IN (`+sub+`) ORDER BY since DESC`, args...)
	if err != nil {
		return nil, err
	}
	return all, readVerdicts(tx, all, sub, args...)
}

func readVerdicts(tx *store.Tx, all map[string]*record, sub string, args ...any) error {
	return tx.Each(func(row *sql.Rows) error {
		var id, text string
		var received, collected, off int64
		if err := row.Scan(&id, &received, &collected, &off, &text); err != nil {
			return err
		}
		v := &telemetry.Verdict{Received: store.Time(received), Collected: store.Time(collected), ClockOff: off != 0}
		if err := json.Unmarshal([]byte(text), v); err != nil {
			return err
		}
		if all[id] != nil {
			all[id].latest = v
		}
		return nil
	}, `SELECT machine, received_at, collected_at, clock_off, verdict FROM fleet_latest WHERE machine IN (`+sub+`)`, args...)
}

// text marshals what is kept as JSON text; values made here cannot fail.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("fleet: a value made here does not marshal: " + err.Error())
	}
	return string(b)
}
