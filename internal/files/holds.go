package files

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// hold notes who has a file, and why. Holding it again only makes it last longer.
func hold(tx *store.Tx, f File, owner string, thing Thing, until time.Time) error {
	_, err := tx.Exec(`INSERT INTO file_holds (digest, person, thing, name, at, until_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (digest, person, thing) DO UPDATE SET name = excluded.name, until_at = excluded.until_at`,
		f.Digest, owner, string(thing), f.Name, store.Micros(f.At), store.Micros(until))
	return err
}

const selectFile = `SELECT f.digest, h.name, f.type, f.size, h.at FROM file_holds h JOIN files f ON f.digest = h.digest`

func scanFile(row store.Row) (f File, err error) {
	var at int64
	err = row.Scan(&f.Digest, &f.Name, &f.Type, &f.Size, &at)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	f.At = store.Time(at)
	return f, err
}

// held finds a file of a drawer.
func held(tx *store.Tx, owner, digest string) (File, error) {
	if owner == "" || !isDigest(digest) {
		return File{}, ErrNotFound
	}
	return scanFile(tx.QueryRow(selectFile+` WHERE h.digest = ? AND h.person = ? AND (h.until_at = 0 OR h.until_at > ?) ORDER BY h.at DESC LIMIT 1`,
		digest, owner, store.Micros(time.Now())))
}

// lock keeps a file from being removed, or from being held, until the transaction ends.
func lock(tx *store.Tx, digest string) error {
	if !isDigest(digest) {
		return ErrNotFound
	}
	var found string
	err := tx.QueryRow(`SELECT digest FROM files WHERE digest = ?`+tx.ForUpdate(), digest).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// isDigest reports whether a text is a digest at all; databases refuse some of the others.
func isDigest(text string) bool {
	return len(text) == hex.EncodedLen(sha256.Size) && strings.Trim(text, "0123456789abcdef") == ""
}

// HoldFor keeps files for something that refers to them, and says what they are. The caller
// must have each of them: knowing a digest is not enough.
func (s *Store) HoldFor(ctx context.Context, who identity.Actor, thing Thing, digests ...string) (list []File, err error) {
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		list, err = s.HoldTx(tx, who, thing, digests...)
		return err
	})
	return list, err
}

// ShowIn keeps a file of the caller's for something that others see it in, and the trail says so.
func (s *Store) ShowIn(ctx context.Context, who identity.Actor, thing Thing, digest string) (File, error) {
	list, err := s.HoldFor(ctx, who, thing, digest)
	if err != nil {
		return File{}, err
	}
	if s.d.Trail != nil {
		d := detail(who, list[0])
		d["in"] = string(thing)
		s.d.Trail.Note(audit.Entry{Actor: who.String(), OnBehalf: who.OnBehalf(), Action: audit.FileShared, Target: digest, Detail: d})
	}
	return list[0], nil
}

// Check refuses files that the caller does not have, before anything is made that would hold them.
func (s *Store) Check(ctx context.Context, who identity.Actor, digests ...string) error {
	if len(digests) > MaxPerMessage {
		return fmt.Errorf("%w: at most %d", ErrTooMany, MaxPerMessage)
	}
	return s.d.DB.Read(ctx, func(tx *store.Tx) error {
		for _, digest := range digests {
			if _, err := held(tx, drawer(who), digest); err != nil {
				return err
			}
		}
		return nil
	})
}

// HoldTx is HoldFor in the transaction that makes what refers to the files.
func (s *Store) HoldTx(tx *store.Tx, who identity.Actor, thing Thing, digests ...string) (list []File, err error) {
	if len(digests) > MaxPerMessage {
		return nil, fmt.Errorf("%w: at most %d", ErrTooMany, MaxPerMessage)
	}
	owner := drawer(who)
	for _, digest := range digests {
		if err := lock(tx, digest); err != nil {
			return nil, err
		}
		f, err := held(tx, owner, digest)
		if err != nil {
			return nil, err
		}
		if err := hold(tx, f, owner, thing, time.Time{}); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// Bytes reads a file for something that holds it.
func (s *Store) Bytes(ctx context.Context, thing Thing, digest string) ([]byte, error) {
	_, data, err := s.Of(ctx, thing, digest)
	return data, err
}

// Of reads a file for something that holds it, and says what it is. That the caller has to do
// with the thing is for the thing to know.
func (s *Store) Of(ctx context.Context, thing Thing, digest string) (f File, data []byte, err error) {
	if !isDigest(digest) {
		return File{}, nil, ErrNotFound
	}
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		f, err = scanFile(tx.QueryRow(selectFile+` WHERE h.digest = ? AND h.thing = ? ORDER BY h.at LIMIT 1`, digest, string(thing)))
		if err != nil {
			return err
		}
		data, err = read(tx, digest, f.Size)
		return err
	})
	return f, data, err
}

