package hub

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/durable"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/seal"
	"parley.internal/internal/store"
)

// Secrets say what becomes of the keys of hosted agents in a backup.
type Secrets struct {
	// Passphrase opens them.
	Passphrase []byte
	// LeaveKeys restores without them, so that hosted agents get new ones.
	LeaveKeys bool
}

// Restore makes a new data folder (and database) from a backup: all of it or
// nothing. Everything is put together elsewhere, flushed, and moved into place at
// the end. It refuses a folder that has something in it. After a failure, or when
// this process is killed, the folder and the database are as they were, and it can
// be done again.
func Restore(ctx context.Context, conf config.Config, r io.Reader, secrets Secrets) error {
	_, err := restore(ctx, conf, r, secrets)
	return err
}

// restored is what a restore went by.
type restored struct {
	manifest
	files  map[string][sha256.Size]byte // of the backup, by name
	tables map[string]tally             // of its database
	keys   bool                         // sealed ones are in it
}

func restore(ctx context.Context, conf config.Config, r io.Reader, secrets Secrets) (restored, error) {
	s, err := openStage(Folder(conf.Data))
	if err != nil {
		return restored{}, err
	}
	defer s.close()
	from, err := unpack(ctx, r, string(s.dir))
	if err != nil {
		return from, err
	}
	if err := from.openSealed(ctx, s.dir, secrets); err != nil {
		return from, err
	}
	if err := rememberDatabase(s.dir, conf.DB); err != nil {
		return from, err
	}
	// The database comes last: with PostgreSQL it is in place at once.
	if err := from.loadDump(ctx, conf, s.dir); err != nil {
		return from, err
	}
	if err := durable.Tree(string(s.dir)); err != nil {
		return from, err
	}
	return from, s.commit()
}

// openSealed puts the keys of a backup into place. It comes after the whole backup has
// been read: had a byte of it changed, that would have been said before.
func (b *restored) openSealed(ctx context.Context, dir Folder, secrets Secrets) error {
	sealed, err := os.ReadFile(dir.Path(sealedName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b.keys = true
	if err := os.Remove(dir.Path(sealedName)); err != nil || secrets.LeaveKeys {
		return err
	}
	plain, err := seal.Open(sealed, secrets.Passphrase)
	switch {
	case errors.Is(err, seal.ErrEmpty):
		return ErrKeysSealed
	case err != nil:
		return fmt.Errorf("the keys in this backup cannot be opened: %w", err)
	}
	return b.unpackAll(ctx, tar.NewReader(bytes.NewReader(plain)), string(dir), isSealedUp)
}

// ErrKeysSealed says that a backup has keys in it, and that no passphrase was given.
var ErrKeysSealed = errors.New("this backup holds keys of agents, sealed with a passphrase")

func isSealedUp(name string) bool { return isBelow(sealedUp, name) }

// isBacked tells what the open part of a backup may hold.
func isBacked(name string) bool {
	return name == dumpName || name == sealedName || isBelow(backedUp, name) || isHandedOver(name)
}

func isBelow(tops []string, name string) bool {
	return slices.ContainsFunc(tops, func(top string) bool { return name == top || strings.HasPrefix(name, top+"/") })
}

// unpack writes the backup's files into a folder.
func unpack(ctx context.Context, r io.Reader, into string) (b restored, err error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return b, fmt.Errorf("this is not a parley backup: %w", err)
	}
	in := tar.NewReader(damageOf{zip})
	head, err := in.Next()
	if err == nil {
		b.manifest, err = readManifest(head, in)
	}
	if err != nil {
		return b, errors.New("this is not a parley backup, or one of a newer parley")
	}
	if err := b.unpackAll(ctx, in, into, isBacked); err != nil {
		return b, err
	}
	// The checksum stands behind what tar reads.
	_, err = io.Copy(io.Discard, damageOf{zip})
	return b, err
}

// damageOf says of what cannot be read that the backup is damaged: what cannot be
// written has other reasons.
type damageOf struct{ io.Reader }

func (d damageOf) Read(b []byte) (int, error) {
	n, err := d.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = &damage{err}
	}
	return n, err
}

type damage struct{ cause error }

