package hub

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	if err := unpack(ctx, r, string(s.dir)); err != nil {
		return err
	}
	if err := rememberDatabase(s.dir, conf.DB); err != nil {
		return err
	}
	// The database comes last: with PostgreSQL it is in place at once.
	if err := loadDump(ctx, conf, dump, s.dir); err != nil {
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
// those a backup can have are taken.
func unpack(ctx context.Context, r io.Reader, into string) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("this is not a parley backup: %w", err)
	}
	in := tar.NewReader(zip)
	head, err := in.Next()
	if err != nil || !isManifest(head, in) {
		return errors.New("this is not a parley backup, or one of a newer parley")
	}
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			// The checksum stands behind what tar reads.
			if _, err = io.Copy(io.Discard, zip); err == nil {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
		if err := unpackOne(ctx, in, head, into); err != nil {
			return err
		}
	}
}

func isManifest(head *tar.Header, in io.Reader) bool {
	var m manifest
	return head.Name == "manifest.json" && json.NewDecoder(in).Decode(&m) == nil && m.Format == backupFormat
}

func unpackOne(ctx context.Context, in io.Reader, head *tar.Header, into string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := path.Clean(head.Name)
	known := slices.ContainsFunc(backedUp, func(b string) bool { return name == b || strings.HasPrefix(name, b+"/") })
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
func loadDump(ctx context.Context, conf config.Config, file string, into Folder) error {
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
	// The restored database is a cluster of its own: hubs on it would otherwise talk to
	// those on the original if both use the same NATS servers.
	return store.Load(ctx, target, dump, store.Options{Forget: []string{busSecretName}})
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
