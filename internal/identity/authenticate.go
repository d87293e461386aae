package identity

import (
	"context"
	"time"

	"parley.internal/internal/store"
)

// Authenticate tells who holds the secret of a token. A refusal is an
// *AuthError. The actor of a pairing token has no scopes: Pair uses it up.
func (d *Directory) Authenticate(ctx context.Context, secret string) (Actor, error) {
	if !TokenForm(secret) {
		return Actor{}, refused(Malformed, "")
	}
	return d.open(ctx, secret, func(tx *store.Tx) (*credential, error) {
		_, k, err := loadToken(tx, secret)
		return k, err
	})
}

// open judges a secret, known from memory or from the store.
func (d *Directory) open(ctx context.Context, secret string, load func(*store.Tx) (*credential, error)) (Actor, error) {
	k := d.cache.get(secret)
	if k == nil || ReasonOf(k.judge(time.Now())) == Expired {
		// What has expired in memory may have been renewed, or its maker was.
		// Taken before the read: if anything changes meanwhile, the result is
		// used once and not kept.
		generation := d.cache.generation()
		err := d.db.Read(ctx, func(tx *store.Tx) (err error) {
			k, err = load(tx)
			return err
		})
		if err != nil {
			return Actor{}, err
		}
		d.cache.put(generation, k)
	}
	now := time.Now()
	if err := k.judge(now); err != nil {
		return Actor{}, err
	}
	if d.live.revoked(k.actor.refs()) {
		return Actor{}, refused(Revoked, k.actor.TokenID)
	}
	if k.slide > 0 {
		d.cache.touch(k.sealed.lookup, now)
	}
	d.uses.note(k.actor, now)
	return k.current(now), nil
}
