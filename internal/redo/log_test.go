package redo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rec(num int64) Record {
	return Record{Num: num, At: num * 10, Body: fmt.Appendf(nil, "body %d", num)}
}

func recs(from, to int64) (all []Record) {
	for n := from; n <= to; n++ {
		all = append(all, rec(n))
	}
	return all
}

// reopen opens a log that is closed at the end of the test.
func reopen(t *testing.T, dir, owner string) (*Log, []Record) {
	t.Helper()
	l, found, err := Open(dir, owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, found
}

func add(t *testing.T, l *Log, all ...Record) {
	t.Helper()
	for _, r := range all {
		if err := l.Append(r, true); err != nil {
			t.Fatal(err)
		}
	}
}

func holds(t *testing.T, dir, owner string, want []Record) {
	t.Helper()
	_, found := reopen(t, dir, owner)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestWhatWasAppendedComesBack(t *testing.T) {
	dir := t.TempDir()
	l, found := reopen(t, dir, "db")
	if len(found) != 0 {
		t.Fatalf("a new log holds %v", found)
	}
	want := []Record{{Num: 1, At: -5, Body: []byte{}}, {Num: 7, At: 1 << 60, Body: make([]byte, 3<<20)}, rec(8)}
	add(t, l, want...)
	holds(t, dir, "db", want)
	holds(t, dir, "db", want) // opening changes nothing
}

func TestTheFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	reopen(t, dir, "db")
	for _, name := range fileNames {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got&0o077 != 0 {
			t.Errorf("%s has mode %v", name, got)
		}
	}
}

func TestRecordsOfBothFilesComeBackInOrder(t *testing.T) {
	dir := t.TempDir()
	l, _ := reopen(t, dir, "db")
	add(t, l, recs(1, 3)...)
	settled, ok := l.Switch()
	if !ok {
		t.Fatal("the second file is free, and Switch refused")
	}
	add(t, l, recs(4, 5)...)
	settled()
	if _, ok := l.Switch(); !ok {
		t.Fatal("the first file is settled, and Switch refused")
	}
	add(t, l, rec(6)) // over the first
	holds(t, dir, "db", recs(4, 6))
}

func TestNothingIsAppendedBehindWhatOpenFound(t *testing.T) {
	dir := t.TempDir()
	l, _ := reopen(t, dir, "db")
	add(t, l, recs(1, 3)...)
	l, _ = reopen(t, dir, "db")
	if err := l.Append(rec(4), true); !errors.Is(err, ErrUnsettled) {
		t.Fatalf("Append before Reset: %v", err)
	}
	if _, ok := l.Switch(); ok {
		t.Fatal("Switch before Reset")
	}
	if err := l.Reset(); err != nil {
		t.Fatal(err)
	}
	add(t, l, rec(4))
	holds(t, dir, "db", recs(4, 4))
}
