package hub

import (
	"archive/tar"
	"bytes"
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
	"sync"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/hub/metrics"
	"parley.internal/internal/hub/nightly"
	"parley.internal/internal/seal"
	"parley.internal/internal/store"
)

// A backup is a gzipped tar: manifest.json, dump.jsonl (the database, of either
// kind), and the files below the data folder that are not made from others.
const (
	backupFormat = "parley-backup-1"
	dumpName     = "dump.jsonl"
)

type manifest struct {
	Format  string    `json:"format"`
	Version string    `json:"version"`
	Made    time.Time `json:"made_at"`
}

// backedUp are the files and folders of the data folder that belong into a backup.
// Not in it, each for a reason docs/operations.md gives: the workspace but for what
// tasks handed over; certificates of ACME; and notes of the running hub.
var backedUp = []string{
	config.FileName, hubKeyFile, ownerTokenFile, agentsFolder, foreignFolder, "skills", "extensions", "providers.yaml", "prices.yaml", "resources.yaml",
	"recordings",
}

// sealedUp are files and folders that leave this machine only when somebody asks for
// it, and then sealed: the keys by which others know hosted agents, this machine as a
// client, and this machine as one of the hub's.
var sealedUp = []string{"keys/place", "device.key", "endpoint/key"}

// sealedName is the file of a backup that holds them.
const sealedName = "keys.sealed"

// addSealed adds those files as one that only the passphrase opens.
func (h *Hub) addSealed(ctx context.Context, out *tar.Writer, passphrase []byte) error {
	var plain bytes.Buffer
	keys := tar.NewWriter(&plain)
	for _, name := range sealedUp {
		if err := addTree(ctx, keys, h.folder, name); err != nil {
			return err
		}
	}
	if err := keys.Close(); err != nil {
		return err
	}
	sealed, err := seal.Seal(plain.Bytes(), passphrase)
	if err != nil {
		return err
	}
	return addBytes(out, sealedName, sealed)
}

// handedOver are the folders of what tasks handed over, one in each workspace, where
// name patterns are those of [path.Match]. Agents write there, so a link in such a
// folder's place could lead anywhere.
var handedOver = []string{"workspace/artifacts", "workspaces/*/artifacts"}

// isHandedOver tells files of those folders.
func isHandedOver(name string) bool {
	return slices.ContainsFunc(handedOver, func(pattern string) bool {
		parts, depth := strings.Split(name, "/"), strings.Count(pattern, "/")+1
		if len(parts) <= depth {
			return false
		}
		ok, _ := path.Match(pattern, strings.Join(parts[:depth], "/"))
		return ok
	})
}

// addHandedOver adds what tasks handed over.
func (h *Hub) addHandedOver(ctx context.Context, out *tar.Writer) error {
	for _, pattern := range handedOver {
		found, err := filepath.Glob(h.folder.Path(pattern))
		if err != nil {
			return err
		}
		for _, dir := range found {
			name, err := filepath.Rel(string(h.folder), dir)
			if info, lerr := os.Lstat(dir); err != nil || lerr != nil || !info.IsDir() {
				continue
			}
			if err := addTree(ctx, out, h.folder, filepath.ToSlash(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Backup writes everything the hub keeps while it runs; with a passphrase the keys of
// hosted agents too, sealed.
func (h *Hub) Backup(ctx context.Context, w io.Writer, passphrase []byte) error {
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
		add := addTree
		if name == agentsFolder && h.db.Dialect() == store.Postgres {
			add = h.addAgents
		}
		if err := add(ctx, out, h.folder, name); err != nil {
			return err
		}
	}
	if err := h.addHandedOver(ctx, out); err != nil {
		return err
	}
	if len(passphrase) > 0 {
		if err := h.addSealed(ctx, out, passphrase); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

// backUpNightly makes backups by itself while the hub runs, if it was told where to.
func (h *Hub) backUpNightly() {
	c := h.conf.Backup
	if c.Folder == "" {
		return
	}
	n := &nightly.Backups{
		Folder: c.Folder, Every: c.Every, Keep: c.Keep, DB: h.db, Leases: h.leases, Logger: h.logger,
		Make: func(ctx context.Context, w io.Writer) error { return h.Backup(ctx, w, nil) },
	}
	if c.Verify {
		n.Verify = func(ctx context.Context, r io.Reader) error {
			v, err := VerifyBackup(ctx, r, nil)
			if err == nil && len(v.Problems) > 0 {
				err = fmt.Errorf("it would not come back as it was: %s", strings.Join(v.Problems, "; "))
			}
			return err
		}
	}
	h.metrics.MustRegister(metrics.Backups(n)...)
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { n.Run(ctx) })
	h.onClose(func() error { stop(); work.Wait(); return nil })
}

// addAgents adds agents that are rows of the database as the files they are in a
// backup: a restore may turn to SQLite, where they are files.
func (h *Hub) addAgents(_ context.Context, out *tar.Writer, _ Folder, name string) error {
	for _, entry := range h.minds.agents.List() {
		file, err := h.minds.agents.File(entry.Name)
		if errors.Is(err, brain.ErrNoAgent) {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		if err := addBytes(out, path.Join(name, entry.Name+".md"), file); err != nil {
			return err
		}
	}
	return nil
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
	return addFile(out, dumpName, size, tmp)
}

func addBytes(out *tar.Writer, name string, data []byte) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := out.Write(data)
	return err
}

// addTree adds a file, or a folder with all files below it. The file or folder itself
// may be a link (some keep their agents elsewhere); links below it are left out.
func addTree(ctx context.Context, out *tar.Writer, folder Folder, name string) error {
	root, err := filepath.EvalSymlinks(folder.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return addNamed(out, path.Join(name, filepath.ToSlash(rel)), file)
	})
}

// addNamed adds a file as long as it is now: others may be writing on. One that is
// gone meanwhile was removed by its owner.
func addNamed(out *tar.Writer, name, file string) error {
	in, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return addFile(out, name, info.Size(), in)
}

func addFile(out *tar.Writer, name string, size int64, in io.Reader) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size}); err != nil {
		return err
	}
	if _, err := io.CopyN(out, in, size); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}
