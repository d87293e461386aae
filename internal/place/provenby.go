package place

import (
	"context"
	"database/sql"
	"errors"

	"parley/internal/store"
)

// ProvenBy tells how an id has proven its key: "challenge", "static", or "" for not
// at all. What rests on a static proof could be a replay.
func (p *Place) ProvenBy(ctx context.Context, agent string) (how string, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(`SELECT proof FROM place_keys WHERE agent = ?`, agent).Scan(&how)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return how, err
}
