package identity

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"parley/internal/store"
)

// Revoke takes a token back and ends what was opened with it, pages that logged
// in with it included. Revoking twice is no error; somebody else's token is
// ErrNotFound. A caller may always revoke the token it came with; others need
// device:manage.
func (d *Directory) Revoke(ctx context.Context, by Session, tokenID string) error {
	if by.TokenID != tokenID && !by.Scopes.Has(DeviceManage) {
		return ErrForbidden
	}
	var changes []change
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		changes = nil
		t, err := ownToken(tx, by, tokenID)
		if err != nil || !t.Revoked.IsZero() {
			return err
		}
		if changes, err = revokeTokens(tx, `id = ?`, tokenID); err != nil {
			return err
		}
		return d.record(tx, by, "token.revoked", tokenID, tokenDetail(t))
	})
	if err == nil {
		d.announce(changes...)
	}
	return err
}

// RevokePerson takes back every token, page, passkey, device and unused login
// link of a person; needs admin. The owner keeps theirs, so that nobody is locked out of the hub.
func (d *Directory) RevokePerson(ctx context.Context, by Session, idOrName string) error {
	if !by.Admin() {
		return ErrForbidden
	}
	var changes []change
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		p, err := findPerson(tx, idOrName)
		if err != nil {
			return err
		}
		if p.Owner {
			return fmt.Errorf("%w: the owner's access is not revoked as a whole", ErrInvalid)
		}
		if changes, err = revokeTokens(tx, `person = ?`, p.ID); err != nil {
			return err
		}
		pages, err := revokePages(tx, `person = ?`, p.ID)
		if err != nil {
			return err
		}
		changes = append(changes, pages...)
		if err := forgetWaysIn(tx, p.ID); err != nil {
			return err
		}
		return d.record(tx, by, "person.revoked", p.Name, map[string]any{"credentials": len(changes)})
	})
	if err == nil {
		d.announce(changes...)
	}
	return err
}

// forgetWaysIn removes what could open a new page for the person.
func forgetWaysIn(tx *store.Tx, person string) error {
	if _, err := tx.Exec(`DELETE FROM passkeys WHERE person = ?`, person); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM login_links WHERE person = ? AND used_at = 0`, person); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE devices SET revoked_at = ? WHERE person = ? AND revoked_at = 0`, store.Micros(time.Now()), person)
	return err
}

// revokeTokens revokes the live tokens that match and the pages opened with them.
func revokeTokens(tx *store.Tx, where string, args ...any) ([]change, error) {
	changes, err := revokeRows(tx, "tokens", refToken, where, args...)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		pages, err := revokePages(tx, `token = ?`, c.ID)
		if err != nil {
			return nil, err
		}
		changes = append(changes, pages...)
	}
	return changes, nil
}

func revokePages(tx *store.Tx, where string, args ...any) ([]change, error) {
	return revokeRows(tx, "page_sessions", refPage, where, args...)
}

func revokeRows(tx *store.Tx, table, kind, where string, args ...any) ([]change, error) {
	var changes []change
	err := tx.Each(func(row *sql.Rows) error {
		c := change{ref: ref{Kind: kind}, Revoked: true}
		err := row.Scan(&c.ID)
		changes = append(changes, c)
		return err
	}, `UPDATE `+table+` SET revoked_at = ? WHERE revoked_at = 0 AND `+where+` RETURNING id`,
		append([]any{store.Micros(time.Now())}, args...)...)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if err := c.write(tx); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// Rotated is a token's new secret.
type Rotated struct {
	Issued
	// OldValidUntil is when the secret before it stops working.
	OldValidUntil time.Time `json:"old_valid_until"`
}

// Rotate gives a token a new secret; the old one works five minutes more. The
// id and the scopes stay. With renew its life starts anew as well. One's own
// token may always be rotated; another needs device:manage.
func (d *Directory) Rotate(ctx context.Context, by Session, tokenID string, renew bool) (Rotated, error) {
	if by.TokenID != tokenID && !by.Scopes.Has(DeviceManage) {
		return Rotated{}, ErrForbidden
	}
	var out Rotated
	changed := change{ref: ref{refToken, tokenID}}
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		t, err := ownToken(tx, by, tokenID)
		if err != nil {
			return err
		}
		if out, err = rotate(tx, t, renew); err != nil {
			return err
		}
		if err := changed.write(tx); err != nil {
			return err
		}
		return d.record(tx, by, "token.rotated", tokenID, tokenDetail(out.Token))
	})
	if err == nil {
		d.announce(changed)
	}
	return out, err
}

func rotate(tx *store.Tx, t Token, renew bool) (Rotated, error) {
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
		out.Expires = now.Add(t.TTL)
		if _, err := tx.Exec(`UPDATE tokens SET expires_at = ? WHERE id = ?`, store.Micros(out.Expires), t.ID); err != nil {
			return Rotated{}, err
		}
	}
	return out, insertSecret(tx, t.ID, out.Secret)
}
