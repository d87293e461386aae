package brain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"parley.internal/internal/durable"
	"parley.internal/internal/store"
)

// place is where a library keeps its agents' files.
type place interface {
	// all reads every file.
	all(ctx context.Context) (map[string]agentFile, error)
	// edit replaces a file by what fn makes of it; nil stands for no file, both
	// ways. fn may run more than once.
	edit(ctx context.Context, name string, fn func(old []byte) ([]byte, error)) error
}

// folder keeps a file per agent in a folder of the hub.
type folder string

func (f folder) all(context.Context) (map[string]agentFile, error) { return readFolder(string(f)) }

func (f folder) edit(_ context.Context, name string, fn func(old []byte) ([]byte, error)) error {
	path := filepath.Join(string(f), name+".md")
	old, err := readLimited(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := fn(old)
	switch {
	case err != nil:
		return err
	case file == nil:
		return os.Remove(path)
	default:
		return durable.Write(path, file, 0o600)
	}
}

// table keeps the files in the store that several hubs share.
type table struct{ db *store.DB }

func (t table) all(ctx context.Context) (files map[string]agentFile, err error) {
	err = t.db.Read(ctx, func(tx *store.Tx) error {
		files = map[string]agentFile{}
		return tx.Each(func(row *sql.Rows) error {
			var name, file string
			if err := row.Scan(&name, &file); err != nil {
				return err
			}
			files[name] = agentFile{text: []byte(file)}
			return nil
		}, `SELECT name, file FROM brain_agents`)
	})
	return files, err
}

func (t table) edit(ctx context.Context, name string, fn func(old []byte) ([]byte, error)) error {
	return t.db.Write(ctx, func(tx *store.Tx) error {
		var text sql.NullString
		err := tx.QueryRow(`SELECT file FROM brain_agents WHERE name = ?`+tx.ForUpdate(), name).Scan(&text)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var old []byte
		if text.Valid {
			old = []byte(text.String)
		}
		file, err := fn(old)
		switch {
		case err != nil:
			return err
		case file == nil:
			_, err = tx.Exec(`DELETE FROM brain_agents WHERE name = ?`, name)
			return err
		default:
			return putAgent(tx, name, file)
		}
	})
}

func putAgent(tx *store.Tx, name string, file []byte) error {
	if err := checkText(file); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO brain_agents (name, file, changed_at) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET file = excluded.file, changed_at = excluded.changed_at`,
		name, string(file), store.Micros(time.Now()))
	return err
}

// checkText refuses what a text column cannot hold.
func checkText(file []byte) error {
	if bytes.IndexByte(file, 0) >= 0 {
		return fmt.Errorf("%w: the file has a zero byte", ErrAgentConfig)
	}
	return nil
}

// importFile writes a file from a hub's folder. With once, a file that was taken
// before is left alone, whatever became of the agent since.
func (t table) importFile(ctx context.Context, name string, file []byte, once bool) (taken bool, err error) {
	err = t.db.Write(ctx, func(tx *store.Tx) error {
		fresh, err := tx.Exec(`INSERT INTO brain_agent_imports (name, digest) VALUES (?, ?) ON CONFLICT DO NOTHING`, name, digestOf(file))
		if err != nil {
			return fmt.Errorf("taking over the agent %s: %w", name, err)
		}
		if taken = fresh > 0 || !once; !taken {
			return nil
		}
		return putAgent(tx, name, file)
	})
	return taken, err
}

func digestOf(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// readLimited reads a file, and one byte more than an agent's may have so that the
// parser notices.
func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxAgentFile+1))
}
