package memory

import (
	"context"
	"database/sql"
	"encoding/json"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
)

// runUsage is a usage as a run keeps it.
type runUsage struct {
	model.Usage
	Joined bool `json:",omitempty"`
}

func encodeRunUsage(u model.Usage, joined bool) string {
	if u == (model.Usage{}) {
		return ""
	}
	b, _ := json.Marshal(runUsage{u, joined})
	return string(b)
}

// Usage is what a conversation has used: its ended turns, what the going one has
// stored so far, and the summaries of its archives. Turns that joined a run are part
// of it and count once.
func (m *Memory) Usage(ctx context.Context, id string) (sum model.Usage, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		num, _, err := byID(tx, id)
		if err != nil {
			return err
		}
		sum, err = sumUsage(tx, `SELECT usage FROM talk_runs WHERE conversation = ? AND usage <> ''
			UNION ALL SELECT usage FROM talk_archives WHERE conversation = ? AND usage <> ''
			UNION ALL SELECT usage FROM talk_messages WHERE conversation = ? AND usage <> ''
				AND seq > (SELECT min(user_seq) FROM talk_runs WHERE conversation = ? AND ended_at = 0)
				AND run IN (SELECT id FROM talk_runs WHERE conversation = ? AND ended_at = 0)`, num, num, num, num, num)
		return err
	})
	return sum, err
}

// storedUsage is what the rounds of a run used that got as far as being stored:
// all there is when its hub died.
func storedUsage(tx *store.Tx, r Run) (model.Usage, error) {
	num, _, err := byID(tx, r.Conversation)
	if err != nil {
		return model.Usage{}, err
	}
	return sumUsage(tx, `SELECT usage FROM talk_messages WHERE conversation = ? AND seq > ? AND run = ? AND usage <> ''`, num, r.UserSeq, r.ID)
}

func sumUsage(tx *store.Tx, query string, args ...any) (sum model.Usage, err error) {
	err = tx.Each(func(row *sql.Rows) error {
		var text string
		if err := row.Scan(&text); err != nil {
			return err
		}
		var u runUsage
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			return err
		}
		if !u.Joined {
			sum = sum.Add(u.Usage)
		}
		return nil
	}, query, args...)
	return sum, err
}
