package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// tampered lets change loose on a good trail and returns what Verify says. The
// change is undone afterwards.
func tampered(t testing.TB, db *store.DB, log *audit.Chain, change func(tx *store.Tx) error) audit.Report {
	t.Helper()
	ctx := context.Background()
	saved := save(t, db)
	if err := db.Write(ctx, change); err != nil {
		t.Fatal(err)
	}
	report := verify(t, log)
	restore(t, db, saved)
	return report
}

var tables = map[string]string{
	"audit_entries":     "seq, at, actor, on_behalf_of, action, target, outcome, duration, digest, detail, prev, hash",
	"audit_head":        "one, seq, hash",
	"audit_checkpoints": "seq, at, hash, public_key, signature",
}

func save(t testing.TB, db *store.DB) map[string][][]any {
	saved := map[string][][]any{}
	err := db.Read(context.Background(), func(tx *store.Tx) error {
		for table, columns := range tables {
			rows, err := tx.Query(`SELECT ` + columns + ` FROM ` + table)
			if err != nil {
				return err
			}
			n := len(strings.Split(columns, ","))
			for rows.Next() {
				row, dest := make([]any, n), make([]any, n)
				for i := range row {
					dest[i] = &row[i]
				}
				if err := rows.Scan(dest...); err != nil {
					return err
				}
				saved[table] = append(saved[table], row)
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func restore(t testing.TB, db *store.DB, saved map[string][][]any) {
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		for table, columns := range tables {
			if _, err := tx.Exec(`DELETE FROM ` + table); err != nil {
				return err
			}
			marks := strings.TrimSuffix(strings.Repeat("?, ", len(strings.Split(columns, ","))), ", ")
			for _, row := range saved[table] {
				if _, err := tx.Exec(`INSERT INTO `+table+` (`+columns+`) VALUES (`+marks+`)`, row...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func run(query string, args ...any) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		n, err := tx.Exec(query, args...)
		if err == nil && n == 0 {
			err = fmt.Errorf("the tampering touched nothing: %s", query)
		}
		return err
	}
}

func both(changes ...func(tx *store.Tx) error) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		for _, change := range changes {
			if err := change(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestTamperingIsFoundAndNamed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey()
		first := open(t, db, audit.Options{Key: key})
		mustAppend(t, first, sample(10)...)
		if err := first.Close(); err != nil { // signs entry 10
			t.Fatal(err)
		}
		log := open(t, db, audit.Options{Key: key, CheckpointEntries: 1 << 40})
		mustAppend(t, log, sample(5)...)
		stranger := newKey()
		for name, c := range map[string]struct {
			change func(tx *store.Tx) error
			seq    int64
		}{
			"actor":                    {run(`UPDATE audit_entries SET actor = 'person:eve' WHERE seq = 4`), 4},
			"time":                     {run(`UPDATE audit_entries SET at = at + 1 WHERE seq = 4`), 4},
			"detail":                   {run(`UPDATE audit_entries SET detail = '{}' WHERE seq = 4`), 4},
			"white space":              {run(`UPDATE audit_entries SET detail = detail || ' ' WHERE seq = 4`), 4},
			"hash":                     {run(`UPDATE audit_entries SET hash = ? WHERE seq = 4`, make([]byte, 32)), 4},
			"removed":                  {run(`DELETE FROM audit_entries WHERE seq = 4`), 4},
			"first removed":            {run(`DELETE FROM audit_entries WHERE seq = 1`), 1},
			"last removed":             {run(`DELETE FROM audit_entries WHERE seq = 15`), 15},
			"all removed":              {run(`DELETE FROM audit_entries`), 1},
			"removed and renumbered":   {both(run(`DELETE FROM audit_entries WHERE seq = 4`), run(`UPDATE audit_entries SET seq = -seq WHERE seq > 4`), run(`UPDATE audit_entries SET seq = -seq - 1 WHERE seq < 0`)), 4},
			"inserted beyond":          {run(`INSERT INTO audit_entries SELECT 16, at, actor, on_behalf_of, action, target, outcome, duration, digest, detail, prev, hash FROM audit_entries WHERE seq = 15`), 16},
			"inserted before":          {run(`INSERT INTO audit_entries SELECT 0, at, actor, on_behalf_of, action, target, outcome, duration, digest, detail, prev, hash FROM audit_entries WHERE seq = 1`), 0},
			"swapped":                  {both(run(`UPDATE audit_entries SET seq = 0 WHERE seq = 4`), run(`UPDATE audit_entries SET seq = 4 WHERE seq = 5`), run(`UPDATE audit_entries SET seq = 5 WHERE seq = 0`)), 4},
			"end moved back":           {both(run(`DELETE FROM audit_entries WHERE seq > 8`), run(`UPDATE audit_head SET seq = 8, hash = (SELECT hash FROM audit_entries WHERE seq = 8)`)), 9},
			"end changed":              {run(`UPDATE audit_head SET hash = ?`, make([]byte, 32)), 15},
			"checkpoint's signature":   {run(`UPDATE audit_checkpoints SET signature = ? WHERE seq = 10`, make([]byte, 64)), 10},
			"checkpoint's time":        {run(`UPDATE audit_checkpoints SET at = at + 1 WHERE seq = 10`), 10},
			"checkpoint moved":         {run(`UPDATE audit_checkpoints SET seq = 9 WHERE seq = 10`), 9},
			"checkpoint by stranger":   {run(`UPDATE audit_checkpoints SET public_key = ? WHERE seq = 10`, []byte(public(stranger))), 10},
			"checkpoint's hash longer": {run(`UPDATE audit_checkpoints SET hash = ? WHERE seq = 10`, make([]byte, 33)), 10},
		} {
			if r := tampered(t, db, log, c.change); r.OK || r.BadSeq != c.seq || r.Problem == "" {
				t.Errorf("%s: %+v, want entry %d", name, r, c.seq)
			}
		}
		if r := verify(t, log); !r.OK || r.Entries != 15 || r.LastSigned != 10 {
			t.Errorf("after all is restored: %+v", r)
		}
	})
}

// Whoever took the end of the trail away as a whole had a hub that did not start and said that
// there were no rows.
func TestATrailWithoutItsEndSaysSo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := open(t, db, audit.Options{Key: newKey()})
		mustAppend(t, log, sample(3)...)
		saved := save(t, db)
		if err := db.Write(t.Context(), run(`DELETE FROM audit_head`)); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Verify(t.Context()); !errors.Is(err, audit.ErrNoEnd) {
			t.Errorf("verifying: %v, want %v", err, audit.ErrNoEnd)
		}
		restore(t, db, saved)
	})
}

// Somebody who owns the database can cut the trail and its checkpoints, but not
// those that were kept elsewhere.
func TestACheckpointKeptElsewhereFindsWhatTheDatabaseForgot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var kept []audit.Checkpoint
		key := newKey()
		log := open(t, db, audit.Options{Key: key, CheckpointEntries: 10, OnCheckpoint: func(cp audit.Checkpoint) { kept = append(kept, cp) }})
		mustAppend(t, log, sample(10)...)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, log, kept...); !r.OK || len(kept) != 1 {
			t.Fatalf("%+v with %d checkpoints", r, len(kept))
		}
		err := db.Write(t.Context(), both(
			run(`DELETE FROM audit_entries WHERE seq > 7`), run(`DELETE FROM audit_checkpoints`),
			run(`UPDATE audit_head SET seq = 7, hash = (SELECT hash FROM audit_entries WHERE seq = 7)`)))
		if err != nil {
			t.Fatal(err)
		}
		if r := verify(t, log); !r.OK {
			t.Errorf("without the checkpoint nothing shows: %+v", r)
		}
		if r := verify(t, log, kept...); r.OK || r.BadSeq != 8 {
			t.Errorf("with it: %+v", r)
		}
	})
}

