package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/google/uuid"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/agentfirst"
)

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// NewArchive says what a compaction found out.
type NewArchive struct {
	Summary    string
	ArchivedAt string
	// ToSeq is the last message that leaves the window.
	ToSeq     int64
	Model     string
	Usage     model.Usage
	Automatic bool
	Focus     string
}

// Archive moves the start of the window behind ToSeq and keeps the summary, in
// one transaction.
func (m *Memory) Archive(ctx context.Context, guard Guard, id string, n NewArchive) (a Archive, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		if err := fenced(tx, guard); err != nil {
			return err
		}
		num, c, err := byID(tx, id)
		if err != nil {
			return err
		}
		a, err = archive(tx, num, c, n)
		return err
	})
	return a, err
}

func archive(tx *store.Tx, num int64, c Conversation, n NewArchive) (Archive, error) {
	if n.ToSeq < c.WindowFrom || n.ToSeq > c.LastSeq {
		return Archive{}, ErrNothing
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Archive{}, err
	}
	n.Summary = fit.Storable(n.Summary)
	a := Archive{
		ID: id.String(), Conversation: c.ID, Thread: c.Thread, Title: agentfirst.Title(n.Summary), Summary: n.Summary,
		ArchivedAt: n.ArchivedAt, FromSeq: c.WindowFrom, ToSeq: n.ToSeq, Messages: n.ToSeq - c.WindowFrom + 1,
		Model: n.Model, Usage: n.Usage, Automatic: n.Automatic, Focus: n.Focus,
	}
	return a, insertArchive(tx, num, c.Key, a)
}

func insertArchive(tx *store.Tx, num int64, key Key, a Archive) error {
	_, err := tx.Exec(`INSERT INTO talk_archives (id, conversation, title, summary, archived_at, from_seq, to_seq, messages, model, usage, automatic, focus)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, num, a.Title, a.Summary, a.ArchivedAt, a.FromSeq, a.ToSeq, a.Messages, a.Model, encodeUsage(a.Usage), store.Bool(a.Automatic), a.Focus)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE talk_conversations SET window_from = ?, archive = ? WHERE num = ?`, a.ToSeq+1, a.ID, num)
	if err != nil {
		return err
	}
	return indexArchive(tx, num, key, a)
}

// Resummarise replaces the summary of an archive, whose raw messages are still
// there to check it against.
func (m *Memory) Resummarise(ctx context.Context, guard Guard, id, summary, modelName string, usage model.Usage) (a Archive, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		if err := fenced(tx, guard); err != nil {
			return err
		}
		summary := fit.Storable(summary)
		title := agentfirst.Title(summary)
		old, err := getArchive(tx, id)
		if err != nil {
			return err
		}
		// What the summary before cost was spent all the same.
		n, err := tx.Exec(`UPDATE talk_archives SET summary = ?, title = ?, model = ?, usage = ? WHERE id = ?`, summary, title, modelName, encodeUsage(old.Usage.Add(usage)), id)
		if err != nil || n == 0 {
			return errors.Join(err, missing(n))
		}
		if a, err = getArchive(tx, id); err != nil {
			return err
		}
		num, c, err := byID(tx, a.Conversation)
		if err != nil {
			return err
		}
		if err := removeDocs(tx, `kind = 'archive' AND ref = ?`, id); err != nil {
			return err
		}
		return indexArchive(tx, num, c.Key, a)
	})
	return a, err
}

func missing(n int64) error {
	if n == 0 {
		return ErrNoArchive
	}
	return nil
}

const selectArchive = `SELECT a.id, c.id, c.thread, a.title, a.summary, a.archived_at, a.from_seq, a.to_seq, a.messages, a.model, a.usage, a.automatic, a.focus
	FROM talk_archives a JOIN talk_conversations c ON c.num = a.conversation`

func scanArchive(row store.Row) (a Archive, err error) {
	var usage string
	var automatic int64
	err = row.Scan(&a.ID, &a.Conversation, &a.Thread, &a.Title, &a.Summary, &a.ArchivedAt, &a.FromSeq, &a.ToSeq, &a.Messages, &a.Model, &usage, &automatic, &a.Focus)
	if isNoRows(err) {
		return a, ErrNoArchive
	}
	if err != nil {
		return a, err
	}
	a.Automatic = automatic == 1
	a.Usage, err = decodeUsage(usage)
	return a, err
}

func getArchive(tx *store.Tx, id string) (Archive, error) {
	return scanArchive(tx.QueryRow(selectArchive+` WHERE a.id = ?`, id))
}

// GetArchive gives an archive and the key of the conversation it is of.
func (m *Memory) GetArchive(ctx context.Context, id string) (a Archive, key Key, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		if a, err = getArchive(tx, id); err != nil {
			return err
		}
		_, c, err := byID(tx, a.Conversation)
		key = c.Key
		return err
	})
	return a, key, err
}

// Archives lists a conversation's archives, oldest first. before is the id to
// stop at, for paging backwards; limit 0 means all.
func (m *Memory) Archives(ctx context.Context, id, before string, limit int) (list []Archive, err error) {
	query, args := selectArchive+` WHERE c.id = ?`, []any{id}
	if before != "" {
		query, args = query+` AND a.to_seq < (SELECT from_seq FROM talk_archives WHERE id = ?)`, append(args, before)
	}
	query += ` ORDER BY a.to_seq DESC`
	if limit > 0 {
		query, args = query+` LIMIT ?`, append(args, limit)
	}
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.IntoBy(&list, scanArchive), query, args...)
	})
	slices.Reverse(list)
	return list, err
}

// ArchiveMessages reads the raw messages an archive was made of.
func (m *Memory) ArchiveMessages(ctx context.Context, a Archive, after int64, limit int) ([]Message, error) {
	return m.Messages(ctx, a.Conversation, Range{After: max(after, a.FromSeq-1), Before: a.ToSeq + 1, Limit: limit, Oldest: true})
}
