package workspace

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// What can be wrong with a grant.
var (
	// ErrNoGrant: there is none, or it is not the caller's.
	ErrNoGrant = errors.New("no such grant")
	// ErrBadGrant: it makes no sense.
	ErrBadGrant = errors.New("this folder cannot be shared like that")
)

// Grant is one person's word that agents of another may use a folder of theirs.
type Grant struct {
	ID string
	// Owner is whose folder it is, Person who may use it: ids, and what they are called.
	Owner, Person         string
	OwnerName, PersonName string
	// Folder is the path in the owner's folder, with slashes; "." is all of it. Path is
	// where that is.
	Folder, Path string
	ReadOnly     bool
	Created      time.Time
	// Until is when it ends by itself; zero is never.
	Until time.Time

	maker identity.Actor
}

// Folder is a folder of somebody else, as a run may use it.
type Folder struct {
	Path     string
	ReadOnly bool
	// Home is the folder of its owner, and Rel where it is in there.
	Home, Rel string
}

// People is what grants need to know of people; *identity.Directory is one.
type People interface {
	Person(ctx context.Context, idOrName string) (identity.Person, error)
	// Standing is an actor as its credential stands now; one that ended is refused.
	Standing(ctx context.Context, a identity.Actor) (identity.Actor, error)
	// Lasting is an actor for what outlives the page it was made on.
	Lasting(ctx context.Context, a identity.Actor) (identity.Actor, error)
}

// Grants are all of a hub. A grant ends with what it was made with, at its time, and when
// its owner, its receiver or the administration takes it back: from the next call on.
type Grants struct {
	DB     *store.DB
	Spaces *Spaces
	People People
	Trail  audit.Recorder
	Log    *slog.Logger
}

// maxGrants is how many one person may have given.
const maxGrants = 200

// Give lets the agents of somebody use a folder of the actor's own.
func (g *Grants) Give(ctx context.Context, who identity.Actor, to, folder string, readOnly bool, until time.Time) (Grant, error) {
	if who.Person.Kind != identity.KindPerson {
		return Grant{}, fmt.Errorf("%w: only people have folders", ErrBadGrant)
	}
	person, err := g.People.Person(ctx, to)
	switch {
	case errors.Is(err, identity.ErrNotFound):
		return Grant{}, fmt.Errorf("%w: nobody here is called %q", ErrBadGrant, to)
	case err != nil:
		return Grant{}, err
	case person.ID == who.Person.ID:
		return Grant{}, fmt.Errorf("%w: it is yours already", ErrBadGrant)
	case !until.IsZero() && !until.After(time.Now()):
		return Grant{}, fmt.Errorf("%w: its end is over already", ErrBadGrant)
	}
	one := Grant{
		ID: ids.New(), Owner: who.Person.ID, OwnerName: who.Person.Name, Person: person.ID, PersonName: person.Name,
		Folder: filepath.ToSlash(filepath.Clean(filepath.FromSlash(folder))), ReadOnly: readOnly, Created: time.Now(), Until: until,
	}
	found, err := g.Spaces.shared(one)
	if err != nil {
		return Grant{}, err
	}
	one.Path = found.Path
	if one.maker, err = g.People.Lasting(ctx, who); err != nil {
		return Grant{}, err
	}
	return one, g.write(ctx, who, one)
}

func (g *Grants) write(ctx context.Context, who identity.Actor, one Grant) error {
	maker, err := json.Marshal(one.maker)
	if err != nil {
		return err
	}
	return g.DB.Write(ctx, func(tx *store.Tx) error {
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM workspace_grants WHERE owner = ?`, one.Owner).Scan(&n); err != nil {
			return err
		}
		if n >= maxGrants {
			return fmt.Errorf("%w: %d are given already", ErrBadGrant, maxGrants)
		}
		_, err := tx.Exec(`INSERT INTO workspace_grants (id, owner, person, folder, read_only, created_at, until_at, maker) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			one.ID, one.Owner, one.Person, one.Folder, store.Bool(one.ReadOnly), store.Micros(one.Created), store.Micros(one.Until), string(maker))
		if err != nil {
			return err
		}
		return g.Trail.AppendTx(tx, audit.Entry{
			Actor: who.String(), Action: audit.WorkspaceGranted, Target: one.ID,
			Detail: map[string]any{"to": one.PersonName, "folder": one.Folder, "read_only": one.ReadOnly, "until": one.Until},
		})
	})
}

// List is what somebody gave and was given, the newest first; the administration sees all.
func (g *Grants) List(ctx context.Context, who identity.Actor) ([]Grant, error) {
	list, err := g.rows(ctx, `WHERE owner = ? OR person = ? OR ? = 1`, who.Person.ID, who.Person.ID, store.Bool(who.Admin()))
	if err != nil {
		return nil, err
	}
	for i := range list {
		if found, err := g.Spaces.shared(list[i]); err == nil {
			list[i].Path = found.Path
		}
		list[i].OwnerName, list[i].PersonName = g.nameOf(ctx, list[i].Owner), g.nameOf(ctx, list[i].Person)
	}
	return list, nil
}

func (g *Grants) nameOf(ctx context.Context, id string) string {
	person, err := g.People.Person(ctx, id)
	if err != nil {
		return id
	}
	return person.Name
}

// TakeBack ends a grant: its owner may, whoever was given it, and the administration. To
// others it does not exist.
func (g *Grants) TakeBack(ctx context.Context, who identity.Actor, id string) error {
	return g.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM workspace_grants WHERE id = ? AND (owner = ? OR person = ? OR ? = 1)`, id, who.Person.ID, who.Person.ID, store.Bool(who.Admin()))
		if err == nil && n == 0 {
			err = ErrNoGrant
		}
		if err != nil {
			return err
		}
		return g.Trail.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.WorkspaceRevoked, Target: id})
	})
}

// For are the folders of others that a run for somebody may use at this moment. One whose
// grant has ended, or that is not there as it was, is left out.
func (g *Grants) For(ctx context.Context, who identity.Actor) ([]Folder, error) {
	if g == nil || who.Person.Kind != identity.KindPerson {
		return nil, nil
	}
	list, err := g.rows(ctx, `WHERE person = ? AND (until_at = 0 OR until_at > ?)`, who.Person.ID, store.Micros(time.Now()))
	var out []Folder
	for _, one := range list {
		maker, ended := g.People.Standing(ctx, one.maker)
		if ended != nil || !maker.Scopes.Has(identity.TaskSubmit) {
			continue
		}
		folder, gone := g.Spaces.shared(one)
		if gone != nil {
			g.Log.Warn("a folder that was shared is not there as it was", "grant", one.ID, "error", gone)
			continue
		}
		out = append(out, folder)
	}
	return out, err
}

func (g *Grants) rows(ctx context.Context, where string, args ...any) ([]Grant, error) {
	out := []Grant{}
	err := g.DB.Read(ctx, func(tx *store.Tx) error {
		out = out[:0]
		return tx.Each(func(r *sql.Rows) error {
			var one Grant
			var maker string
			var readOnly, created, until int64
			if err := r.Scan(&one.ID, &one.Owner, &one.Person, &one.Folder, &readOnly, &created, &until, &maker); err != nil {
				return err
			}
			one.ReadOnly, one.Created, one.Until = readOnly == 1, store.Time(created), store.Time(until)
			out = append(out, one)
			return json.Unmarshal([]byte(maker), &out[len(out)-1].maker)
		}, `SELECT id, owner, person, folder, read_only, created_at, until_at, maker FROM workspace_grants `+where+` ORDER BY created_at DESC, id`, args...)
	})
	return out, err
}
