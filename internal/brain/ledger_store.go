package brain

import (
	"context"

	"parley.internal/internal/store"
)

// StoreLedger is a Ledger in the hub's store, shared by all hubs of a cluster.
type StoreLedger struct{ db *store.DB }

// NewStoreLedger keeps the ledger in db.
func NewStoreLedger(db *store.DB) *StoreLedger { return &StoreLedger{db: db} }

// Spent sums the days from first to last.
func (l *StoreLedger) Spent(ctx context.Context, agent, first, last string) (Spend, error) {
	var sum Spend
	err := l.db.Read(ctx, func(tx *store.Tx) error {
		row := tx.QueryRow(`SELECT CAST(COALESCE(SUM(tokens), 0) AS BIGINT), CAST(COALESCE(SUM(cost_micros), 0) AS BIGINT)
			FROM brain_spend WHERE agent = ? AND day >= ? AND day <= ?`, agent, first, last)
		return row.Scan(&sum.Tokens, &sum.Micros)
	})
	return sum, err
}

// Add counts an amount on a day.
func (l *StoreLedger) Add(ctx context.Context, agent, day string, s Spend) error {
	return l.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO brain_spend (agent, day, tokens, cost_micros) VALUES (?, ?, ?, ?)
			ON CONFLICT (agent, day) DO UPDATE SET
				tokens = brain_spend.tokens + excluded.tokens,
				cost_micros = brain_spend.cost_micros + excluded.cost_micros`,
			agent, day, s.Tokens, s.Micros)
		return err
	})
}