func (d *damage) Error() string { return "the backup is damaged: " + d.cause.Error() }

func (d *damage) Unwrap() error { return d.cause }

// unpackAll writes files and remembers their sums. Names come from outside: only those
// that belong there are taken.
func (b *restored) unpackAll(ctx context.Context, in *tar.Reader, into string, belongs func(string) bool) error {
	if b.files == nil {
		b.files = map[string][sha256.Size]byte{}
	}
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return asDamage(err)
		}
		name := path.Clean(head.Name)
		if head.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(name)) || !belongs(name) {
			return fmt.Errorf("the backup holds a file that does not belong there: %q", head.Name)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.files[name], err = unpackOne(in, head.Size, filepath.Join(into, filepath.FromSlash(name))); err != nil {
			if _, bad := errors.AsType[*damage](err); bad {
				return asDamage(err)
			}
			return fmt.Errorf("unpacking %s: %w", name, err)
		}
	}
}

// asDamage blames the backup, once.
func asDamage(err error) error {
	if known, ok := errors.AsType[*damage](err); ok {
		return known
	}
	return &damage{err}
}

func readManifest(head *tar.Header, in io.Reader) (m manifest, err error) {
	if head.Name != "manifest.json" {
		return m, fs.ErrNotExist
	}
	if err := json.NewDecoder(in).Decode(&m); err != nil {
		return m, err
	}
	if m.Format != backupFormat {
		return m, errors.ErrUnsupported
	}
	return m, nil
}

func unpackOne(in io.Reader, size int64, file string) (sum [sha256.Size]byte, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return sum, err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return sum, err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash), in)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return [sha256.Size]byte(hash.Sum(nil)), errors.Join(err, out.Close())
}

// loadDump fills the database the settings name, or that of the new folder, and
// removes the dump.
func (b *restored) loadDump(ctx context.Context, conf config.Config, into Folder) error {
	dump, err := os.Open(into.Path(dumpName))
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the backup has no database in it")
	}
	if err != nil {
		return err
	}
	defer func() { _ = dump.Close() }()
	target := conf.DB
	if target == "" {
		target = into.Path(databaseFile)
	}
	tallied := newTallier()
	err = store.Load(ctx, target, io.TeeReader(dump, tallied), store.Options{AfterLoad: func(tx *store.Tx) error { return partFromOriginal(tx, b.Made) }})
	b.tables = tallied.tables
	if err != nil {
		return err
	}
	return errors.Join(dump.Close(), os.Remove(dump.Name()))
}

// restoredName is the setting that tells the first hub on a restored database when the
// backup was made.
const restoredName = "restored_from"

// partFromOriginal makes a restored database one of its own. Hubs on it would otherwise
// talk to those on the original if both use the same NATS servers, and nobody could
// tell from its trail that it may once have been longer.
// Nor do the hubs that lived on the original live here.
func partFromOriginal(tx *store.Tx, made time.Time) error {
	if _, err := tx.Exec(`DELETE FROM hubs`); err != nil {
		return err
	}
	for _, name := range []string{busSecretName, restoredName} {
		if _, err := tx.Exec(`DELETE FROM settings WHERE name = ?`, name); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`INSERT INTO settings (name, value) VALUES (?, ?)`, restoredName, made.UTC().Format(time.RFC3339))
	return err
}

// noteRestore has the trail of a restored database say so, once.
func (h *Hub) noteRestore(ctx context.Context) error {
	return h.db.Write(ctx, func(tx *store.Tx) error {
		var made string
		err := tx.QueryRow(`DELETE FROM settings WHERE name = ? RETURNING value`, restoredName).Scan(&made)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return h.trail.AppendTx(tx, audit.Entry{Actor: "hub", Action: audit.TrailRestored, Target: made})
	})
}

// rememberDatabase has the settings of the new folder name the database that was
// restored. Those in the backup name the one it was made of: a hub started with
// them would go on there.
func rememberDatabase(folder Folder, db string) error {
	file := folder.Path(config.FileName)
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && db == "" {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	now, err := config.WithDatabase(text, db)
	if err != nil {
		return err
	}
	return os.WriteFile(file, now, 0o600)
}
