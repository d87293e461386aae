package identity

import (
	"context"
	"time"

	"parley/internal/store"
)

// PageStands reports whether a page's login still holds: not logged out, not
// expired, and not ended with what it was made with.
func (d *Directory) PageStands(ctx context.Context, id string) (bool, error) {
	var n int
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT COUNT(*) FROM page_sessions WHERE id = ? AND revoked_at = 0 AND expires_at > ?`,
			id, store.Micros(time.Now())).Scan(&n)
	})
	return n > 0, err
}
