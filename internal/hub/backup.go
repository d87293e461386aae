package hub

import (
	"archive/tar"
	"compress/gzip"
	"context"
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

	"parley/internal/hub/config"
	"parley/internal/redo"
	"parley/internal/store"
)

// A backup is a gzipped tar: manifest.json, dump.jsonl (the database, of either
// kind), and the files below the data folder that are not made from others.
const backupFormat = "parley-backup-1"

type manifest struct {
	Format  string    `json:"format"`
	Version string    `json:"version"`
	Made    time.Time `json:"made_at"`
}

// backedUp are the files and folders of the data folder that belong into a
// backup. Keys of hosted agents (keys/place) do not: they leave this machine
// only when somebody asks for it by name.
var backedUp = []string{config.FileName, hubKeyFile, ownerTokenFile, "agents", "skills", "extensions", "providers.yaml", "prices.yaml", "resources.yaml"}

// Backup writes everything the hub keeps while it runs.
func (h *Hub) Backup(ctx context.Context, w io.Writer) error {
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	head, err := json.Marshal(manifest{Format: backupFormat, Version: h.opts.Version, Made: time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := addBytes(out, "manifest.json", head); err != nil {
		return err
	}
	if err := h.addDump(ctx, out); err != nil {
		return err
	}
	for _, name := range backedUp {
		if err := addTree(out, h.folder, name); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

// addDump goes through a file because a tar entry begins with its size.
func (h *Hub) addDump(ctx context.Context, out *tar.Writer) error {
	tmp, err := os.CreateTemp(string(h.folder), ".dump-*")
	if err != nil {
		return err
	}
	defer func() { _ = tmp.Close(); _ = os.Remove(tmp.Name()) }()
	// Where the system allows it the file has no name from now on: a hub that is
	// killed leaves no copy of its database behind.
	_ = os.Remove(tmp.Name())
	if err := h.place.Bundle(ctx); err != nil {
		return err
	}
	if err := h.db.Dump(ctx, tmp); err != nil {
		return err
	}
	size, err := tmp.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: "dump.jsonl", Mode: 0o600, Size: size}); err != nil {
		return err
	}
	_, err = io.Copy(out, tmp)
	return err
}

func addBytes(out *tar.Writer, name string, data []byte) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := out.Write(data)
	return err
}

func addTree(out *tar.Writer, folder Folder, name string) error {
	return filepath.WalkDir(folder.Path(name), func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(string(folder), file)
		if err != nil {
			return err
		}
		return addBytes(out, filepath.ToSlash(rel), data)
	})
}

// Restore makes a new data folder (and database) from a backup. It refuses to
// touch one that is in use already; if it fails, the folder is left as it was.
func Restore(ctx context.Context, conf config.Config, r io.Reader) error {
	folder := Folder(conf.Data)
	if err := folder.Make(); err != nil {
		return err
	}
	if _, err := os.Stat(folder.Path(hubKeyFile)); err == nil {
		return fmt.Errorf("the data folder %s holds a hub already: restore into a new one with --data", folder)
	}
	unlock, err := folder.lock()
	if err != nil {
		return err
	}
	defer unlock()
	stage, err := os.MkdirTemp(string(folder), ".restore-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	if err := unpack(r, stage); err != nil {
		return err
	}
	if err := loadDump(ctx, conf, stage); err != nil {
		return err
	}
	// What a hub before left in its log belongs to another database.
	if err := redo.Remove(string(folder)); err != nil {
		return err
	}
	return moveIn(stage, folder)
}

// unpack writes the backup's files into the stage folder. Names come from
// outside: only those a backup can have are taken.
func unpack(r io.Reader, stage string) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("this is not a parley backup: %w", err)
	}
	in := tar.NewReader(zip)
	first := true
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) && !first {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
		if first {
			if err := checkManifest(head, in); err != nil {
				return err
			}
			first = false
			continue
		}
		if err := unpackOne(in, head, stage); err != nil {
			return err
		}
	}
}

func checkManifest(head *tar.Header, in io.Reader) error {
	var m manifest
	if head.Name != "manifest.json" || json.NewDecoder(in).Decode(&m) != nil || m.Format != backupFormat {
		return errors.New("this is not a parley backup, or one of a newer parley")
	}
	return nil
}

func unpackOne(in io.Reader, head *tar.Header, stage string) error {
	name := path.Clean(head.Name)
	known := slices.ContainsFunc(backedUp, func(b string) bool { return name == b || strings.HasPrefix(name, b+"/") })
	if head.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(name)) || (name != "dump.jsonl" && !known) {
		return fmt.Errorf("the backup holds a file that does not belong there: %q", head.Name)
	}
	file := filepath.Join(stage, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func loadDump(ctx context.Context, conf config.Config, stage string) error {
	dump, err := os.Open(filepath.Join(stage, "dump.jsonl"))
	if err != nil {
		return fmt.Errorf("the backup has no database in it: %w", err)
	}
	defer func() { _ = dump.Close() }()
	target := conf.Database()
	if conf.DB == "" {
		// A new file beside the place it will have: a failed restore leaves nothing.
		target = filepath.Join(stage, "parley.db")
	}
	return store.Load(ctx, target, dump, store.Options{})
}

// moveIn puts the restored files into place, the database first: a folder with
// a key in it is a hub.
func moveIn(stage string, folder Folder) error {
	names := append([]string{"parley.db", "parley.db-wal"}, backedUp...)
	// The key goes last.
	slices.SortStableFunc(names, func(a, b string) int { return boolInt(a == hubKeyFile) - boolInt(b == hubKeyFile) })
	for _, name := range names {
		from := filepath.Join(stage, filepath.FromSlash(name))
		if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
			continue
		}
		to := folder.Path(name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return fmt.Errorf("restoring %s: %w", name, err)
		}
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
