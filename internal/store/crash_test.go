package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/pgtest"
)

const (
	childVar = "PARLEY_STORE_TEST_CHILD"
	loadVar  = "PARLEY_STORE_TEST_LOAD"
)

// loadChild is a third life: it loads a dump from standard input.
func loadChild() bool {
	target := os.Getenv(loadVar)
	if target == "" {
		return false
	}
	if err := store.Load(context.Background(), target, os.Stdin, store.Options{}); err != nil {
		fmt.Println("error", err)
	}
	return true
}

// runChild is the other life of this test program: it writes rows until it is
// killed, and prints each one once it was acknowledged.
func runChild() bool {
	if loadChild() {
		return true
	}
	target := os.Getenv(childVar)
	if target == "" {
		return false
	}
	db, err := store.Open(context.Background(), target, store.Options{})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d/%d", w, i)
				if err := db.Write(context.Background(), set(name, "x")); err != nil {
					return
				}
				mu.Lock()
				fmt.Println(name)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return true
}

// writeUntilKilled starts the child, kills it after some acknowledged writes
// and returns those.
func writeUntilKilled(t *testing.T, target string, acks int, kill func(*exec.Cmd)) (acked []string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childVar+"="+target)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		acked = append(acked, lines.Text())
		if len(acked) == acks {
			kill(child)
		}
	}
	_ = child.Wait()
	if len(acked) < acks {
		t.Fatalf("the child said only %q", acked)
	}
	return acked
}

func killProcess(c *exec.Cmd) { _ = c.Process.Kill() }

func missing(t *testing.T, db *store.DB, acked []string) (n int) {
	t.Helper()
	for _, name := range acked {
		var found int
		if err := db.Read(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT count(*) FROM settings WHERE name = ?`, name).Scan(&found)
		}); err != nil {
			t.Fatal(err)
		}
		n += 1 - found
	}
	return n
}

func TestKill9LosesNoAcknowledgedWrite(t *testing.T) {
	for name, target := range map[string]string{"sqlite": filepath.Join(t.TempDir(), "parley.db"), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			acked := writeUntilKilled(t, target, 500, killProcess)
			if n := missing(t, storetest.Open(t, target), acked); n > 0 {
				t.Errorf("%d of %d acknowledged writes are lost", n, len(acked))
			}
		})
	}
}

func TestKill9OfPostgresLosesNoAcknowledgedWrite(t *testing.T) {
	server := pgtest.NewServer(t)
	target := server.URL(t)
	acked := writeUntilKilled(t, target, 500, func(*exec.Cmd) { server.Kill9() })
	server.Restart()
	if n := missing(t, storetest.Open(t, target), acked); n > 0 {
		t.Errorf("%d of %d acknowledged writes are lost", n, len(acked))
	}
}

// Half a dump is read when the power goes: the target is as it was, and the next
// attempt works.
func TestKill9InTheMiddleOfALoadLeavesNothing(t *testing.T) {
	source := storetest.SQLite(t)
	fill(t, source)
	whole := dump(t, source)
	for name, target := range makers() {
		t.Run(name, func(t *testing.T) {
			into := target(t)
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), loadVar+"="+into)
			in, err := child.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			// More than the pipe holds: when all of it is written, rows were read.
			half := whole[:strings.LastIndexByte(whole[:len(whole)-1], '\n')+1]
			settings := `{"table":"settings","columns":["name","value"]}` + "\n"
			if _, err := io.WriteString(in, half+settings); err != nil {
				t.Fatal(err)
			}
			for i := range 200 {
				if _, err := fmt.Fprintf(in, "[%q,%q]\n", fmt.Sprint("more", i), strings.Repeat("x", 4096)); err != nil {
					t.Fatal(err)
				}
			}
			killProcess(child)
			_ = child.Wait()
			if name == "postgres" {
				nothingIn(t, into)
			} else if _, err := os.Stat(into); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("half a database is in place: %v", err)
			}
			if err := store.Load(t.Context(), into, strings.NewReader(whole), store.Options{}); err != nil {
				t.Fatalf("the next attempt: %v", err)
			}
			if n := count(t, storetest.Open(t, into)); n != 50 {
				t.Errorf("%d settings were loaded, want 50", n)
			}
		})
	}
}
