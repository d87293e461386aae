package memory

import (
	"context"
	"database/sql"
	"time"

	"parley.internal/internal/fit"
	"parley.internal/internal/store"
)

// Limits of the notes of one pair.
const (
	MaxNotes    = 200
	MaxNoteSize = 2 << 10
)

// Remember keeps a note of the pair; the same name replaces.
func (m *Memory) Remember(ctx context.Context, key Key, name, text string) error {
	name, text = fit.Storable(name), fit.Storable(text)
	if len(text) > MaxNoteSize || name == "" || len(name) > 200 {
		return ErrTooLong
	}
	return m.db.Write(ctx, func(tx *store.Tx) error {
		var others int
		err := tx.QueryRow(`SELECT count(*) FROM talk_notes WHERE agent = ? AND sender = ? AND name <> ?`, key.Agent, key.Sender, name).Scan(&others)
		if err != nil {
			return err
		}
		if others >= MaxNotes {
			return ErrTooMany
		}
		now := store.Micros(time.Now())
		_, err = tx.Exec(`INSERT INTO talk_notes (agent, sender, name, text, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (agent, sender, name) DO UPDATE SET text = excluded.text, at = excluded.at`, key.Agent, key.Sender, name, text, now)
		if err != nil {
			return err
		}
		if err := dropNoteDoc(tx, key, name); err != nil {
			return err
		}
		return addDoc(tx, doc{kind: "note", class: classSummary, key: key, ref: name, at: now, text: name + " " + text})
	})
}

// Forget removes a note and tells whether there was one.
func (m *Memory) Forget(ctx context.Context, key Key, name string) (found bool, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM talk_notes WHERE agent = ? AND sender = ? AND name = ?`, key.Agent, key.Sender, name)
		if err != nil {
			return err
		}
		found = n > 0
		return dropNoteDoc(tx, key, name)
	})
	return found, err
}

func dropNoteDoc(tx *store.Tx, key Key, name string) error {
	return removeDocs(tx, `kind = 'note' AND agent = ? AND sender = ? AND ref = ?`, key.Agent, key.Sender, name)
}

// Notes lists the notes of a pair, newest first.
func (m *Memory) Notes(ctx context.Context, key Key) (list []Note, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		list = nil
		return tx.Each(func(row *sql.Rows) error {
			var n Note
			var at int64
			err := row.Scan(&n.Name, &n.Text, &at)
			n.At = store.Time(at)
			list = append(list, n)
			return err
		}, `SELECT name, text, at FROM talk_notes WHERE agent = ? AND sender = ? ORDER BY at DESC, name`, key.Agent, key.Sender)
	})
	return list, err
}
