package relay

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"parley.internal/internal/place/relay/earlier"
	"parley.internal/internal/store"
)

// takeOver gives rows to what an earlier release left in parcels and in its log. All
// of it is one transaction; then the log is removed. If that fails, the next start
// finds a log of nobody, since the database has forgotten whose it was.
func (r *Relay) takeOver(ctx context.Context) error {
	some := false
	err := r.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT (SELECT count(*) FROM place_parcels) + (SELECT count(*) FROM place_meta WHERE name = 'redo') > 0`).Scan(&some)
	})
	if err != nil {
		return err
	}
	if some {
		if err := r.d.DB.Write(ctx, r.takeOverAll); err != nil {
			return err
		}
	}
	if r.d.Dir == "" {
		return nil
	}
	return earlier.RemoveLog(r.d.Dir)
}

func (r *Relay) takeOverAll(tx *store.Tx) error {
	if err := Lock(tx, []string{"place parcels"}); err != nil {
		return err
	}
	parcels, audited, err := r.parcels(tx)
	if err != nil {
		return err
	}
	o := &takeover{tx: tx, note: r.d.Note, waiting: map[int64]*Message{}}
	if err := o.newest(); err != nil {
		return err
	}
	for _, p := range parcels {
		if err := o.take(p, p.Num > audited); err != nil {
			return err
		}
	}
	if err := o.write(); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM place_parcels`); err != nil {
		return err
	}
	if len(parcels) > 0 {
		r.d.Log.Info("relay: messages of an earlier release have rows now", "parcels", len(parcels), "waiting", len(o.waiting))
	}
	_, err = tx.Exec(`DELETE FROM place_meta WHERE name IN ('redo', 'bundled', 'parcels')`)
	return err
}

// parcels are those of the table and then those of the log; audited is the newest that
// the audit has.
func (r *Relay) parcels(tx *store.Tx) (all []earlier.Parcel, audited int64, err error) {
	meta := map[string]string{}
	err = tx.Each(func(row *sql.Rows) error {
		var name, value string
		err := row.Scan(&name, &value)
		meta[name] = value
		return err
	}, `SELECT name, value FROM place_meta WHERE name IN ('redo', 'bundled', 'parcels')`)
	if err != nil {
		return nil, 0, err
	}
	err = tx.Each(func(row *sql.Rows) error {
		var num, at int64
		var body []byte
		if err := row.Scan(&num, &at, &body); err != nil {
			return err
		}
		found, err := earlier.Parcels(num, at, body)
		all = append(all, found...)
		return err
	}, `SELECT num, at, body FROM place_parcels ORDER BY num`)
	if err != nil {
		return nil, 0, err
	}
	audited, _ = strconv.ParseInt(meta["parcels"], 10, 64) // nothing was told before the first
	if r.d.Dir == "" || tx.Dialect() != store.SQLite {
		return all, audited, nil
	}
	bundled, _ := strconv.ParseInt(meta["bundled"], 10, 64) // as above
	logged, err := earlier.ReadLog(r.d.Dir, meta["redo"], bundled)
	return append(all, logged...), audited, err
}

// takeover is that transaction.
type takeover struct {
	tx      *store.Tx
	note    func(tx *store.Tx, at time.Time, notes []Note) error
	waiting map[int64]*Message
	last    int64 // when the audit was told something last: its numbers follow the clock
}

func (o *takeover) newest() error {
	err := o.tx.QueryRow(`SELECT at FROM place_audit ORDER BY seq DESC LIMIT 1`).Scan(&o.last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func (o *takeover) take(p earlier.Parcel, untold bool) error {
	records, err := p.Records()
	if err != nil {
		return err
	}
	var notes []Note
	for i := range records {
		rec := &records[i]
		m := messageOf(rec)
		switch rec.Kind {
		case earlier.Came:
			o.waiting[rec.Num] = m
			notes = append(notes, Note{Action: Enqueue, Message: m})
		case earlier.Moved:
			delete(o.waiting, rec.Num)
		case earlier.Gone, earlier.Fated:
			delete(o.waiting, rec.Num)
			notes = append(notes, Note{Action: Dequeue, Message: m})
			if rec.Kind == earlier.Fated && p.Logged {
				if err := o.fate(m, p.At); err != nil {
					return err
				}
			}
		case earlier.Noted:
			notes = append(notes, noteOf(rec, m))
		}
	}
	if !untold || len(notes) == 0 {
		return nil
	}
	o.last = max(o.last, p.At)
	return o.note(o.tx, store.Time(o.last), notes)
}

func messageOf(rec *earlier.Record) *Message {
	m := &Message{
		Num: rec.Num, ID: rec.ID, Sender: rec.Sender, Recipient: rec.Recipient, Kind: rec.Type, Hash: rec.Hash, Key: rec.Key, Size: rec.Size,
		Proven: rec.Proven, Tracked: rec.Tracked, Created: store.Time(rec.Created), Expires: store.Time(rec.Expires), Blob: rec.Blob,
	}
	if m.ID == "" {
		m.ID = idOf(uint64(rec.Num)) //nolint:gosec // it was made from one
	}
	return m
}

// noteOf reads what the audit kept as detail: a reason and a peer.
func noteOf(rec *earlier.Record, m *Message) Note {
	var detail struct {
		Reason string `json:"r"`
		Peer   string `json:"e"`
	}
	_ = json.Unmarshal([]byte(rec.Detail), &detail) // without a reason it is still an entry
	m.Peer = detail.Peer
	return Note{Action: rec.Action, Reason: detail.Reason, Message: m}
}

// fate is the row of a message that was handed out without ever having had one.
func (o *takeover) fate(m *Message, at int64) error {
	if err := o.insert([]*Message{m}); err != nil {
		return err
	}
	_, err := o.tx.Exec(`UPDATE place_messages SET state = ?, changed_at = ?, blob = ? WHERE id = ?`, int(Received), at, []byte{}, m.ID)
	return err
}

// write gives rows to what waits, in order.
func (o *takeover) write() error {
	var all []*Message
	for _, num := range slices.Sorted(maps.Keys(o.waiting)) {
		all = append(all, o.waiting[num])
	}
	return o.insert(all)
}

func (o *takeover) insert(all []*Message) error {
	var args []any
	for _, m := range all {
		args = appendRow(args, o.tx.Dialect(), m)
	}
	rows := newRows[o.tx.Dialect()]
	return rows.Exec(o.tx, args)
}
