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
		issued, err := d.insertOwnerToken(tx, out.Owner)
		out.TokenID, out.Secret = issued.ID, issued.Secret
		return err
	})
	if err != nil {
		return Bootstrapped{}, err
	}
	return out, nil
}

// NewOwnerToken makes another owner's token, for whoever can open the data
// folder and lost the first.
func (d *Directory) NewOwnerToken(ctx context.Context) (Issued, error) {
	var out Issued
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		owner, err := scanPerson(tx.QueryRow(selectPerson + ` WHERE owner = 1`))
		if err != nil {
			return err
		}
		out, err = d.insertOwnerToken(tx, owner)
		return err
	})
	return out, err
}

// insertOwnerToken makes a token that does not expire: it is the key to the
// house, kept in the data folder beside everything it protects. It asks before
// it changes machines, as fleet:unattended is given by name only.
func (d *Directory) insertOwnerToken(tx *store.Tx, owner Person) (Issued, error) {
	t := Token{
		ID: ids.New(), Kind: TokenOperator, Role: RoleOperator, Name: "owner", Principal: owner.Principal(),
		Scopes: Expand(Admin), Created: time.Now(), owner: true,
	}
	out, err := insertToken(tx, t)
	if err != nil {
		return Issued{}, err
	}
	return out, d.record(tx, Hub(), audit.TokenCreated, t.ID, tokenDetail(t))
}
