package skill

import (
	"context"

	"parley.internal/internal/approval"
	"parley.internal/internal/store"
)

// Flush sends what is due, once.
func (s *Skills) Flush(ctx context.Context) { s.flush(ctx) }

// DeliverNotes gives agents what is due, and waits until they have read it.
func (s *Skills) DeliverNotes(ctx context.Context) {
	s.deliverDue(ctx)
	s.done.Wait()
}

// Decide acts as if a person had answered.
func (s *Skills) Decide(ctx context.Context, id string, o approval.Outcome) error {
	return s.decide(ctx, id, o)
}

// Exchange finds one.
func (s *Skills) Exchange(ctx context.Context, id string) (e Exchange, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		e, err = scanExchange(tx.QueryRow(`SELECT `+exchangeColumns+` FROM skill_exchanges WHERE id = ?`, id))
		return err
	})
	return e, err
}
