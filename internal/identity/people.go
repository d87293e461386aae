package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"parley/internal/store"
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

// CheckName says what is wrong with a person's name, if anything. A colon is
// refused because senders with one are not people of this hub.
func CheckName(name string) error {
	bad := func(r rune) bool { return unicode.IsControl(r) || r == ':' || r == ',' || r == '/' }
	switch {
	case name == "" || len(name) > 64:
		return fmt.Errorf("%w: a name has 1 to 64 bytes", ErrInvalid)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, bad) || strings.TrimSpace(name) != name:
		return fmt.Errorf("%w: a name has no control characters, colons, commas, slashes or spaces at its ends", ErrInvalid)
	default:
		return nil
	}
}

// AddPerson creates a person; needs admin.
func (d *Directory) AddPerson(ctx context.Context, by Session, name string) (Person, error) {
	if !by.Admin() {
		return Person{}, ErrForbidden
	}
	if err := CheckName(name); err != nil {
		return Person{}, err
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
		return d.record(tx, by, "person.added", p.Name, nil)
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
		return tx.Each(func(row *sql.Rows) error {
			p, err := scanPerson(row)
			people = append(people, p)
			return err
		}, selectPerson+` ORDER BY name`)
	})
	return people, err
}

const selectPerson = `SELECT id, name, owner, created_at FROM people`

// scanner is a row or rows.
type scanner interface{ Scan(dest ...any) error }

func scanPerson(row scanner) (Person, error) {
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

// ensurePerson finds the person of that name or creates them.
func ensurePerson(tx *store.Tx, name string) (p Person, created bool, err error) {
	n, err := tx.Exec(`INSERT INTO people (id, name, owner, created_at) VALUES (?, ?, 0, ?) ON CONFLICT (name) DO NOTHING`,
		newID(), name, store.Micros(time.Now()))
	if err != nil {
		return Person{}, false, err
	}
	p, err = scanPerson(tx.QueryRow(selectPerson+` WHERE name = ?`, name))
	return p, n == 1, err
}

// newID is a UUIDv7: sortable by age, and no secret.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
