package memory

import (
	"context"
	"slices"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/agentfirst"
)

// Append adds messages, in order, and returns the number of the first. The
// first user message names a conversation that has no title yet.
func (m *Memory) Append(ctx context.Context, guard Guard, id string, msgs ...Message) (first int64, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		first, err = m.AppendTx(tx, guard, id, msgs...)
		return err
	})
	return first, err
}

// AppendTx is Append inside a transaction that also does other things.
func (m *Memory) AppendTx(tx *store.Tx, guard Guard, id string, msgs ...Message) (first int64, err error) {
	if err := fenced(tx, guard); err != nil {
		return 0, err
	}
	at := time.Now()
	var num, last int64
	var c Conversation
	err = tx.QueryRow(`UPDATE talk_conversations SET last_seq = last_seq + ?, messages = messages + ?, last_at = ?,
		first_at = CASE WHEN first_at = 0 THEN ? ELSE first_at END WHERE id = ? RETURNING num, last_seq, agent, sender, title`,
		len(msgs), len(msgs), store.Micros(at), store.Micros(at), id).Scan(&num, &last, &c.Agent, &c.Sender, &c.Title)
	if isNoRows(err) {
		return 0, ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	first = last - int64(len(msgs)) + 1
	for i, msg := range msgs {
		msg.Seq = first + int64(i)
		if msg.At.IsZero() {
			msg.At = at
		}
		if err := insertMessage(tx, num, c.Key, msg); err != nil {
			return 0, err
		}
	}
	return first, titleFrom(tx, num, c.Title, msgs)
}

func titleFrom(tx *store.Tx, num int64, title string, msgs []Message) error {
	i := slices.IndexFunc(msgs, func(m Message) bool { return m.Role == model.User && agentfirst.Title(m.Text) != "" })
	if title != "" || i < 0 {
		return nil
	}
	_, err := tx.Exec(`UPDATE talk_conversations SET title = ? WHERE num = ?`, fit.Storable(agentfirst.Title(msgs[i].Text)), num)
	return err
}

func insertMessage(tx *store.Tx, num int64, key Key, msg Message) error {
	_, err := tx.Exec(`INSERT INTO talk_messages (conversation, seq, at, run, role, agent, text, reasoning, signature, calls, call_id, name, is_error, interrupted, usage, outcome, outcome_code, files)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		num, msg.Seq, store.Micros(msg.At), msg.Run, string(msg.Role), msg.Agent, []byte(msg.Text), []byte(msg.Reasoning), msg.ReasoningSignature,
		encodeCalls(msg.Calls), msg.CallID, msg.Name, store.Bool(msg.IsError), store.Bool(msg.Interrupted), encodeUsage(msg.Usage), msg.Outcome.How, msg.Outcome.Code, encodeFiles(msg.Files))
	if err != nil {
		return err
	}
	return indexMessage(tx, num, key, msg)
}

const selectMessage = `SELECT seq, at, run, role, agent, text, reasoning, signature, calls, call_id, name, is_error, interrupted, usage, outcome, outcome_code, files FROM talk_messages`

func scanMessage(row store.Row) (Message, error) {
	var m Message
	var at, isError, interrupted int64
	var role, calls, usage, files string
	err := row.Scan(&m.Seq, &at, &m.Run, &role, &m.Agent, &m.Text, &m.Reasoning, &m.ReasoningSignature, &calls, &m.CallID, &m.Name, &isError, &interrupted, &usage, &m.Outcome.How, &m.Outcome.Code, &files)
	if err != nil {
		return m, err
	}
	m.At, m.Role, m.IsError, m.Interrupted = store.Time(at), model.Role(role), isError == 1, interrupted == 1
	if m.Calls, err = decodeCalls(calls); err != nil {
		return m, err
	}
	if m.Files, err = decodeFiles(files); err != nil {
		return m, err
	}
	m.Usage, err = decodeUsage(usage)
	return m, err
}

func messages(tx *store.Tx, query string, args ...any) (list []Message, err error) {
	err = tx.Each(store.IntoBy(&list, scanMessage), query, args...)
	return list, err
}

// Window is the live part of a conversation: the newest archive, whose summary
// leads it, and the messages since. Only the window is read, however long the
// past is.
type Window struct {
	Conversation Conversation
	Archive      *Archive
	Messages     []Message
}

// Window reads the live window.
func (m *Memory) Window(ctx context.Context, id string) (w Window, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		w, err = readWindow(tx, id)
		return err
	})
	return w, err
}

func readWindow(tx *store.Tx, id string) (w Window, err error) {
	var num int64
	if num, w.Conversation, err = byID(tx, id); err != nil {
		return w, err
	}
	if w.Conversation.Archive != "" {
		a, err := getArchive(tx, w.Conversation.Archive)
		if err != nil {
			return w, err
		}
		w.Archive = &a
	}
	w.Messages, err = messages(tx, selectMessage+` WHERE conversation = ? AND seq >= ? ORDER BY seq`, num, w.Conversation.WindowFrom)
	return w, err
}

// Range selects messages of a conversation by number.
type Range struct {
	After  int64 // only those above
	Before int64 // only those below; 0 for no bound
	Limit  int   // the newest of them; 0 for all
	Oldest bool  // with Limit: the oldest of them instead
}

// Messages reads raw messages, oldest first.
func (m *Memory) Messages(ctx context.Context, id string, r Range) (list []Message, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		num, _, err := byID(tx, id)
		if err != nil {
			return err
		}
		list, err = readRange(tx, num, r)
		return err
	})
	return list, err
}

func readRange(tx *store.Tx, num int64, r Range) ([]Message, error) {
	query, args := selectMessage+` WHERE conversation = ? AND seq > ?`, []any{num, r.After}
	if r.Before > 0 {
		query, args = query+` AND seq < ?`, append(args, r.Before)
	}
	if r.Limit <= 0 || r.Oldest {
		query += ` ORDER BY seq`
	} else {
		query += ` ORDER BY seq DESC`
	}
	if r.Limit > 0 {
		query, args = query+` LIMIT ?`, append(args, r.Limit)
	}
	list, err := messages(tx, query, args...)
	if r.Limit > 0 && !r.Oldest {
		slices.Reverse(list)
	}
	return list, err
}
