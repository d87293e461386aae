package hub

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/store"
)

// Verified is what a backup turned out to be worth.
type Verified struct {
	Made    time.Time `json:"made_at"`
	Version string    `json:"version"`
	Tables  int       `json:"tables"`
	Rows    int64     `json:"rows"`
	Files   int       `json:"files"`
	// Keys is what the backup has of the keys of hosted agents: none, sealed (nobody
	// gave the passphrase) or opened.
	Keys string `json:"keys"`
	// Trail is what walking the audit trail found.
	Trail audit.Report `json:"trail"`
	// Problems are what does not come back as it was. Missing is what the backup was
	// made without, which a restored hub will lack.
	Problems []string `json:"problems"`
	Missing  []string `json:"missing"`
}

// VerifyBackup restores a backup into a folder of its own, with a SQLite database,
// compares every table and every file with what the backup holds, walks the audit
// trail, and removes the folder again.
func VerifyBackup(ctx context.Context, r io.Reader, passphrase []byte) (v Verified, err error) {
	scratch, err := os.MkdirTemp("", "parley-verify-*")
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	data := Folder(filepath.Join(scratch, "data"))
	from, err := restore(ctx, config.Config{Data: string(data)}, r, Secrets{Passphrase: passphrase, LeaveKeys: len(passphrase) == 0})
	if err != nil {
		return v, err
	}
	v = Verified{Made: from.Made, Version: from.Version, Tables: len(from.tables), Files: len(from.files), Problems: []string{}, Missing: []string{}}
	for _, t := range from.tables {
		v.Rows += t.rows
	}
	v.judgeKeys(from.keys, len(passphrase) > 0)
	v.compareFiles(data, from)
	return v, v.compareDatabase(ctx, data, from)
}

func (v *Verified) judgeKeys(sealed, given bool) {
	switch {
	case sealed && given:
		v.Keys = "opened"
	case sealed:
		v.Keys = "sealed"
	default:
		v.Keys = "none"
		v.Missing = append(v.Missing, "keys of hosted agents: restored ones are known to others under new ids (parley backup --with-keys)")
	}
}

// compareFiles reads again what was written.
func (v *Verified) compareFiles(data Folder, from restored) {
	for _, name := range slices.Sorted(maps.Keys(from.files)) {
		switch name {
		case dumpName, sealedName, config.FileName: // what became of them is no file, or names the new database
			continue
		}
		text, err := os.ReadFile(data.Path(name))
		if err != nil || sha256.Sum256(text) != from.files[name] {
			v.Problems = append(v.Problems, fmt.Sprintf("the file %s did not come back as it was", name))
		}
	}
	for _, name := range []string{hubKeyFile, ownerTokenFile} {
		if _, there := from.files[name]; !there {
			v.Problems = append(v.Problems, "the backup has no "+name)
		}
	}
}

// compareDatabase dumps what was loaded, and walks the trail.
func (v *Verified) compareDatabase(ctx context.Context, data Folder, from restored) error {
	db, err := store.Open(ctx, data.Path(databaseFile), store.Options{KeepVersion: true})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	now := newTallier()
	if err := db.Dump(ctx, now); err != nil {
		return err
	}
	v.Problems = append(v.Problems, compareTables(from.tables, now.tables, "the backup")...)
	key, err := hubKey(data)
	if err != nil || key == nil {
		return err // said above
	}
	public, _ := key.Public().(ed25519.PublicKey)
	trail, err := audit.Open(ctx, db, audit.Options{Trusted: []ed25519.PublicKey{public}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	v.Trail, err = trail.Verify(ctx)
	if err == nil && !v.Trail.OK {
		v.Problems = append(v.Problems, fmt.Sprintf("the audit trail is not intact at entry %d: %s", v.Trail.BadSeq, v.Trail.Problem))
	}
	return errors.Join(err, trail.Close())
}

// compareTables tells which tables are not what they were. Columns that a newer program
// has added make the rows of a table others; then they are counted.
func compareTables(was, is map[string]tally, where string) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		before, after := was[name], is[name]
		switch {
		case before.rows != after.rows:
			problems = append(problems, fmt.Sprintf("the table %s has %d rows, and %d in %s", name, after.rows, before.rows, where))
		case before.columns == after.columns && before.sum != after.sum:
			problems = append(problems, fmt.Sprintf("the table %s has other rows than in %s", name, where))
		}
	}
	return problems
}

// tally is what a table holds, whatever order its rows come in: how many there are, and
// all their sums added up.
type tally struct {
	columns string
	rows    int64
	sum     [sha256.Size]byte
}

// tallier reads a dump that passes.
type tallier struct {
	tables map[string]tally
	now    string // the table whose rows come
	rest   []byte // of a line
	// progress, if any, is told of each table's rows, now and then and at its end.
	progress func(table string, rows int64)
}

func newTallier() *tallier { return &tallier{tables: map[string]tally{}} }

// Write implements [io.Writer].
func (t *tallier) Write(b []byte) (int, error) {
	t.rest = append(t.rest, b...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		t.line(line)
		t.rest = rest
	}
}

// made are the settings that a restore itself writes or leaves out.
var made = []string{`["store.loaded"`, `["` + restoredName + `"`, `["` + busSecretName + `"`}

func (t *tallier) line(line []byte) {
	if len(line) == 0 || line[0] != '[' {
		var head struct {
			Table   string
			Columns []string
		}
		if json.Unmarshal(line, &head) == nil {
			t.tell()
		}
		if head.Table != "" {
			t.now = head.Table
			t.tables[t.now] = tally{columns: fmt.Sprint(head.Columns)}
		}
		return
	}
	if t.now == "hubs" { // who lived when it was made, and does not live here
		return
	}
	if t.now == "settings" && slices.ContainsFunc(made, func(row string) bool { return bytes.HasPrefix(line, []byte(row)) }) {
		return
	}
	one, sum := t.tables[t.now], sha256.Sum256(line)
	one.rows++
	carry := 0
	for i := range one.sum {
		carry += int(one.sum[i]) + int(sum[i])
		one.sum[i] = byte(carry)
		carry >>= 8
	}
	t.tables[t.now] = one
	if one.rows%progressEvery == 0 {
		t.tell()
	}
}

// progressEvery is after how many rows somebody who waits is told.
const progressEvery = 100_000

func (t *tallier) tell() {
	if t.progress != nil && t.now != "" {
		t.progress(t.now, t.tables[t.now].rows)
	}
}
