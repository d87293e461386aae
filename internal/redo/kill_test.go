package redo

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const childVar = "PARLEY_REDO_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		appendUntilKilled(dir)
		return
	}
	m.Run()
}

// appendUntilKilled is the other life of this test program: it prints each number
// once the record was acknowledged.
func appendUntilKilled(dir string) {
	l, found, err := Open(dir, "db")
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for n := int64(len(found)) + 1; ; n++ {
		if n%40 == 0 {
			l.Switch() // once; then nothing is settled, and it refuses
		}
		if err := l.Append(rec(n), true); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(n)
	}
}

func TestKill9LosesNoAcknowledgedRecord(t *testing.T) {
	for range 3 {
		dir := t.TempDir()
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), childVar+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		moment, acked := int64(1+rand.IntN(120)), int64(0)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil || n != acked+1 {
				t.Fatalf("after %d the child said %q", acked, lines.Text())
			}
			if acked = n; acked == moment {
				_ = child.Process.Kill()
			}
		}
		_ = child.Wait()
		if acked < moment {
			t.Fatalf("the child ended by itself, after %d", acked)
		}
		// One more may have been written when the process died.
		if _, found := reopen(t, dir, "db"); !isPrefix(recs(1, acked), found) || !isPrefix(found, recs(1, acked+1)) {
			t.Errorf("%d were acknowledged, and %d came back", acked, len(found))
		}
	}
}

// One goroutine appends, another settles, as a caller does.
func TestAppendingAndSettlingAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	l, _ := reopen(t, dir, "db")
	var mu sync.Mutex // a record is appended and noted in one step
	var noted []Record
	var taken []Record
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for n := int64(1); n <= 300; n++ {
			mu.Lock()
			if err := l.Append(rec(n), n%10 == 0); err != nil {
				t.Error(err)
			}
			noted = append(noted, rec(n))
			mu.Unlock()
		}
	})
	wg.Go(func() {
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			mu.Lock()
			settled, ok := l.Switch()
			if ok {
				taken, noted = append(taken, noted...), nil
			}
			mu.Unlock()
			if ok && l.Used() >= 0 {
				settled()
			}
		}
	})
	wg.Wait()
	if diff := cmp.Diff(recs(1, 300), append(taken, noted...)); diff != "" {
		t.Error(diff)
	}
	if _, found := reopen(t, dir, "db"); len(noted) > 0 && !isPrefix(noted, found[max(0, len(found)-len(noted)):]) {
		t.Errorf("%d are not settled, and %v came back", len(noted), found)
	}
}
