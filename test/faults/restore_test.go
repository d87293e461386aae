package faults_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

// backedUp is a backup of a hub with some megabytes in it, in a folder of its own.
func backedUp(t *testing.T, megabytes int) (dir, file string) {
	t.Helper()
	dir = pgtest.Folder(t)
	data := filepath.Join(dir, "data")
	file = filepath.Join(dir, "backup.tar.gz")
	fill(t, data, megabytes)
	h := hubtest.Start(t, hubtest.Config{Data: data})
	if out, err := hubtest.Command(t, "backup", "--data", data, "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s; want no error", err, out)
	}
	h.Kill9()
	return dir, file
}

// target is where a backup is restored into: a new folder, an empty one, or a new
// folder with PostgreSQL.
type target struct {
	data  string
	db    string
	empty bool
}

func targets(t *testing.T, dir string) map[string]target {
	t.Helper()
	empty := filepath.Join(dir, "empty", "data")
	if err := os.MkdirAll(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	return map[string]target{
		"new folder":   {data: filepath.Join(dir, "new", "data")},
		"empty folder": {data: empty, empty: true},
		"postgres":     {data: filepath.Join(dir, "pg", "data"), db: pgtest.URL(t)},
	}
}

func (to target) args(file string) []string {
	args := []string{"restore", "--data", to.data, file}
	if to.db != "" {
		args = append(args, "--db", to.db)
	}
	return args
}

// isAsItWas checks that a failed restore has left nothing that counts. What one that
// was killed could not remove has a name of its own, which the next one removes.
func (to target) isAsItWas(t *testing.T, killed bool) {
	t.Helper()
	entries, err := os.ReadDir(to.data)
	if to.empty != (err == nil) {
		t.Errorf("the folder was there before: %v; reading it now: %v", to.empty, err)
	}
	beside, _ := os.ReadDir(filepath.Dir(to.data))
	for _, entry := range append(entries, beside...) {
		switch name := entry.Name(); {
		case name == "data" && to.empty:
		case killed && (name == ".restoring" || name == "data.restoring" || name == "parley.lock"):
		default:
			t.Errorf("a failed restore left %s", name)
		}
	}
	if to.db == "" || killed {
		return
	}
	pool, err := sql.Open("pgx", to.db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	var n int
	err = pool.QueryRowContext(t.Context(), `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()`).Scan(&n)
	if err != nil || n > 0 {
		t.Errorf("a failed restore left %d tables, %v", n, err)
	}
}

// works restores the whole backup and starts the hub.
func (to target) works(t *testing.T, file string) {
	t.Helper()
	if out, err := hubtest.Command(t, to.args(file)...).CombinedOutput(); err != nil {
		t.Fatalf("restoring: %v: %s", err, out)
	}
	beside, _ := os.ReadDir(filepath.Dir(to.data))
	if len(beside) != 1 {
		t.Errorf("beside the restored folder is something: %v", beside)
	}
	h := hubtest.Start(t, hubtest.Config{Data: to.data})
	report, err := hubapi.Call(t.Context(), h.Client(), rest.VerifyAudit, rest.None{})
	if err != nil || !report.OK || report.Entries == 0 {
		t.Errorf("the trail of the restored hub: %+v, %v", report, err)
	}
	h.Kill9()
}

// repacked is the backup with its database changed.
func repacked(t *testing.T, file string, change func(dump []byte) []byte) string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	zip, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	to := tar.NewWriter(packed)
	for from := tar.NewReader(zip); ; {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if head.Name == "dump.jsonl" {
			data = change(data)
		}
		head.Size = int64(len(data))
		if err := to.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(to.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	name := file + ".bad"
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestARestoreThatFailsLeavesTheTargetAsItWas(t *testing.T) {
	t.Parallel()
	dir, file := backedUp(t, 1)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := map[string]string{
		"no backup":    write("text", []byte("hello")),
		"half of one":  write("half", whole[:len(whole)/2]),
		"its tail cut": write("cut", whole[:len(whole)-4]),
		"a row that is none": repacked(t, file, func(dump []byte) []byte {
			at := bytes.LastIndexByte(dump[:len(dump)-1], '\n') // the last line counts the rows
			return append(append(bytes.Clone(dump[:at+1]), "[{\"x\":1}]\n"...), dump[at+1:]...)
		}),
	}
	for name, to := range targets(t, dir) {
		for what, from := range bad {
			t.Run(name+", "+what, func(t *testing.T) {
				out, err := hubtest.Command(t, to.args(from)...).CombinedOutput()
				if err == nil || !strings.HasPrefix(string(out), "parley: ") || strings.Count(string(out), "\n") != 1 {
					t.Errorf("it ended with %v and said %q, want one line", err, out)
				}
				if name != "empty folder" { // its parents were not there
					_ = os.Remove(filepath.Dir(to.data))
				}
				to.isAsItWas(t, false)
			})
		}
		t.Run(name+", then the good one", func(t *testing.T) { to.works(t, file) })
	}
}

// The process dies while it unpacks, and while it loads the database.
func TestKill9InTheMiddleOfARestoreLeavesTheTargetAsItWasAndTheNextWorks(t *testing.T) {
	t.Parallel()
	dir, file := backedUp(t, 16)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range targets(t, dir) {
		t.Run(name, func(t *testing.T) {
			stage := to.data + ".restoring"
			if to.empty {
				stage = filepath.Join(to.data, ".restoring")
			}
			for _, part := range []int{len(whole) / 2, len(whole)} {
				killWhileRestoring(t, to, whole[:part], part == len(whole), func() bool {
					info, err := os.Stat(filepath.Join(stage, "dump.jsonl"))
					if part < len(whole) {
						return err == nil
					}
					_, dbErr := os.Stat(filepath.Join(stage, "parley.db.restoring"))
					return err == nil && (dbErr == nil || to.db != "" && info.Size() > 16<<20)
				})
				to.isAsItWas(t, true)
			}
			to.works(t, file)
		})
	}
}

// killWhileRestoring gives a restore so much of a backup and kills it at a moment.
func killWhileRestoring(t *testing.T, to target, part []byte, all bool, moment func() bool) {
	t.Helper()
	cmd := hubtest.Command(t, to.args("-")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, stopFeeding := context.WithCancel(context.Background())
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		if _, err := in.Write(part); err == nil && !all {
			<-ended.Done() // the pipe stays open: it waits for the rest
		}
		_ = in.Close()
	}()
	hubtest.Eventually(t, "the restore is under way", moment)
	_ = cmd.Process.Kill()
	stopFeeding()
	_ = cmd.Wait()
	<-fed
}

// A restore into a folder that is there already moves in at the end. If it dies then,
// all of it is there: a hub that starts moves the rest.
func TestARestoreThatDiedWhileItMovedInIsFinishedByTheHub(t *testing.T) {
	t.Parallel()
	dir, file := backedUp(t, 1)
	for _, again := range []bool{false, true} {
		to := target{data: filepath.Join(dir, map[bool]string{false: "start", true: "again"}[again], "data")}
		if out, err := hubtest.Command(t, to.args(file)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s; want no error", err, out)
		}
		// As it is in the middle: one file has moved, the others have not.
		half := filepath.Join(to.data, ".restored")
		if err := os.Mkdir(half, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"keys", "owner.token", "agents"} {
			if err := os.Rename(filepath.Join(to.data, name), filepath.Join(half, name)); err != nil {
				t.Fatal(err)
			}
		}
		if again {
			to.empty = true
			to.works(t, file)
			continue
		}
		key, err := os.ReadFile(filepath.Join(half, "keys", "hub.key"))
		if err != nil {
			t.Fatal(err)
		}
		h := hubtest.Start(t, hubtest.Config{Data: to.data})
		if now, err := os.ReadFile(h.Path("keys/hub.key")); err != nil || !bytes.Equal(key, now) {
			t.Errorf("the hub has another key than the backup, %v", err)
		}
		if report, err := hubapi.Call(t.Context(), h.Client(), rest.VerifyAudit, rest.None{}); err != nil || !report.OK {
			t.Errorf("the trail: %+v, %v", report, err)
		}
		h.Kill9()
	}
}
