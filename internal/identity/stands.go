package identity

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/store"
)

// Standing is an actor as its credential stands at this moment, for whatever acts
// later than it was started: never more than it was. One whose page or token has
// ended is refused, and so is a person who has no credential left. The hub and its owner
// on its own machine were proven by other means, which do not end.
func (d *Directory) Standing(ctx context.Context, a Actor) (Actor, error) {
	if a.PageID != "" {
		if stands, err := d.PageStands(ctx, a.PageID); err != nil || !stands {
			return Actor{}, errors.Join(err, ErrRefused)
		}
	}
	if a.Maker != "" {
		if err := d.db.Read(ctx, func(tx *store.Tx) error { _, err := endOf(tx, maker(a.Maker)); return err }); err != nil {
			return Actor{}, err
		}
	}
	if a.TokenID == "" {
		return a, d.personStands(ctx, a)
	}
	t, err := d.Token(ctx, Hub(), a.TokenID)
	if errors.Is(err, ErrNotFound) {
		return Actor{}, ErrRefused // it ended long ago
	}
	if err != nil {
		return Actor{}, err
	}
	if !t.Revoked.IsZero() || !t.Expires.IsZero() && time.Now().After(t.Expires) {
		return Actor{}, ErrRefused
	}
	return a.Narrow(t.Scopes), nil
}

// Lasting is the actor for what acts later and by itself, a schedule. A page is no maker:
// it passes on what logged it in, so that logging out does not end what was made there,
// and removing that token or passkey does.
func (d *Directory) Lasting(ctx context.Context, a Actor) (Actor, error) {
	if a.PageID == "" {
		return a, nil
	}
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		m, err := makerOfPage(tx, a.PageID)
		if err == nil {
			a.Expires, err = endOf(tx, m)
		}
		a.Maker = string(m)
		return err
	})
	a.PageID, a.InPerson = "", false
	return a, err
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

// personStands refuses somebody whose every credential was taken back: the hub itself
// may have made them, so that no other end says so.
func (d *Directory) personStands(ctx context.Context, a Actor) error {
	if a.Owner || a.Person.Kind != KindPerson || a.PageID != "" || a.Maker != "" {
		return nil
	}
	now, n := store.Micros(time.Now()), 0
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT (SELECT COUNT(*) FROM tokens WHERE person = ? AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?))
			+ (SELECT COUNT(*) FROM page_sessions WHERE person = ? AND revoked_at = 0 AND expires_at > ?)
			+ (SELECT COUNT(*) FROM passkeys WHERE person = ?)`, a.Person.ID, now, a.Person.ID, now, a.Person.ID).Scan(&n)
	})
	if err == nil && n == 0 {
		err = ErrRefused
	}
	return err
}
