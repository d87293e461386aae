package files

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/defaults"
	"parley.internal/internal/fit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

const (
	// partSize is how much of a file one row holds: databases copy rows whole.
	partSize = 1 << 20
	// unused is how long a file may lie about before it is used somewhere.
	unused = 24 * time.Hour
	// atOnce is how many uploads are in memory at a time.
	atOnce = 4
	// MaxPerMessage is how many files one message or task takes along.
	MaxPerMessage = 20
)

// Limits of a hub; the zero value has the usual ones.
type Limits struct {
	Size  int64 // of one file (20 MiB)
	Quota int64 // of one person (1 GiB)
}

// File is one file as its holder knows it.
type File struct {
	Digest string
	Name   string
	Type   string
	Size   int64
	At     time.Time
}

// Deps is what the store is made from.
type Deps struct {
	DB     *store.DB
	Trail  audit.Recorder
	Limits Limits
}

// Store keeps files. It is safe for concurrent use.
type Store struct {
	d     Deps
	slots chan struct{}
}

// New makes the store.
func New(d Deps) *Store {
	defaults.Set(&d.Limits.Size, 20<<20)
	defaults.Set(&d.Limits.Quota, 1<<30)
	return &Store{d: d, slots: make(chan struct{}, atOnce)}
}

// Limits are what holds here.
func (s *Store) Limits() Limits { return s.d.Limits }

// Put keeps a file for whoever brings it: until it is used, for a day. The same file again is
// the same file.
func (s *Store) Put(ctx context.Context, who identity.Actor, name string, r io.Reader) (File, error) {
	owner := drawer(who)
	if owner == "" {
		return File{}, ErrNotFound
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return File{}, context.Cause(ctx)
	}
	data, err := io.ReadAll(io.LimitReader(r, s.d.Limits.Size+1))
	if err != nil {
		return File{}, err
	}
	f := File{Name: fit.FileName(name), Type: Sniff(data), Size: int64(len(data)), At: time.Now()}
	switch {
	case f.Size > s.d.Limits.Size:
		return File{}, fmt.Errorf("%w: at most %d bytes", ErrTooLarge, s.d.Limits.Size)
	case f.Type == "":
		return File{}, ErrType
	}
	sum := sha256.Sum256(data)
	f.Digest = hex.EncodeToString(sum[:])
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.room(tx, owner, f); err != nil {
			return err
		}
		if err := insert(tx, f, data); err != nil {
			return err
		}
		return hold(tx, f, owner, upload, f.At.Add(unused))
	})
	if err == nil && s.d.Trail != nil {
		s.d.Trail.Note(audit.Entry{Actor: who.String(), OnBehalf: who.OnBehalf(), Action: audit.FileAdded, Target: f.Digest, Detail: detail(who, f)})
	}
	return f, err
}

func detail(who identity.Actor, f File) map[string]any {
	d := who.Trace()
	d["name"], d["type"], d["bytes"] = f.Name, f.Type, f.Size
	return d
}

// room refuses what is more than a person may keep. A file the person has already needs none.
func (s *Store) room(tx *store.Tx, owner string, f File) error {
	used, err := usedBy(tx, owner, f.Digest)
	if err != nil {
		return err
	}
	if used+f.Size > s.d.Limits.Quota {
		return fmt.Errorf("%w: you keep %d of %d bytes", ErrQuota, used, s.d.Limits.Quota)
	}
	return nil
}

// usedBy sums the files of a drawer, each once, without one of them.
func usedBy(tx *store.Tx, owner, without string) (used int64, err error) {
	err = tx.QueryRow(`SELECT coalesce(sum(size), 0) FROM files WHERE digest <> ? AND digest IN (SELECT digest FROM file_holds WHERE person = ?)`,
		without, owner).Scan(&used)
	return used, err
}

func insert(tx *store.Tx, f File, data []byte) error {
	// A file that is there is locked by this, so that nobody removes it before it is held.
	_, err := tx.Exec(`INSERT INTO files (digest, type, size, at) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE SET at = excluded.at`, f.Digest, f.Type, f.Size, store.Micros(f.At))
	if err != nil {
		return err
	}
	for n := 0; len(data) > 0; n++ {
		part := data[:min(partSize, len(data))]
		if _, err := tx.Exec(`INSERT INTO file_parts (digest, n, data) VALUES (?, ?, ?) ON CONFLICT (digest, n) DO NOTHING`, f.Digest, n, part); err != nil {
			return err
		}
		data = data[len(part):]
	}
	return nil
}

// read gives the bytes of a file, for whoever was found to have a right to them.
func read(tx *store.Tx, digest string, size int64) ([]byte, error) {
	data := make([]byte, 0, size)
	err := tx.Each(func(row *sql.Rows) error {
		var part sql.RawBytes
		err := row.Scan(&part)
		data = append(data, part...)
		return err
	}, `SELECT data FROM file_parts WHERE digest = ? ORDER BY n`, digest)
	if err == nil && int64(len(data)) != size {
		err = errors.New("the store has lost a part of a file")
	}
	return data, err
}
