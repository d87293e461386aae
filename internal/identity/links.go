package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// LinkRequest asks for a one-time login link.
type LinkRequest struct {
	// Principal is the person's name; empty means the caller. Another person
	// needs admin, and is created if new.
	Principal string
	// Scopes as for a token; nil gives the caller's own page everything the
	// caller may do, and anybody else the operator's default.
	Scopes []string
}

// Link is a one-time login secret. It belongs into the fragment of an address,
// which no server and no log ever sees.
type Link struct {
	Secret  string    `json:"secret"`
	Person  Person    `json:"person"`
	Expires time.Time `json:"expires_at"`
}

// CreateLink makes a login link; it needs device:manage.
func (d *Directory) CreateLink(ctx context.Context, by Actor, req LinkRequest) (Link, error) {
	if !by.Scopes.Has(DeviceManage) {
		return Link{}, ErrForbidden
	}
	now := time.Now()
	out := Link{Secret: newSecret(linkPrefix)}
	s := seal(out.Secret)
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		a, err := authorOf(tx, by)
		if err != nil {
			return err
		}
		if out.Person, err = personFor(tx, by, req.Principal); err != nil {
			return err
		}
		scopes := req.scopes(a, by, out.Person)
		out.Expires = earlier(now.Add(LinkLife), a.end)
		id := ids.New()
		_, err = tx.Exec(`INSERT INTO login_links (id, lookup, salt, hash, person, scopes, created_at, expires_at, maker) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, s.lookup, s.salt, s.hash, out.Person.ID, scopes.String(), store.Micros(now), store.Micros(out.Expires), string(a.maker))
		if err != nil {
			return err
		}
		return d.record(tx, by, audit.LinkCreated, id, map[string]any{"principal": out.Person.Name, "scopes": scopes.Sorted()})
	})
	return out, err
}

func (req LinkRequest) scopes(a author, by Actor, p Person) Scopes {
	if req.Scopes == nil && p.ID == by.Person.ID {
		return by.Scopes
	}
	return a.give(req.Scopes, RoleOperator)
}

// RedeemLink uses a login link up and logs the browser in.
func (d *Directory) RedeemLink(ctx context.Context, secret, agent, address string) (Login, error) {
	if !wellFormed(secret, linkPrefix) {
		return Login{}, refused(Malformed, "")
	}
	var out Login
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		if err := lockCredentials(tx); err != nil {
			return err
		}
		by, m, err := useLink(tx, secret)
		if err != nil {
			return err
		}
		by.Address = address
		out, err = d.insertPage(tx, by, m, agent, "link")
		return err
	})
	return out, err
}

// useLink marks the link used, if nobody was faster, and tells whose it is and
// what it was made with.
func useLink(tx *store.Tx, secret string) (Actor, maker, error) {
	var s sealed
	var id, scopes, made string
	var expires, used, owner int64
	who := Actor{Person: Principal{Kind: KindPerson}, Role: RoleOperator}
	err := tx.QueryRow(`SELECT l.id, l.lookup, l.salt, l.hash, l.scopes, l.expires_at, l.used_at, l.maker, p.id, p.name, p.owner
		FROM login_links l JOIN people p ON p.id = l.person WHERE l.lookup = ?`, lookupOf(secret)).
		Scan(&id, &s.lookup, &s.salt, &s.hash, &scopes, &expires, &used, &made, &who.Person.ID, &who.Person.Name, &owner)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && !s.opens(secret)) {
		return Actor{}, "", refused(Unknown, "")
	}
	if err != nil {
		return Actor{}, "", err
	}
	now := time.Now()
	switch {
	case used != 0:
		return Actor{}, "", refused(Used, "")
	case !now.Before(store.Time(expires)):
		return Actor{}, "", refused(Expired, "")
	}
	n, err := tx.Exec(`UPDATE login_links SET used_at = ? WHERE id = ? AND used_at = 0`, store.Micros(now), id)
	if err == nil && n == 0 {
		err = refused(Used, "")
	}
	who.Owner, who.Scopes = owner == 1, parseScopes(scopes)
	return who, maker(made), err
}
