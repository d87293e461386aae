package memory

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

const selectConversation = `SELECT num, id, agent, sender, thread, number, title, messages, last_seq, window_from, archive, hidden, created_at, first_at, last_at FROM talk_conversations`

func scanConversation(row store.Row) (num int64, c Conversation, err error) {
	var hidden, created, first, last int64
	err = row.Scan(&num, &c.ID, &c.Agent, &c.Sender, &c.Thread, &c.Number, &c.Title, &c.Messages, &c.LastSeq, &c.WindowFrom, &c.Archive, &hidden, &created, &first, &last)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	c.Hidden, c.Created, c.first, c.Last = hidden == 1, store.Time(created), store.Time(first), store.Time(last)
	return num, c, err
}

func byID(tx *store.Tx, id string) (int64, Conversation, error) {
	return scanConversation(tx.QueryRow(selectConversation+` WHERE id = ?`, id))
}

func byKey(tx *store.Tx, key Key) (int64, Conversation, error) {
	return scanConversation(tx.QueryRow(selectConversation+` WHERE agent = ? AND sender = ? AND thread = ?`, key.Agent, key.Sender, key.Thread))
}

// Find gives the conversation of a key, or ErrNotFound.
func (m *Memory) Find(ctx context.Context, key Key) (c Conversation, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		_, c, err = byKey(tx, key)
		return err
	})
	return c, err
}

// Get gives the conversation with an id, or ErrNotFound.
func (m *Memory) Get(ctx context.Context, id string) (c Conversation, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		_, c, err = byID(tx, id)
		return err
	})
	return c, err
}

// Open finds the conversation of a key or makes it. hidden ones (delegations)
// are in no listing.
func (m *Memory) Open(ctx context.Context, key Key, hidden bool) (c Conversation, err error) {
	if c, err = m.Find(ctx, key); err == nil || !errors.Is(err, ErrNotFound) {
		return c, err
	}
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		_, c, err = create(tx, key, hidden, time.Now())
		return err
	})
	return c, err
}

// create makes the conversation, or finds the one somebody else just made.
func create(tx *store.Tx, key Key, hidden bool, at time.Time) (int64, Conversation, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return 0, Conversation{}, err
	}
	// The main thread is number 1 whenever it comes; the others count from 2.
	number := `(SELECT count(*) + 2 FROM talk_conversations WHERE agent = ? AND sender = ? AND thread <> '')`
	if key.Thread == "" {
		number = `(SELECT 1 WHERE ? <> '' AND ? <> '')`
	}
	_, err = tx.Exec(`INSERT INTO talk_conversations (id, agent, sender, thread, number, title, messages, last_seq, window_from, archive, hidden, created_at, first_at, last_at)
		VALUES (?, ?, ?, ?, `+number+`, '', 0, 0, 1, '', ?, ?, 0, ?) ON CONFLICT (agent, sender, thread) DO NOTHING`,
		id.String(), key.Agent, key.Sender, key.Thread, key.Agent, key.Sender, store.Bool(hidden), store.Micros(at), store.Micros(at))
	if err != nil {
		return 0, Conversation{}, err
	}
	return byKey(tx, key)
}

// Filter narrows a listing; empty fields match everything.
type Filter struct {
	Agent, Sender string
	// Allowed is what the caller may see; nil means everything.
	Allowed *identity.Senders
	Limit   int
}

// List gives conversations, newest activity first.
func (m *Memory) List(ctx context.Context, f Filter) (list []Conversation, err error) {
	where, args := f.where()
	query := selectConversation + ` c WHERE ` + where + ` ORDER BY last_at DESC, num DESC`
	if f.Limit > 0 {
		query, args = query+` LIMIT ?`, append(args, f.Limit)
	}
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		list = nil
		return tx.Each(func(row *sql.Rows) error {
			_, c, err := scanConversation(row)
			list = append(list, c)
			return err
		}, query, args...)
	})
	return list, err
}

// where is the condition on the conversation c.
func (f Filter) where() (string, []any) {
	where, args := []string{"c.hidden = 0"}, []any{}
	if f.Agent != "" {
		where, args = append(where, "c.agent = ?"), append(args, f.Agent)
	}
	if f.Sender != "" {
		where, args = append(where, "c.sender = ?"), append(args, f.Sender)
	}
	if f.Allowed != nil {
		clause, more := allowed("c.sender", *f.Allowed)
		where, args = append(where, clause), append(args, more...)
	}
	return strings.Join(where, " AND "), args
}

// allowed turns a set of senders into a condition that nobody can widen: names
// and prefixes are compared, not matched as patterns.
func allowed(column string, senders identity.Senders) (string, []any) {
	clauses, args := []string{"1 = 0"}, []any{}
	equals := func(name string) { clauses, args = append(clauses, column+" = ?"), append(args, name) }
	for _, name := range senders.Names {
		equals(name)
	}
	for _, p := range senders.Patterns {
		prefix, whole := p.Prefix()
		if whole {
			equals(prefix)
			continue
		}
		clauses, args = append(clauses, "substr("+column+", 1, ?) = ?"), append(args, len([]rune(prefix)), prefix)
	}
	return "(" + strings.Join(clauses, " OR ") + ")", args
}

// SetTitle names a conversation.
func (m *Memory) SetTitle(ctx context.Context, id, title string) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`UPDATE talk_conversations SET title = ? WHERE id = ?`, title, id)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
}

// Delete removes a conversation and everything of it. Notes belong to the pair
// and go with its last conversation.
func (m *Memory) Delete(ctx context.Context, guard Guard, id string) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		if err := fenced(tx, guard); err != nil {
			return err
		}
		num, c, err := byID(tx, id)
		if err != nil {
			return err
		}
		if err := removeDocs(tx, `conversation = ?`, num); err != nil {
			return err
		}
		for _, table := range []string{"talk_messages", "talk_archives", "talk_queue", "talk_runs"} {
			if _, err := tx.Exec(`DELETE FROM `+table+` WHERE conversation = ?`, num); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`DELETE FROM talk_conversations WHERE num = ?`, num); err != nil {
			return err
		}
		if err := files.ReleaseTx(tx, files.Conversation(id)); err != nil {
			return err
		}
		return forgetPair(tx, c.Key)
	})
}

func forgetPair(tx *store.Tx, key Key) error {
	var left int
	err := tx.QueryRow(`SELECT count(*) FROM talk_conversations WHERE agent = ? AND sender = ?`, key.Agent, key.Sender).Scan(&left)
	if err != nil || left > 0 {
		return err
	}
	if err := removeDocs(tx, `kind = 'note' AND agent = ? AND sender = ?`, key.Agent, key.Sender); err != nil {
		return err
	}
	_, err = tx.Exec(`DELETE FROM talk_notes WHERE agent = ? AND sender = ?`, key.Agent, key.Sender)
	return err
}

// DeleteHidden removes delegations that have been quiet since before.
func (m *Memory) DeleteHidden(ctx context.Context, before time.Time) error {
	var ids []string
	err := m.db.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.Into(&ids), `SELECT id FROM talk_conversations WHERE hidden = 1 AND last_at < ? LIMIT 1000`, store.Micros(before))
	})
	for _, id := range ids {
		if err == nil {
			err = m.Delete(ctx, nil, id)
		}
	}
	return err
}
