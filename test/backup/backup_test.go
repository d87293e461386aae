package backup_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley.internal/internal/store"
	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// tables is what a dump holds: the lines of each table, in an order of their own.
type tables map[string][]string

func parse(t *testing.T, dump []byte) tables {
	t.Helper()
	all := tables{}
	name := ""
	lines := bufio.NewScanner(bytes.NewReader(dump))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte("[")) {
			all[name] = append(all[name], lines.Text())
			continue
		}
		var head struct{ Table string }
		if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
			t.Fatal(err)
		}
		name = head.Table
		all[name] = nil
	}
	for _, rows := range all {
		slices.Sort(rows)
	}
	delete(all, "") // the head and the end
	return all
}

// read is the content of a database as it is now, without changing it.
func read(t *testing.T, target string) tables {
	t.Helper()
	db, err := store.Open(t.Context(), target, store.Options{KeepVersion: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var dump bytes.Buffer
	if err := db.Dump(t.Context(), &dump); err != nil {
		t.Fatal(err)
	}
	return parse(t, dump.Bytes())
}

// contents are the files of a backup.
func contents(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[head.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

// makers name new databases of both kinds; for SQLite it is the folder's own.
func makers(t *testing.T) map[string][]string {
	return map[string][]string{"sqlite": nil, "postgres": {"--db", pgtest.URL(t)}}
}

func database(data string, args []string) string {
	if len(args) > 0 {
		return args[1]
	}
	return filepath.Join(data, "parley.db")
}

// Files of the data folder that a backup holds, and those that it does not, as
// docs/operations.md says.
var (
	keptFiles = []string{"workspace/artifacts/task/report.txt", "workspaces/person-1/artifacts/task/report.txt", "recordings/terminal.cast", "extensions/notes.txt"}
	leftFiles = []string{"workspace/scratch.txt", "workspaces/person-1/scratch.txt", "acme/certificate"}
)

// A hub that was used in all its parts is backed up while it runs. Every row of every
// table is in the backup, comes back in either database, and the hub that starts on
// it is the same one.
func TestAHubUsedInAllItsPartsComesBackWhole(t *testing.T) {
	for from, args := range makers(t) {
		t.Run("from "+from, func(t *testing.T) {
			dir := pgtest.Folder(t)
			u := &user{t: t, dir: dir, data: filepath.Join(dir, "data")}
			u.write("skills/tea.md", "---\nname: tea\ndescription: How to brew tea\npublic: true\n---\n\n# Tea\n\nBoil water.\n")
			for _, name := range append(slices.Clone(keptFiles), leftFiles...) {
				u.write(name, "the text of "+name)
			}
			u.write("parley.yaml", "hub_name: first\nfleet:\n  legacy_tokens: true\n")
			if err := os.Chmod(u.data, 0o700); err != nil {
				t.Fatal(err)
			}
			source := database(u.data, args)
			u.h = hubtest.Start(t, hubtest.Config{Data: u.data, Args: args})
			u.everything()
			u.h.Terminate()
			u.h.Wait()
			insertRest(t, source)
			u.h.Restart()
			seen := u.lookAround()

			before := read(t, source)
			u.run("backup", "-o", "backup.tar.gz")
			after := read(t, source)
			files := contents(t, filepath.Join(dir, "backup.tar.gz"))
			kept := parse(t, files["dump.jsonl"])
			checkFull(t, from, kept)
			for table := range before {
				if cmp.Equal(before[table], after[table]) { // nobody wrote there meanwhile
					if diff := cmp.Diff(before[table], kept[table]); diff != "" {
						t.Errorf("%s in the database and in its backup:\n%s", table, diff)
					}
				}
			}
			u.h.Terminate()
			u.h.Wait()
			for to, args := range makers(t) {
				t.Run("to "+to, func(t *testing.T) { u.comesBack(t, kept, to, args, seen) })
			}
		})
	}
}

// comesBack restores the backup, compares every row, and looks around in the hub.
func (u *user) comesBack(t *testing.T, kept tables, to string, args []string, seen map[string]string) {
	t.Helper()
	again := &user{t: t, dir: u.dir, data: filepath.Join(u.dir, "to-"+to)}
	again.run(append([]string{"restore", "backup.tar.gz"}, args...)...)
	target := database(again.data, args)
	restored := read(t, target)
	for table, rows := range kept {
		now := restored[table]
		if table == "hubs" { // none of them lives on the restored database
			rows = nil
		}
		if table == "settings" { // where it is noted that nobody has used the database yet, and what it was made of
			now = slices.DeleteFunc(slices.Clone(now), func(row string) bool {
				return strings.HasPrefix(row, `["store.loaded"`) || strings.HasPrefix(row, `["restored_from"`)
			})
		}
		if diff := cmp.Diff(rows, now, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-backup +restored):\n%s", table, diff)
		}
	}
	for _, name := range append([]string{"keys/hub.key", "owner.token", "skills/tea.md"}, keptFiles...) {
		was, err := os.ReadFile(filepath.Join(u.data, name))
		if err != nil {
			t.Fatal(err)
		}
		if is, err := os.ReadFile(filepath.Join(again.data, name)); err != nil || !bytes.Equal(was, is) {
			t.Errorf("the file %s did not come back: %v", name, err)
		}
	}
	for _, name := range append([]string{"device.key", "keys/place"}, leftFiles...) {
		if _, err := os.Stat(filepath.Join(u.data, name)); err != nil {
			t.Errorf("the hub that was used has no %s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(again.data, name)); err == nil {
			t.Errorf("%s is in the backup and should not be", name)
		}
	}
	// The settings of the new folder name the database that was restored.
	again.h = hubtest.Start(t, hubtest.Config{Data: again.data})
	if diff := cmp.Diff(seen, again.lookAround()); diff != "" {
		t.Errorf("a look around before the backup and after the restore:\n%s", diff)
	}
	// … and it works: something new is said and found.
	again.run("chat", "parley", "-m", "/say The ice is melting")
	if out := again.run("conversation", "search", "melting"); !strings.Contains(out, "The ice is melting") {
		t.Errorf("what was said after the restore is not found: %s", out)
	}
	again.h.Terminate()
	again.h.Wait()
}
