package identity

import (
	"context"
	"time"

	"parley.internal/internal/store"
)

// RedeemCode uses a pairing code (or the pairing token itself) up and logs the
// browser in, with the pairing token's scopes. A browser needs no key of its
// own: its cookie is bound to it already.
func (d *Directory) RedeemCode(ctx context.Context, code, agent, address string) (Login, error) {
	secret, try, err := d.pairingSecret(PairRequest{Secret: code, Address: address})
	if err != nil {
		return Login{}, err
	}
	defer try.End()
	var out Login
	err = d.db.Write(ctx, func(tx *store.Tx) error {
		if err := lockCredentials(tx); err != nil {
			return err
		}
		pairing, err := spend(tx, secret, time.Now())
		if err != nil {
			return err
		}
		by := Actor{Person: pairing.Principal, Owner: pairing.owner, Role: pairing.Role, Scopes: pairing.Scopes, Via: Via{Address: address}}
		if by.Role != RoleOperator {
			return ErrForbidden
		}
		out, err = d.insertPage(tx, by, pairing.maker, agent, "code")
		return err
	})
	if err != nil {
		if try != nil && ReasonOf(err) == Unknown {
			try.Failed()
		}
		return Login{}, err
	}
	if try != nil {
		try.Succeeded()
	}
	return out, nil
}
