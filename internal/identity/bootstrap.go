package identity

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// Bootstrapped is the result of the first start.
type Bootstrapped struct {
	// Created is false when the hub had an owner already; then Secret is empty.
	Created bool
	Owner   Person
	TokenID string
	// Secret is the owner's token, to be written to a file only they can read.
	Secret string
}

// Bootstrap makes the hub's owner and their token on the first start. Of several
// hubs that start at once on one database exactly one creates them.
func (d *Directory) Bootstrap(ctx context.Context, ownerName string) (Bootstrapped, error) {
	if err := checkForm(ownerName); err != nil {
		return Bootstrapped{}, err
	}
	var out Bootstrapped
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`INSERT INTO people (id, name, owner, created_at) VALUES (?, ?, 1, ?) ON CONFLICT DO NOTHING`,
			ids.New(), ownerName, store.Micros(time.Now()))
		if err != nil {
			return err
		}
		out = Bootstrapped{Created: n == 1}
		if out.Owner, err = scanPerson(tx.QueryRow(selectPerson + ` WHERE owner = 1`)); err != nil {
			if errors.Is(err, ErrNotFound) {
				return ErrNameTaken
			}
			return err
		}
		if !out.Created {
			return nil
		}
		issued, err := d.insertOwnerToken(tx, out.Owner, "owner")
		out.TokenID, out.Secret = issued.ID, issued.Secret
		return err
	})
	if err != nil {
		return Bootstrapped{}, err
	}
	return out, nil
}

// ownerOn begins the names of the tokens of further data folders.
const ownerOn = "owner on "

// NewOwnerToken makes another owner's token, for a data folder that has none: of a further
// hub of a cluster, or of somebody who lost the first. It does not expire, but see
// [Directory.EndIdleOwnerTokens].
func (d *Directory) NewOwnerToken(ctx context.Context, hub string) (Issued, error) {
	var out Issued
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		owner, err := scanPerson(tx.QueryRow(selectPerson + ` WHERE owner = 1`))
		if err != nil {
			return err
		}
		out, err = d.insertOwnerToken(tx, owner, clean(ownerOn+hub))
		return err
	})
	return out, err
}

// EndIdleOwnerTokens takes back the tokens of further data folders that nothing has used for
// as long as a token lives: their folders are gone. What something was made with that is
// still good stays.
func (d *Directory) EndIdleOwnerTokens(ctx context.Context) error {
	var changes []change
	err := d.db.Write(ctx, func(tx *store.Tx) (err error) {
		changes = nil
		if err := lockCredentials(tx); err != nil {
			return err
		}
		now := time.Now()
		before := store.Micros(now.Add(-TokenLife))
		var idle []string
		err = tx.Each(store.Into(&idle), `SELECT t.id FROM tokens t JOIN people p ON p.id = t.person
			WHERE p.owner = 1 AND t.maker = '' AND t.expires_at = 0 AND t.revoked_at = 0 AND t.name LIKE ? AND t.created_at < ? AND t.last_used_at < ?
			AND NOT EXISTS (SELECT 1 FROM tokens c WHERE c.maker = 'token:' || t.id AND c.revoked_at = 0 AND (c.expires_at = 0 OR c.expires_at > ?))
			AND NOT EXISTS (SELECT 1 FROM passkeys k WHERE k.maker = 'token:' || t.id)`,
			ownerOn+"%", before, before, store.Micros(now))
		for _, id := range idle {
			if err != nil {
				return err
			}
			var ended []change
			if ended, err = revokeTokens(tx, `id = ?`, id); err == nil {
				changes, err = append(changes, ended...), d.record(tx, Hub(), audit.TokenRevoked, id, map[string]any{"reason": "idle", "ended": len(ended)})
			}
		}
		return err
	})
	if err == nil {
		d.announce(changes...)
	}
	return err
}

// insertOwnerToken makes a token that does not expire: it is the key to the
// house, kept in the data folder beside everything it protects. It asks before
// it changes machines, as fleet:unattended is given by name only.
func (d *Directory) insertOwnerToken(tx *store.Tx, owner Person, name string) (Issued, error) {
	t := Token{
		ID: ids.New(), Kind: TokenOperator, Role: RoleOperator, Name: name, Principal: owner.Principal(),
		Scopes: Expand(Admin), Created: time.Now(), owner: true,
	}
	out, err := insertToken(tx, t)
	if err != nil {
		return Issued{}, err
	}
	return out, d.record(tx, Hub(), audit.TokenCreated, t.ID, tokenDetail(t))
}
