package memory

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
)

// Loaded is a conversation as its new owner finds it.
type Loaded struct {
	Window
	Queue []Waiting
	// Interrupted are runs that had not ended: their hub died. They have now.
	Interrupted []Run
}

// Interruption is how Load ends the runs it finds open.
type Interruption struct {
	Stop   int
	Reason string
	// Result is what a call without a result gets.
	Result string
}

// Load reads the window and the queue for a new owner and sets right what a
// crash left behind: open runs end, and calls without a result get one that says
// so. Nothing is run again.
func (m *Memory) Load(ctx context.Context, guard Guard, id string, in Interruption) (l Loaded, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		l, err = readLoaded(tx, id)
		return err
	})
	if err != nil {
		return l, err
	}
	missing := append(l.unanswered(in.Result), l.partial()...)
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		if err := fenced(tx, guard); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE talk_conversations SET loaded_at = ? WHERE id = ?`, store.Micros(time.Now()), id); err != nil {
			return err
		}
		for i := range l.Interrupted {
			r := &l.Interrupted[i]
			r.Stop, r.Error, r.Outcome = in.Stop, in.Reason, Outcome{How: Interrupted}
			if r.Usage, err = storedUsage(tx, *r); err != nil {
				return err
			}
			if err := m.End(tx, *r); err != nil {
				return err
			}
			if r.Text != "" {
				continue
			}
			if err := m.MarkOutcome(tx, *r); err != nil {
				return err
			}
		}
		if len(missing) == 0 {
			return nil
		}
		first, err := m.AppendTx(tx, nil, id, missing...)
		for i := range missing {
			missing[i].Seq = first + int64(i)
		}
		return err
	})
	l.Messages = append(l.Messages, missing...)
	l.Conversation.LastSeq += int64(len(missing))
	l.Conversation.Messages += int64(len(missing))
	return l, err
}

func readLoaded(tx *store.Tx, id string) (l Loaded, err error) {
	if l.Window, err = readWindow(tx, id); err != nil {
		return l, err
	}
	if l.Queue, err = readQueue(tx, id); err != nil {
		return l, err
	}
	l.Interrupted, err = openRuns(tx, id)
	return l, err
}

// partial is what open runs had said since their last stored part, as their answers.
func (l *Loaded) partial() (list []Message) {
	for _, r := range l.Interrupted {
		if r.Text == "" {
			continue
		}
		m := Message{Run: r.ID, Outcome: Outcome{How: Interrupted}, Message: model.Message{Role: model.Assistant, Text: r.Text, Interrupted: true}}
		if r.Speaker != l.Conversation.Agent {
			m.Agent = r.Speaker
		}
		list = append(list, m)
	}
	return list
}

// unanswered makes results for calls of interrupted runs that have none. Results are
// stored together and right after their calls, so only the last calls can lack them. Those of
// a run that has ended are for its client to answer.
func (l *Loaded) unanswered(text string) (missing []Message) {
	list := l.Messages
	last := len(list) - 1
	for last >= 0 && list[last].Role == model.Tool {
		last--
	}
	if last < 0 || len(list[last].Calls) == 0 || !slices.ContainsFunc(l.Interrupted, func(r Run) bool { return r.ID == list[last].Run }) {
		return nil
	}
	answered := map[string]bool{}
	for _, m := range list[last+1:] {
		answered[m.CallID] = true
	}
	for _, c := range list[last].Calls {
		if !answered[c.ID] {
			missing = append(missing, Message{
				Run: list[last].Run, Agent: list[last].Agent,
				Message: model.Message{Role: model.Tool, CallID: c.ID, Name: c.Name, Text: text, IsError: true},
			})
		}
	}
	return missing
}

// alive is the condition that the hub h lives, by the clock leases go by.
func alive(tx *store.Tx) string {
	if tx.Dialect() == store.Postgres {
		return `h.expires_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	}
	return `h.expires_at > CAST(? AS BIGINT)`
}

func aliveArgs(tx *store.Tx) []any {
	if tx.Dialect() == store.Postgres {
		return nil
	}
	return []any{time.Now().UnixMicro()}
}

// LeaseName is the lease that guards a conversation.
func LeaseName(id string) string { return "talk." + id }

// Abandoned lists conversations with waiting turns or open runs that no living
// hub owns: what somebody must take over.
func (m *Memory) Abandoned(ctx context.Context, limit int) (ids []string, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.Into(&ids), `SELECT c.id FROM talk_conversations c
			WHERE c.num IN (SELECT conversation FROM talk_queue UNION SELECT conversation FROM talk_runs WHERE ended_at = 0)
			AND NOT EXISTS (SELECT 1 FROM leases l JOIN hubs h ON h.id = l.owner WHERE l.name = 'talk.' || c.id AND `+alive(tx)+`)
			ORDER BY c.num LIMIT ?`, append(aliveArgs(tx), limit)...)
	})
	return ids, err
}

// Active is a conversation that some hub has loaded.
type Active struct {
	Conversation
	Loaded time.Time
	Hub    string
}

// ListActive lists conversations that a living hub has loaded, newest activity
// first.
func (m *Memory) ListActive(ctx context.Context, f Filter) (list []Active, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		list = nil
		where, args := f.where()
		query := `SELECT c.*, c2.loaded_at, l.owner FROM (` + selectConversation + `) c JOIN talk_conversations c2 ON c2.num = c.num
			JOIN leases l ON l.name = 'talk.' || c.id JOIN hubs h ON h.id = l.owner AND ` + alive(tx) + ` WHERE ` + where + ` ORDER BY c.last_at DESC, c.num DESC`
		return tx.Each(func(row *sql.Rows) error {
			var a Active
			var loaded int64
			_, c, err := scanConversation(extra{row, []any{&loaded, &a.Hub}})
			a.Conversation, a.Loaded = c, store.Time(loaded)
			list = append(list, a)
			return err
		}, query, append(aliveArgs(tx), args...)...)
	})
	return list, err
}

// extra scans columns behind the usual ones.
type extra struct {
	store.Row
	more []any
}

func (e extra) Scan(dest ...any) error { return e.Row.Scan(append(dest, e.more...)...) }

// GetWaiting reads one waiting turn, or ErrNotFound.
func (m *Memory) GetWaiting(ctx context.Context, run string) (w Waiting, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		var at int64
		err := tx.QueryRow(`SELECT run, payload, at FROM talk_queue WHERE run = ?`, run).Scan(&w.Run, &w.Order, &at)
		w.At = store.Time(at)
		if isNoRows(err) {
			return ErrNotFound
		}
		return err
	})
	return w, err
}
