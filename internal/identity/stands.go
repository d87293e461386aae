package identity

import (
	"context"
	"errors"
	"time"

	"parley/internal/store"
)

// Standing is an actor as its credential stands at this moment, for whatever acts
// later than it was started: never more than it was. One whose page or token has
// ended is refused. An actor without a credential was proven by other means, which do
// not end.
func (d *Directory) Standing(ctx context.Context, a Actor) (Actor, error) {
	if a.PageID != "" {
		if stands, err := d.PageStands(ctx, a.PageID); err != nil || !stands {
			return Actor{}, errors.Join(err, ErrRefused)
		}
	}
	if a.TokenID == "" {
		return a, nil
	}
	t, err := d.Token(ctx, Hub(), a.TokenID)
	if err != nil {
		return Actor{}, err
	}
	if !t.Revoked.IsZero() || !t.Expires.IsZero() && time.Now().After(t.Expires) {
		return Actor{}, ErrRefused
	}
	return a.Narrow(t.Scopes), nil
}

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
