package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
)

// A doc is one searchable text. Its class is its weight in the ranking.
type doc struct {
	kind         string // message, archive, note
	class        int    // 4 title, 3 summary and note, 2 user, 1 assistant
	conversation int64
	key          Key
	ref          string // archive id or note name
	seq          int64
	at           int64
	text         string
}

const (
	classTitle     = 4
	classSummary   = 3
	classUser      = 2
	classAssistant = 1
)

// scope is the word that stands for a pair in the index, so that a search in one
// person's memory does not have to look at everybody's. It has a form that
// normalised text never has: nobody can search for another's.
func scope(agent, sender string) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + sender))
	return "S" + hex.EncodeToString(sum[:12])
}

func addDoc(tx *store.Tx, d doc) error {
	d.text = normalise(d.text)
	if d.text == "" {
		return nil
	}
	var id int64
	mark := scope(d.key.Agent, d.key.Sender)
	err := tx.QueryRow(`INSERT INTO talk_docs (kind, class, conversation, agent, sender, ref, seq, at, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		d.kind, d.class, d.conversation, d.key.Agent, d.key.Sender, d.ref, d.seq, d.at, len(d.text)).Scan(&id)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO talk_texts (id, scope, text) VALUES (?, ?, ?)`, id, mark, d.text)
	if err != nil || tx.Dialect() == store.Postgres {
		return err
	}
	return indexTail(tx, id)
}

// maxTail is how many texts may wait for the index of SQLite. One text at a time
// costs it four times as much, and the more the longer it is, because each makes
// a segment of its own that has to be merged; a search simply looks at those that
// wait. What waits is what is newer than the newest in the index.
const maxTail = 64

// lastIndexed is the newest text in the index.
const lastIndexed = `(SELECT coalesce(max(id), 0) FROM fts_talk_docsize)`

// indexTail indexes the texts that wait, once there are enough of them.
func indexTail(tx *store.Tx, newest int64) error {
	var last int64
	if err := tx.QueryRow(`SELECT ` + lastIndexed).Scan(&last); err != nil || newest-last < maxTail {
		return err
	}
	_, err := tx.Exec(`INSERT INTO fts_talk (rowid, scope, text) SELECT id, scope, text FROM talk_texts WHERE id > ? ORDER BY id`, last)
	return err
}

// removeDocs takes docs out of the table and out of the index.
func removeDocs(tx *store.Tx, where string, args ...any) error {
	if tx.Dialect() == store.SQLite {
		_, err := tx.Exec(`INSERT INTO fts_talk (fts_talk, rowid, scope, text) SELECT 'delete', id, scope, text FROM talk_texts
			WHERE id <= `+lastIndexed+` AND id IN (SELECT id FROM talk_docs WHERE `+where+`)`, args...)
		if err != nil {
			return err
		}
	}
	if _, err := tx.Exec(`DELETE FROM talk_texts WHERE id IN (SELECT id FROM talk_docs WHERE `+where+`)`, args...); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM talk_docs WHERE `+where, args...)
	return err
}

// indexMessage makes user and assistant text searchable, and of tools only their
// names: what they gave back are other people's words.
func indexMessage(tx *store.Tx, num int64, key Key, m Message) error {
	d := doc{kind: "message", conversation: num, key: key, seq: m.Seq, at: store.Micros(m.At), text: m.Text}
	switch m.Role {
	case model.User:
		d.class = classUser
	case model.Assistant:
		d.class = classAssistant
		d.text = strings.Join(append([]string{m.Text}, toolNames(m.Calls)...), " ")
	default:
		return nil
	}
	return addDoc(tx, d)
}

func toolNames(calls []model.Call) []string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return names
}

func indexArchive(tx *store.Tx, num int64, key Key, a Archive) error {
	d := doc{kind: "archive", conversation: num, key: key, ref: a.ID, seq: a.FromSeq, class: classTitle, text: a.Title}
	if err := tx.QueryRow(`SELECT at FROM talk_messages WHERE conversation = ? AND seq = ?`, num, a.ToSeq).Scan(&d.at); err != nil && !isNoRows(err) {
		return err
	}
	if err := addDoc(tx, d); err != nil {
		return err
	}
	d.class, d.text = classSummary, a.Summary
	return addDoc(tx, d)
}
