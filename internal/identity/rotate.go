package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
)

// Rotated is a token's new secret.
type Rotated struct {
	Issued
	// OldValidUntil is when the secret before it stops working.
	OldValidUntil time.Time `json:"old_valid_until"`
}

// Rotate gives a token a new secret; the old one works five minutes more. The id
// and the scopes stay. With renew its life starts anew as well, but ends no later
// than the caller's and its maker's.
//
// Rotating is making: one's own token may always be rotated; another needs
// device:manage, every scope that token has and a life as long as its own. A token
// that the caller's line did not make joins that line, so that it ends with it.
func (d *Directory) Rotate(ctx context.Context, by Actor, tokenID string, renew bool) (Rotated, error) {
	own := by.TokenID == tokenID && by.PageID == ""
	if !own && !by.Scopes.Has(DeviceManage) {
		return Rotated{}, ErrForbidden
	}
	var out Rotated
	changed := change{ref: ref{refToken, tokenID}}
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		a, err := authorOf(tx, by)
		if err != nil {
			return err
		}
		t, err := ownToken(tx, by, tokenID)
		if err != nil {
			return err
		}
		if !own {
			if t.maker, err = newMaker(tx, a, t); err != nil {
				return err
			}
		}
		if out, err = rotate(tx, t, a, renew); err != nil {
			return err
		}
		if err := changed.write(tx); err != nil {
			return err
		}
		return d.record(tx, by, audit.TokenRotated, tokenID, tokenDetail(out.Token))
	})
	if err == nil {
		d.announce(changed)
	}
	return out, err
}

// newMaker is what a token is made with once the author has its secret, or why
// the author may not have it.
func newMaker(tx *store.Tx, a author, t Token) (maker, error) {
	// A page that owner.token logged in, somebody else's perhaps, is no owner.token.
	if owners, err := isOwnerToken(tx, t.ID); err != nil || owners && a.maker != byHub {
		return "", errors.Join(err, fmt.Errorf("%w: the owner's token is rotated with itself, or on the hub's own machine", ErrForbidden))
	}
	if !coversAll(a.scopes, t.Scopes) {
		return "", fmt.Errorf("%w: rotating a token needs every scope it has", ErrForbidden)
	}
	if !a.end.IsZero() && (t.Expires.IsZero() || t.Expires.After(a.end)) {
		return "", fmt.Errorf("%w: the token lives longer than what you rotate it with", ErrForbidden)
	}
	this := madeWithToken(t.ID)
	line, err := ancestry(tx, this)
	if err != nil || a.maker == byHub || slices.Contains(line, a.maker) {
		return t.maker, err
	}
	above, err := ancestry(tx, a.maker)
	if err != nil {
		return "", err
	}
	if t.maker != byHub || slices.Contains(above, this) {
		return "", fmt.Errorf("%w: the token was not made with what you rotate it with; revoke it and make another", ErrForbidden)
	}
	return a.maker, nil
}

func rotate(tx *store.Tx, t Token, a author, renew bool) (Rotated, error) {
	now := time.Now()
	if err := t.credential(sealed{}, time.Time{}).judge(now); err != nil {
		return Rotated{}, err
	}
	if t.Kind == TokenPairing {
		return Rotated{}, fmt.Errorf("%w: a pairing token is made anew, not rotated", ErrInvalid)
	}
	out := Rotated{Issued: Issued{Token: t, Secret: newSecret(tokenPrefix)}, OldValidUntil: now.Add(RotationGrace)}
	until := store.Micros(out.OldValidUntil)
	if _, err := tx.Exec(`UPDATE token_secrets SET valid_until = ? WHERE token = ? AND (valid_until = 0 OR valid_until > ?)`, until, t.ID, until); err != nil {
		return Rotated{}, err
	}
	// Long-dead secrets only served to answer "expired" instead of "unknown".
	if _, err := tx.Exec(`DELETE FROM token_secrets WHERE token = ? AND valid_until > 0 AND valid_until < ?`, t.ID, store.Micros(now.Add(-TokenLife))); err != nil {
		return Rotated{}, err
	}
	if renew && t.TTL > 0 {
		limit, err := endOf(tx, t.maker)
		if err != nil {
			return Rotated{}, err
		}
		// What can only be cut shorter than it is keeps its end.
		if end := earlier(earlier(now.Add(t.TTL), a.end), limit); end.After(t.Expires) {
			out.Expires = end
		}
	}
	_, err := tx.Exec(`UPDATE tokens SET expires_at = ?, maker = ? WHERE id = ?`, store.Micros(out.Expires), string(t.maker), t.ID)
	if err != nil {
		return Rotated{}, err
	}
	return out, insertSecret(tx, t.ID, out.Secret)
}