// HeldFor lists what the caller has in something, newest first.
func (s *Store) HeldFor(ctx context.Context, who identity.Actor, thing Thing) (list []File, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.IntoBy(&list, scanFile), selectFile+` WHERE h.thing = ? AND h.person = ? ORDER BY h.at DESC, h.digest LIMIT ?`,
			string(thing), drawer(who), MaxPerMessage)
	})
	return list, err
}

// Get reads a file of the caller's.
func (s *Store) Get(ctx context.Context, who identity.Actor, digest string) (f File, data []byte, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		if f, err = held(tx, drawer(who), digest); err != nil {
			return err
		}
		data, err = read(tx, digest, f.Size)
		return err
	})
	return f, data, err
}

// List gives the caller's files, newest first, and how much of the quota they use.
func (s *Store) List(ctx context.Context, who identity.Actor) (list []File, used int64, err error) {
	owner := drawer(who)
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		err := tx.Each(store.IntoBy(&list, scanFile), `SELECT f.digest, max(h.name), f.type, f.size, max(h.at) FROM file_holds h JOIN files f ON f.digest = h.digest
			WHERE h.person = ? AND (h.until_at = 0 OR h.until_at > ?) GROUP BY f.digest, f.type, f.size ORDER BY 5 DESC, 1 LIMIT 1000`, owner, store.Micros(time.Now()))
		if err != nil {
			return err
		}
		used, err = usedBy(tx, owner, "")
		return err
	})
	return list, used, err
}

// Drop lets go of a file that was put and is used nowhere; what a conversation or a task holds
// goes with that.
func (s *Store) Drop(ctx context.Context, who identity.Actor, digest string) error {
	if !isDigest(digest) {
		return ErrNotFound
	}
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM file_holds WHERE digest = ? AND person = ? AND thing = ?`, digest, drawer(who), string(upload))
		if err == nil && n == 0 {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		return collect(tx, []string{digest})
	})
}

// ReleaseTx lets go of everything that something held, in the transaction that removes it.
func ReleaseTx(tx *store.Tx, thing Thing) error {
	var digests []string
	if err := tx.Each(store.Into(&digests), `SELECT DISTINCT digest FROM file_holds WHERE thing = ?`, string(thing)); err != nil || len(digests) == 0 {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM file_holds WHERE thing = ?`, string(thing)); err != nil {
		return err
	}
	return collect(tx, digests)
}

// collect removes files that nobody holds any more.
func collect(tx *store.Tx, digests []string) error {
	for _, digest := range digests {
		if err := lock(tx, digest); errors.Is(err, ErrNotFound) {
			continue
		} else if err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM files WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM file_holds h WHERE h.digest = files.digest)`, digest)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if _, err := tx.Exec(`DELETE FROM file_parts WHERE digest = ?`, digest); err != nil {
			return err
		}
	}
	return nil
}

// sweepAtOnce bounds one transaction of Sweep.
const sweepAtOnce = 100

// Sweep removes files that were put and never used, a day later.
func (s *Store) Sweep(ctx context.Context) error {
	for {
		var digests []string
		err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
			now := store.Micros(time.Now())
			err := tx.Each(store.Into(&digests), `SELECT DISTINCT digest FROM file_holds WHERE until_at > 0 AND until_at <= ? LIMIT ?`, now, sweepAtOnce)
			if err != nil {
				return err
			}
			for _, digest := range digests {
				if _, err := tx.Exec(`DELETE FROM file_holds WHERE digest = ? AND until_at > 0 AND until_at <= ?`, digest, now); err != nil {
					return err
				}
			}
			return collect(tx, digests)
		})
		if err != nil || len(digests) < sweepAtOnce {
			return err
		}
	}
}
