package identity

import (
	"context"
	"time"

	"parley/internal/store"
)

// PageStands reports whether a page's login still holds: not logged out, not
// expired, and its token neither.
func (d *Directory) PageStands(ctx context.Context, id string) (bool, error) {
	var n int
	now := store.Micros(time.Now())
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT COUNT(*) FROM page_sessions p LEFT JOIN tokens t ON t.id = p.token
			WHERE p.id = ? AND p.revoked_at = 0 AND p.expires_at > ?
			AND (p.token = '' OR (t.revoked_at = 0 AND (t.expires_at = 0 OR t.expires_at > ?)))`, id, now, now).Scan(&n)
	})
	return n > 0, err
}