func TestAnySingleChangeIsFound(t *testing.T) {
	db := storetest.SQLite(t)
	key := newKey()
	const entries = 12
	log := open(t, db, audit.Options{Key: key, CheckpointEntries: 4})
	for range entries {
		mustAppend(t, log, sample(1)...)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	texts := []string{"actor", "on_behalf_of", "action", "target", "outcome", "digest", "detail"}
	rapid.Check(t, func(rt *rapid.T) {
		seq := rapid.Int64Range(1, entries).Draw(rt, "seq")
		var change func(tx *store.Tx) error
		want := seq
		switch rapid.SampledFrom([]string{"text", "number", "blob", "delete", "swap", "duplicate"}).Draw(rt, "kind") {
		case "text":
			column := rapid.SampledFrom(texts).Draw(rt, "column")
			text := rapid.StringMatching(`[ -~]{0,12}`).Draw(rt, "text")
			change = run(`UPDATE audit_entries SET `+column+` = CASE WHEN `+column+` = ? THEN `+column+` || 'x' ELSE ? END WHERE seq = ?`, text, text, seq)
		case "number":
			column := rapid.SampledFrom([]string{"at", "duration"}).Draw(rt, "column")
			change = run(`UPDATE audit_entries SET `+column+` = `+column+` + ? WHERE seq = ?`, rapid.Int64Range(1, 1<<40).Draw(rt, "by"), seq)
		case "blob":
			column := rapid.SampledFrom([]string{"prev", "hash"}).Draw(rt, "column")
			change = run(`UPDATE audit_entries SET `+column+` = ? WHERE seq = ?`, rapid.SliceOfN(rapid.Byte(), 0, 33).Draw(rt, "bytes"), seq)
		case "delete":
			change = run(`DELETE FROM audit_entries WHERE seq = ?`, seq)
		case "swap":
			other := rapid.Int64Range(1, entries).Filter(func(n int64) bool { return n != seq }).Draw(rt, "other")
			want = min(seq, other)
			change = both(run(`UPDATE audit_entries SET seq = 0 WHERE seq = ?`, seq), run(`UPDATE audit_entries SET seq = ? WHERE seq = ?`, seq, other), run(`UPDATE audit_entries SET seq = ? WHERE seq = 0`, other))
		case "duplicate":
			want = entries + 1
			change = run(`INSERT INTO audit_entries SELECT ?, at, actor, on_behalf_of, action, target, outcome, duration, digest, detail, prev, hash FROM audit_entries WHERE seq = ?`, entries+1, seq)
		}
		if r := tampered(t, db, log, change); r.OK || r.BadSeq != want {
			rt.Fatalf("%+v, want entry %d", r, want)
		}
	})
}

// export writes the whole trail to memory.
func keys(key ...ed25519.PublicKey) []ed25519.PublicKey { return key }

func export(t testing.TB, log *audit.Chain) []byte {
	t.Helper()
	var out bytes.Buffer
	for line, err := range log.Export(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

func exported(t testing.TB, entries int) ([]byte, ed25519.PublicKey) {
	t.Helper()
	key := newKey()
	log := open(t, storetest.SQLite(t), audit.Options{Key: key, CheckpointEntries: 3})
	for range entries {
		mustAppend(t, log, sample(1)...)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return export(t, log), public(key)
}

func TestAnExportIsVerifiedWithoutAHub(t *testing.T) {
	file, key := exported(t, 8)
	r, err := audit.VerifyExport(bytes.NewReader(file), keys(key))
	if err != nil || !r.OK || r.Entries != 8 || r.Checkpoints != 3 || r.LastSigned != 8 {
		t.Errorf("%+v, %v\n%s", r, err, file)
	}
	if r, err := audit.VerifyExport(bytes.NewReader(file), keys(public(newKey()))); err != nil || r.OK || r.BadSeq != 3 {
		t.Errorf("with a stranger's key: %+v, %v", r, err)
	}
	if r, err := audit.VerifyExport(strings.NewReader(""), nil); err != nil || !r.OK {
		t.Errorf("an empty file: %+v, %v", r, err)
	}
	lines := bytes.SplitAfter(file, []byte("\n"))
	if r, err := audit.VerifyExport(bytes.NewReader(bytes.Join(lines[1:], nil)), keys(key)); err != nil || r.OK || r.BadSeq != 1 {
		t.Errorf("without the first line: %+v, %v", r, err)
	}
}

func TestAnExportOfATamperedTrailFails(t *testing.T) {
	db := storetest.SQLite(t)
	log := open(t, db, audit.Options{})
	mustAppend(t, log, sample(5)...)
	if err := db.Write(t.Context(), run(`UPDATE audit_entries SET target = 'x' WHERE seq = 3`)); err != nil {
		t.Fatal(err)
	}
	lines, failed := 0, false
	for _, err := range log.Export(t.Context()) {
		lines++
		failed = err != nil
	}
	if lines != 3 || !failed {
		t.Errorf("%d lines, failed %v", lines, failed)
	}
	for range log.Export(t.Context()) {
		break // a reader may stop at any time
	}
}

func TestAnyChangedByteOfAnExportIsFound(t *testing.T) {
	file, key := exported(t, 5)
	rapid.Check(t, func(rt *rapid.T) {
		changed := bytes.Clone(file)
		at := rapid.IntRange(0, len(file)-1).Filter(func(i int) bool { return file[i] != '\n' }).Draw(rt, "at")
		changed[at] ^= byte(rapid.IntRange(1, 127).Draw(rt, "bits"))
		if r, err := audit.VerifyExport(bytes.NewReader(changed), keys(key)); err == nil && r.OK {
			rt.Fatalf("byte %d: %q became %q", at, file[at], changed[at])
		}
	})
}

// A letter of a checkpoint's key or signature in the other case means the same, and was
// changed all the same.
func TestACapitalLetterInACheckpointIsFound(t *testing.T) {
	file, key := exported(t, 5)
	at := bytes.Index(file, []byte(`"signature":"`))
	for i := at + len(`"signature":"`); file[i] != '"'; i++ {
		if file[i] < 'a' {
			continue
		}
		changed := bytes.Clone(file)
		changed[i] -= 'a' - 'A'
		if r, err := audit.VerifyExport(bytes.NewReader(changed), keys(key)); err == nil && r.OK {
			t.Fatalf("%q became %q at byte %d, and the export passes", file[i], changed[i], i)
		}
	}
}

func FuzzVerifyExport(f *testing.F) {
	file, key := exported(f, 3)
	f.Add(file)
	f.Add([]byte(`{"checkpoint":{}}`))
	f.Add([]byte(`{"action":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := audit.VerifyExport(bytes.NewReader(data), keys(key))
		if err == nil && r.OK && r.Entries > 0 && !bytes.Contains(file, bytes.TrimSpace(bytes.SplitN(data, []byte("\n"), 2)[0])) && r.Checkpoints > 0 {
			t.Errorf("a forged file passes: %q", data)
		}
	})
}
