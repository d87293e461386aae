package redo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sameBytes spares cmp the walk through each byte of a long body.
var sameBytes = cmp.Comparer(bytes.Equal)

func (r Record) equal(o Record) bool {
	return r.Num == o.Num && r.At == o.At && bytes.Equal(r.Body, o.Body)
}

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

func add(t testing.TB, l *Log, all ...Record) {
	t.Helper()
	for _, r := range all {
		if err := l.Append(r, true); err != nil {
			t.Fatal(err)
		}
	}
}

func mustSwitch(t *testing.T, l *Log) (settled func()) {
	t.Helper()
	settled, ok := l.Switch()
	if !ok {
		t.Fatal("Switch refused, and the other file is settled")
	}
	return settled
}

func holds(t *testing.T, dir, owner string, want []Record) {
	t.Helper()
	_, found := reopen(t, dir, owner)
	if diff := cmp.Diff(want, found, sameBytes); diff != "" {
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
	settled := mustSwitch(t, l)
	add(t, l, recs(4, 5)...)
	holds(t, dir, "db", recs(1, 5))
	settled()
	mustSwitch(t, l)
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

func TestSwitchIsRefusedUntilTheOtherFileIsSettled(t *testing.T) {
	l, _ := memOpen(t, newMemFolder())
	add(t, l, rec(1))
	first := mustSwitch(t, l)
	add(t, l, rec(2))
	if _, ok := l.Switch(); ok {
		t.Fatal("Switch to a file with unsettled records")
	}
	first()
	first()
	second := mustSwitch(t, l)
	add(t, l, rec(3))
	first() // says nothing about the round that the file is in now
	second()
	third := mustSwitch(t, l)
	first()
	if _, ok := l.Switch(); ok {
		t.Fatal("a round was settled by the settled of an earlier one")
	}
	if err := l.Reset(); err != nil {
		t.Fatal(err)
	}
	mustSwitch(t, l)
	third()
	if _, ok := l.Switch(); ok {
		t.Fatal("a round was settled by the settled of one before Reset")
	}
}

func TestAFullFileTakesNothingAndTheOtherHasRoom(t *testing.T) {
	m := newMemFolder()
	l, _ := memOpen(t, m)
	full := Record{Num: 1, Body: make([]byte, small.maxFile-headerSize-headSize)}
	tooLong := Record{Num: 1, Body: make([]byte, len(full.Body)+1)}
	if err := l.Append(tooLong, true); !errors.Is(err, ErrFull) || l.Used() != 0 {
		t.Fatalf("a record that fits no file: %v, used %d", err, l.Used())
	}
	add(t, l, full)
	if want := small.maxFile - headerSize; l.Used() != want {
		t.Fatalf("used %d, want %d", l.Used(), want)
	}
	if err := l.Append(Record{Num: 2}, true); !errors.Is(err, ErrFull) || errors.Is(err, ErrBroken) {
		t.Fatalf("the smallest record in a full file: %v", err)
	}
	mustSwitch(t, l)
	if l.Used() != 0 {
		t.Fatalf("used %d after Switch", l.Used())
	}
	add(t, l, Record{Num: 2})
	if _, found := memOpen(t, m); !cmp.Equal(found, []Record{full, {Num: 2}}, sameBytes) {
		t.Fatalf("found %d records", len(found))
	}
}

func TestNumbersGrow(t *testing.T) {
	m := newMemFolder()
	l, _ := memOpen(t, m)
	refused := func(num int64) {
		t.Helper()
		if err := l.Append(rec(num), true); !errors.Is(err, ErrOrder) {
			t.Errorf("Append of %d: %v", num, err)
		}
	}
	refused(0)
	refused(-1)
	add(t, l, rec(5))
	refused(5)
	mustSwitch(t, l)
	refused(4)
	l, _ = memOpen(t, m)
	if err := l.Reset(); err != nil {
		t.Fatal(err)
	}
	refused(5)
	add(t, l, rec(6))
}

func TestAnotherOwnersFilesAreBegunAnew(t *testing.T) {
	dir := t.TempDir()
	l, _ := reopen(t, dir, "db")
	add(t, l, recs(100, 120)...)
	l, found := reopen(t, dir, "other")
	if len(found) != 0 {
		t.Fatalf("found another owner's %v", found)
	}
	add(t, l, rec(1)) // and what lies behind it stays unread
	holds(t, dir, "other", recs(1, 1))
	holds(t, dir, "db", nil)
}

func TestAnOwnersNameHasToFitTheHeader(t *testing.T) {
	for _, c := range []struct {
		length int
		ok     bool
	}{{0, true}, {maxOwner, true}, {maxOwner + 1, false}} {
		_, _, err := open(newMemFolder(), string(make([]byte, c.length)), small)
		if (err == nil) != c.ok {
			t.Errorf("%d bytes: %v", c.length, err)
		}
	}
}

func TestADamagedHeaderBeginsTheFileAnew(t *testing.T) {
	m := newMemFolder()
	l, _ := memOpen(t, m)
	add(t, l, recs(1, 3)...)
	mustSwitch(t, l)
	add(t, l, rec(4))
	m.files[fileNames[0]].cached[saltAt] ^= 1
	l, found := memOpen(t, m)
	if diff := cmp.Diff(recs(4, 4), found); diff != "" {
		t.Fatal(diff)
	}
	if err := l.Reset(); err != nil {
		t.Fatal(err)
	}
	add(t, l, rec(5))
	if _, found = memOpen(t, m); !cmp.Equal(found, recs(5, 5)) {
		t.Fatalf("found %v", found)
	}
}

func TestCloseChangesNothingAndEndsAppending(t *testing.T) {
	dir := t.TempDir()
	l, _ := reopen(t, dir, "db")
	add(t, l, rec(1))
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Append(rec(2), true); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := l.Reset(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Reset: %v", err)
	}
	holds(t, dir, "db", recs(1, 1))
}
