package relay_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/place/relay/relaytest"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// folder is what a hub of an earlier release left that was killed amid its work: eight
// messages were sent, of which "b1", "c1" and "d1" were received and "l1" is lent. Some
// have rows, some are in parcels, and the newest are only in the log.
type folder struct {
	Meta    map[string]string
	Parcels []struct {
		Num, At int64
		Body    []byte
	}
	Messages []map[string]any
	Files    map[string][]byte
}

// killed is when that hub was.
var killed = time.Date(2026, 11, 16, 13, 49, 3, 0, time.UTC)

func readFolder(t *testing.T) (f folder) {
	t.Helper()
	raw, err := os.ReadFile("testdata/earlier.json")
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// lay puts everything where it was.
func (f folder) lay(t *testing.T, db *store.DB, dir string) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		for name, value := range f.Meta {
			if _, err := tx.Exec(`INSERT INTO place_meta (name, value) VALUES (?, ?)`, name, value); err != nil {
				return err
			}
		}
		for _, p := range f.Parcels {
			if _, err := tx.Exec(`INSERT INTO place_parcels (num, at, body) VALUES (?, ?, ?)`, p.Num, p.At, p.Body); err != nil {
				return err
			}
		}
		for _, m := range f.Messages {
			var columns []string
			var values []any
			for column, value := range m {
				switch v := value.(type) {
				case float64:
					value = int64(v)
				case string:
					if column == "blob" {
						value = []byte{}
					}
				}
				if column == "num" { // too large for JSON's numbers, and in the id
					value = relay.NumOf(m["id"].(string))
				}
				columns, values = append(columns, column), append(values, value)
			}
			_, err := tx.Exec(`INSERT INTO place_messages (`+strings.Join(columns, ", ")+`) VALUES (?`+strings.Repeat(", ?", len(columns)-1)+`)`, values...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range f.Files {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// at sets the clock of a house.
func at(h *relaytest.House, when time.Time) { h.Ahead.Store(int64(time.Until(when))) }

// TestAFolderOfAnEarlierReleaseOpensWithNothingLost: a hub with a file takes over rows,
// parcels and the log; hubs that share a database what a backup has, which is parcels.
func TestAFolderOfAnEarlierReleaseOpensWithNothingLost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f, dir := readFolder(t), t.TempDir()
		f.lay(t, db, dir)
		h := relaytest.Open(t, db, 100)
		// That opened it without the folder, as a restored backup is: the log is missing.
		waits := map[string][]string{"bob": {"b1", "b2"}, "row": {""}, "cal": nil, "dan": nil}
		if db.Dialect() == store.SQLite {
			db = storetest.SQLite(t)
			f.lay(t, db, dir)
			h = &relaytest.House{DB: db, Ahead: h.Ahead, Limit: 100, Dir: dir}
			h.Reopen(t)
			waits["bob"] = []string{"b2", "b3", "b4"}
		}
		at(h, killed)
		for range 2 { // what is taken over is not taken over again
			h.Reopen(t)
		}
		for queue, want := range waits {
			var got []string
			for _, m := range h.Fetch(t, queue, 10, 0).Took {
				got = append(got, string(m.Blob))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s waits for %q, and there is %q", queue, want, got)
			}
		}
		at(h, killed.Add(20*time.Minute)) // the lease has lapsed
		if got := h.Fetch(t, "lent", 10, 0).Took; len(got) != 1 || got[0].Attempt != 1 {
			t.Errorf("what was lent comes back: %v", relaytest.IDs(got))
		}
		if db.Dialect() == store.SQLite {
			theLogWasTakenOver(t, h, dir)
		}
	})
}

func theLogWasTakenOver(t *testing.T, h *relaytest.House, dir string) {
	for key, to := range map[string]string{"k2": "bob", "k3": "cal", "k5": "dan"} {
		s := h.Letter("ada", to)
		s.Message.Key = key
		if err := h.Send(t.Context(), s); err == nil && s.First == nil {
			t.Errorf("the key %s was used before and is taken as new", key)
		}
	}
	// Three entries of the log are of sends and two of receives; the audit had the rest
	// before. Five more were received here.
	if got := h.Noted(t, "ada"); got[relay.Enqueue] != 3 || got[relay.Dequeue] != 2+5 {
		t.Errorf("the audit was told %v", got)
	}
	for _, name := range []string{"relay-a.redo", "relay-b.redo"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// TestALogOfAnotherDatabaseIsNotReadAndGoes: a folder may have been put together from
// two.
func TestALogOfAnotherDatabaseIsNotReadAndGoes(t *testing.T) {
	f, dir, db := readFolder(t), t.TempDir(), storetest.SQLite(t)
	f.Meta["redo"] = strings.Repeat("0", 32)
	f.lay(t, db, dir)
	h := &relaytest.House{DB: db, Limit: 100, Dir: dir, Ahead: relaytest.Open(t, storetest.SQLite(t), 1).Ahead}
	at(h, killed)
	h.Reopen(t)
	if got := len(h.Fetch(t, "bob", 10, 0).Took); got != 2 {
		t.Errorf("two are in parcels of this database, %d were handed out", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the files are still there: %v %v", left, err)
	}
}

// TestANumberNeverComesBelowWhereAStartLooks, though the clock is set back while nothing
// waits: the next start would not find the message.
func TestANumberNeverComesBelowWhereAStartLooks(t *testing.T) {
	h := relaytest.Open(t, storetest.SQLite(t), 10)
	h.Mail(t, "ada", "bob")
	h.Fetch(t, "bob", 1, 0)
	if err := h.Recount(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Pass(-time.Hour)
	h.Reopen(t)
	want := h.Mail(t, "ada", "bob").ID
	h.Reopen(t)
	if got := relaytest.IDs(h.Fetch(t, "bob", 1, 0).Took); !slices.Equal(got, []string{want}) {
		t.Errorf("what was sent after the clock was set back is lost: %v", got)
	}
}
