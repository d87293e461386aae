package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
	"parley.internal/protocol/agentfirst"
)

// Person is somebody who uses this hub. The name never changes: conversations
// and the audit trail use it.
type Person struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Owner   bool      `json:"owner"`
	Created time.Time `json:"created_at"`
}

// Principal is the person as one who acts.
func (p Person) Principal() Principal { return Principal{Kind: KindPerson, ID: p.ID, Name: p.Name} }

// AddPerson creates a person; needs admin.
func (d *Directory) AddPerson(ctx context.Context, by Actor, name string) (Person, error) {
	if !by.Admin() {
		return Person{}, ErrForbidden
	}
	var p Person
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		var created bool
		var err error
		if p, created, err = ensurePerson(tx, name); err != nil {
			return err
		}
		if !created {
			return ErrNameTaken
		}
		return d.record(tx, by, audit.PersonAdded, p.Name, nil)
	})
	return p, err
}

// Person finds a person by id or, failing that, by name.
func (d *Directory) Person(ctx context.Context, idOrName string) (Person, error) {
	var p Person
	err := d.db.Read(ctx, func(tx *store.Tx) (err error) {
		p, err = findPerson(tx, idOrName)
		return err
	})
	return p, err
}

// Owner is the hub's owner; ErrNotFound before Bootstrap.
func (d *Directory) Owner(ctx context.Context) (Person, error) {
	var p Person
	err := d.db.Read(ctx, func(tx *store.Tx) (err error) {
		p, err = scanPerson(tx.QueryRow(selectPerson + ` WHERE owner = 1`))
		return err
	})
	return p, err
}

// People lists everybody by name.
func (d *Directory) People(ctx context.Context) ([]Person, error) {
	people := []Person{}
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		people = people[:0]
		return tx.Each(store.IntoBy(&people, scanPerson), selectPerson+` ORDER BY name`)
	})
	return people, err
}

const selectPerson = `SELECT id, name, owner, created_at FROM people`

func scanPerson(row store.Row) (Person, error) {
	var p Person
	var owner, created int64
	err := row.Scan(&p.ID, &p.Name, &owner, &created)
	p.Owner, p.Created = owner == 1, store.Time(created)
	return p, notFound(err)
}

// notFound turns an absent row into ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

func findPerson(tx *store.Tx, idOrName string) (Person, error) {
	p, err := scanPerson(tx.QueryRow(selectPerson+` WHERE id = ?`, idOrName))
	if errors.Is(err, ErrNotFound) {
		return scanPerson(tx.QueryRow(selectPerson+` WHERE name = ?`, idOrName))
	}
	return p, err
}

// ensurePerson finds the person of that name or creates them. A new name is
// checked, and differs from the others' in more than the case of its letters;
// whoever exists already keeps theirs.
func ensurePerson(tx *store.Tx, name string) (p Person, created bool, err error) {
	p, err = scanPerson(tx.QueryRow(selectPerson+` WHERE name = ?`, name))
	if !errors.Is(err, ErrNotFound) {
		return p, false, err
	}
	if err := CheckName(name); err != nil {
		return Person{}, false, err
	}
	err = tx.Each(func(row *sql.Rows) error {
		other, err := scanPerson(row)
		if err == nil && strings.EqualFold(other.Name, name) {
			err = fmt.Errorf("%w: there is %q", ErrNameTaken, other.Name)
		}
		return err
	}, selectPerson)
	if err != nil {
		return Person{}, false, err
	}
	n, err := tx.Exec(`INSERT INTO people (id, name, owner, created_at) VALUES (?, ?, 0, ?) ON CONFLICT (name) DO NOTHING`,
		ids.New(), name, store.Micros(time.Now()))
	if err != nil {
		return Person{}, false, err
	}
	p, err = scanPerson(tx.QueryRow(selectPerson+` WHERE name = ?`, name))
	return p, n == 1, err
}

// BySender finds the person whose Sender this is; ErrNotFound for those who are
// nobody's, such as a gateway's.
func (d *Directory) BySender(ctx context.Context, sender string) (Person, error) {
	if id, ok := strings.CutPrefix(sender, personSender); ok {
		return d.Person(ctx, id)
	}
	query, args := selectPerson+` WHERE name = ? AND owner = 0`, []any{sender}
	if sender == agentfirst.DefaultSender {
		query, args = selectPerson+` WHERE owner = 1`, nil
	}
	var p Person
	err := d.db.Read(ctx, func(tx *store.Tx) (err error) {
		p, err = scanPerson(tx.QueryRow(query, args...))
		return err
	})
	return p, err
}
