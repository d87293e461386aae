package identity

import (
	"context"
	"time"

	"parley.internal/internal/store"
)

const (
	purgeEvery = time.Hour
	// keepDead is how long what has ended is kept, so that it is refused by
	// name ("used", "expired") and not as unknown.
	keepDead = 30 * 24 * time.Hour
)

// purge forgets links, pages and passkeys that ended long ago, and changes that every
// running hub has seen. Tokens stay: the audit trail names them.
func (d *Directory) purge(ctx context.Context) error {
	old := store.Micros(time.Now().Add(-keepDead))
	return d.db.Write(ctx, func(tx *store.Tx) error {
		for _, query := range []string{
			`DELETE FROM login_links WHERE expires_at < ?`,
			`DELETE FROM page_sessions WHERE expires_at < ?`,
			`DELETE FROM passkeys WHERE expires_at > 0 AND expires_at < ?`,
			`DELETE FROM identity_changes WHERE at < ?`,
		} {
			if _, err := tx.Exec(query, old); err != nil {
				return err
			}
		}
		return nil
	})
}
