package identity

import (
	"context"
	"fmt"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
)

// Revoke takes a token back and ends what was opened and made with it. Revoking
// twice is no error; somebody else's token is ErrNotFound. A caller may always
// revoke the token it came with; others need device:manage and every scope that
// token has, so that a script cannot lock its person out, or admin.
func (d *Directory) Revoke(ctx context.Context, by Actor, tokenID string) error {
	if by.TokenID != tokenID && !by.Scopes.Has(DeviceManage) {
		return ErrForbidden
	}
	var changes []change
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		changes = nil
		if err := lockCredentials(tx); err != nil {
			return err
		}
		t, err := ownToken(tx, by, tokenID)
		if err != nil || !t.Revoked.IsZero() {
			return err
		}
		if by.TokenID != tokenID {
			if err := by.mayEnd(t.Principal.ID, t.Scopes); err != nil {
				return err
			}
		}
		if changes, err = revokeTokens(tx, `id = ?`, tokenID); err != nil {
			return err
		}
		detail := tokenDetail(t)
		detail["ended"] = len(changes)
		return d.record(tx, by, audit.TokenRevoked, tokenID, detail)
	})
	if err == nil {
		d.announce(changes...)
	}
	return err
}

// mayEnd says whether the actor may take back a person's credential with these
// scopes: a narrow one does not end a wider one, unless it is admin's.
func (a Actor) mayEnd(person string, scopes Scopes) error {
	switch {
	case !a.Owns(person):
		return ErrNotFound
	case !a.Admin() && !coversAll(a.Scopes, scopes):
		return fmt.Errorf("%w: it can do more than you", ErrForbidden)
	default:
		return nil
	}
}

// coversAll is Covers for credentials of either role: what a node may do, any
// operator who makes tokens may have one do.
func coversAll(wide, narrow Scopes) bool { return wide.Covers(narrow.Without(NodeRegister)) }

// RevokePerson takes back every token, page, passkey, device and unused login
// link of a person, and what was made with them; needs admin. The owner keeps
// theirs, so that nobody is locked out of the hub.
func (d *Directory) RevokePerson(ctx context.Context, by Actor, idOrName string) error {
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
		if err := lockCredentials(tx); err != nil {
			return err
		}
		if changes, err = endAll(tx, `person = ?`, p.ID); err != nil {
			return err
		}
		// A device without a token of ours may still be pinned.
		if _, err := tx.Exec(`UPDATE devices SET revoked_at = ? WHERE person = ? AND revoked_at = 0`, store.Micros(time.Now()), p.ID); err != nil {
			return err
		}
		return d.record(tx, by, audit.PersonRevoked, p.Name, map[string]any{"credentials": len(changes)})
	})
	if err == nil {
		d.announce(changes...)
	}
	return err
}
