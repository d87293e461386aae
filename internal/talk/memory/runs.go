package memory

import (
	"context"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/fit"
	"parley.internal/internal/store"
)

// Run is the record of one turn: what joins a repeated key to it, and what tells
// after a crash that it never ended.
type Run struct {
	ID           string
	Conversation string
	// Speaker is the agent that answers: the guest, or the primary.
	Speaker string
	// Key is the client's own name for the turn; empty if it gave none.
	Key     string
	Started time.Time
	Ended   time.Time
	UserSeq int64
	// How it ended.
	Stop     int
	Error    string
	Text     string
	Provider string
	Model    string
	Usage    model.Usage
	Outcome  Outcome
	// Joined is for a turn that became part of another's run: its usage is that
	// run's, and counts once.
	Joined bool
}

// Begin records a run, in the transaction that stores its user message.
func (m *Memory) Begin(tx *store.Tx, r Run) error {
	num, _, err := byID(tx, r.Conversation)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO talk_runs (id, conversation, speaker, turn_key, started_at, ended_at, user_seq, stop, error, text, provider, model, usage)
		VALUES (?, ?, ?, ?, ?, 0, ?, 0, '', ?, ?, ?, '')`, r.ID, num, r.Speaker, r.Key, store.Micros(time.Now()), r.UserSeq, []byte{}, r.Provider, r.Model)
	return err
}

// End records how a run ended, in the transaction that stores its reply.
func (m *Memory) End(tx *store.Tx, r Run) error {
	_, err := tx.Exec(`UPDATE talk_runs SET ended_at = ?, stop = ?, error = ?, text = ?, provider = ?, model = ?, usage = ? WHERE id = ?`,
		store.Micros(time.Now()), r.Stop, fit.Storable(r.Error), []byte(r.Text), r.Provider, r.Model, encodeRunUsage(r.Usage, r.Joined), r.ID)
	return err
}

// Write runs fn in a transaction of the memory's store, for steps that belong
// together: a user message and its run, a reply and its end.
func (m *Memory) Write(ctx context.Context, fn func(tx *store.Tx) error) error {
	return m.db.Write(ctx, fn)
}

const selectRun = `SELECT r.id, c.id, r.speaker, r.turn_key, r.started_at, r.ended_at, r.user_seq, r.stop, r.error, r.text, r.provider, r.model, r.usage
	FROM talk_runs r JOIN talk_conversations c ON c.num = r.conversation`

func scanRun(row store.Row) (r Run, err error) {
	var started, ended int64
	var usage string
	err = row.Scan(&r.ID, &r.Conversation, &r.Speaker, &r.Key, &started, &ended, &r.UserSeq, &r.Stop, &r.Error, &r.Text, &r.Provider, &r.Model, &usage)
	if isNoRows(err) {
		return r, ErrNotFound
	}
	if err != nil {
		return r, err
	}
	r.Started, r.Ended = store.Time(started), store.Time(ended)
	r.Usage, err = decodeUsage(usage)
	return r, err
}

// KeyLife is how long a client's key stands for its turn.
const KeyLife = 24 * time.Hour

// RunByKey finds the run that a client's key stands for, or ErrNotFound.
func (m *Memory) RunByKey(ctx context.Context, id, key string) (r Run, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		r, err = scanRun(tx.QueryRow(selectRun+` WHERE c.id = ? AND r.turn_key = ? AND r.turn_key <> '' AND r.started_at > ? ORDER BY r.started_at DESC LIMIT 1`,
			id, key, store.Micros(time.Now().Add(-KeyLife))))
		return err
	})
	return r, err
}

// Acted tells whether a run called a tool: then it may have changed something.
func (m *Memory) Acted(ctx context.Context, r Run) (acted bool, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		var n int
		err := tx.QueryRow(`SELECT count(*) FROM talk_messages WHERE conversation = (SELECT num FROM talk_conversations WHERE id = ?)
			AND seq > ? AND run = ? AND call_id <> ''`, r.Conversation, r.UserSeq, r.ID).Scan(&n)
		acted = n > 0
		return err
	})
	return acted, err
}

// OpenRuns lists runs of a conversation that never ended.
func (m *Memory) OpenRuns(ctx context.Context, id string) (list []Run, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		list, err = openRuns(tx, id)
		return err
	})
	return list, err
}

func openRuns(tx *store.Tx, id string) (list []Run, err error) {
	err = tx.Each(store.IntoBy(&list, scanRun), selectRun+` WHERE c.id = ? AND r.ended_at = 0 ORDER BY r.started_at, r.id`, id)
	return list, err
}

// GetRun gives the record of a run, or ErrNotFound.
func (m *Memory) GetRun(ctx context.Context, id string) (r Run, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		r, err = scanRun(tx.QueryRow(selectRun+` WHERE r.id = ?`, id))
		return err
	})
	return r, err
}
