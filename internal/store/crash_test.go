package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"parley/internal/store"
	"parley/internal/store/storetest"
	"parley/test/pgtest"
)

const childVar = "PARLEY_STORE_TEST_CHILD"

// runChild is the other life of this test program: it writes rows until it is
// killed, and prints each one once it was acknowledged.
func runChild() bool {
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
