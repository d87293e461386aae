package hub

import (
	"archive/tar"
	"compress/gzip"
	"context"
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

	"parley/internal/audit"
	"parley/internal/durable"
	"parley/internal/hub/config"
	"parley/internal/store"
)

// Restore makes a new data folder (and database) from a backup: all of it or
// nothing. Everything is put together elsewhere, flushed, and moved into place at
// the end. It refuses a folder that has something in it. After a failure, or when
// this process is killed, the folder and the database are as they were, and it can
// be done again.
func Restore(ctx context.Context, conf config.Config, r io.Reader) error {
	s, err := openStage(Folder(conf.Data))
	if err != nil {
		return err
	}
	defer s.close()
	dump := s.dir.Path(dumpName)
	made, err := unpack(ctx, r, string(s.dir))
	if err != nil {
		return err
	}
	if err := rememberDatabase(s.dir, conf.DB); err != nil {
		return err
	}
	// The database comes last: with PostgreSQL it is in place at once.
	if err := loadDump(ctx, conf, dump, s.dir, made); err != nil {
		return err
	}
	if err := os.Remove(dump); err != nil {
		return err
	}
	if err := durable.Tree(string(s.dir)); err != nil {
		return err
	}
	return s.commit()
}

// unpack writes the backup's files into a folder. Names come from outside: only
// those a backup can have are taken. It returns when the backup was made.
func unpack(ctx context.Context, r io.Reader, into string) (made time.Time, err error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return made, fmt.Errorf("this is not a parley backup: %w", err)
	}
	in := tar.NewReader(zip)
	head, err := in.Next()
	if err == nil {
		made, err = readManifest(head, in)
	}
	if err != nil {
		return made, errors.New("this is not a parley backup, or one of a newer parley")
	}
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			// The checksum stands behind what tar reads.
			if _, err = io.Copy(io.Discard, zip); err == nil {
				return made, nil
			}
		}
		if err != nil {
			return made, fmt.Errorf("the backup is damaged: %w", err)
		}
		if err := unpackOne(ctx, in, head, into); err != nil {
			return made, err
		}
	}
}

func readManifest(head *tar.Header, in io.Reader) (made time.Time, err error) {
	var m manifest
	if head.Name != "manifest.json" {
		return made, fs.ErrNotExist
	}
	if err := json.NewDecoder(in).Decode(&m); err != nil {
		return made, err
	}
	if m.Format != backupFormat {
		return made, errors.ErrUnsupported
	}
	return m.Made, nil
}

func unpackOne(ctx context.Context, in io.Reader, head *tar.Header, into string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := path.Clean(head.Name)
	known := slices.ContainsFunc(backedUp, func(b string) bool { return name == b || strings.HasPrefix(name, b+"/") }) || isHandedOver(name)
	if head.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(name)) || (name != dumpName && !known) {
		return fmt.Errorf("the backup holds a file that does not belong there: %q", head.Name)
	}
	file := filepath.Join(into, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	if err == nil && n != head.Size {
		err = io.ErrUnexpectedEOF
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	return nil
}

// loadDump fills the database the settings name, or that of the new folder.
func loadDump(ctx context.Context, conf config.Config, file string, into Folder, made time.Time) error {
	dump, err := os.Open(file)
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
	return store.Load(ctx, target, dump, store.Options{AfterLoad: func(tx *store.Tx) error { return partFromOriginal(tx, made) }})
}

// restoredName is the setting that tells the first hub on a restored database when the
// backup was made.
const restoredName = "restored_from"

// partFromOriginal makes a restored database one of its own. Hubs on it would otherwise
// talk to those on the original if both use the same NATS servers, and nobody could
// tell from its trail that it may once have been longer.
func partFromOriginal(tx *store.Tx, made time.Time) error {
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
