package redo

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errDisk = errors.New("the disk says no")

func TestAFailedWriteOrFlushBreaksTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		fault  func(*memDisk)
		behind bool
		sync   bool
	}{
		"write":                         {fault: func(d *memDisk) { d.writeErr = errDisk }},
		"flush":                         {fault: func(d *memDisk) { d.flushErr = errDisk }, sync: true},
		"flush of the file left behind": {fault: func(d *memDisk) { d.flushErr = errDisk }, behind: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemFolder()
			l, _ := memOpen(t, m)
			add(t, l, rec(1))
			if err := l.Append(rec(2), false); err != nil {
				t.Fatal(err)
			}
			first, second := m.files[fileNames[0]], m.files[fileNames[1]]
			if c.behind {
				mustSwitch(t, l)
			}
			c.fault(first)
			if err := l.Append(rec(3), c.sync); !errors.Is(err, ErrBroken) || !errors.Is(err, errDisk) {
				t.Fatalf("Append: %v", err)
			}
			first.writeErr, first.flushErr = nil, nil // a disk that recovers is not believed
			writes := first.writes + second.writes
			if err := l.Append(rec(4), false); !errors.Is(err, ErrBroken) {
				t.Errorf("Append later: %v", err)
			}
			if err := l.Reset(); !errors.Is(err, ErrBroken) {
				t.Errorf("Reset: %v", err)
			}
			if first.writes+second.writes != writes {
				t.Error("a broken log was written to")
			}
			if _, found := memOpen(t, m); !isPrefix(recs(1, 2), found) {
				t.Errorf("found %v", found)
			}
		})
	}
}

func TestAFailedResetBreaksTheLog(t *testing.T) {
	for name, fault := range map[string]func(*memDisk){
		"write": func(d *memDisk) { d.writeErr = errDisk },
		"sync":  func(d *memDisk) { d.syncErr = errDisk },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemFolder()
			l, _ := memOpen(t, m)
			fault(m.files[fileNames[1]])
			if err := l.Reset(); !errors.Is(err, ErrBroken) || !errors.Is(err, errDisk) {
				t.Fatalf("Reset: %v", err)
			}
			if err := l.Append(rec(1), false); !errors.Is(err, ErrBroken) {
				t.Fatalf("Append: %v", err)
			}
		})
	}
}

func TestAFullDiskDoesNotBreakTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		fault, mend func(*memDisk)
		want        error
	}{
		"no space": {
			fault: func(d *memDisk) { d.space = len(d.cached) + 100 },
			mend:  func(d *memDisk) { d.space = 0 },
			want:  errSpace,
		},
		"no space, as the sync finds out": {
			fault: func(d *memDisk) { d.syncErr = errDisk },
			mend:  func(d *memDisk) { d.syncErr = nil },
			want:  errDisk,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemFolder()
			l, _ := memOpen(t, m)
			if err := l.Append(rec(1), false); err != nil {
				t.Fatal(err)
			}
			first := m.files[fileNames[0]]
			c.fault(first)
			long := Record{Num: 2, Body: make([]byte, 5000)}
			err := l.Append(long, true)
			if !errors.Is(err, c.want) || errors.Is(err, ErrBroken) || errors.Is(err, ErrFull) {
				t.Fatalf("Append: %v", err)
			}
			if !cmp.Equal(decode(first.durable, "db"), recs(1, 1)) {
				t.Error("the failure puts at risk what was appended before it")
			}
			short := rec(2)
			add(t, l, short) // fits the space there is
			c.mend(first)
			long.Num = 3
			add(t, l, long)
			if _, found := memOpen(t, m); !cmp.Equal(found, []Record{rec(1), short, long}) {
				t.Fatalf("found %v", found)
			}
		})
	}
}

func TestOpenSaysWhyItCannotAndLeavesNothingOpen(t *testing.T) {
	for name, fault := range map[string]func(*memFolder){
		"open":        func(m *memFolder) { m.openErr = errDisk },
		"size":        func(m *memFolder) { m.files[fileNames[1]].sizeErr = errDisk },
		"read":        func(m *memFolder) { m.files[fileNames[1]].readErr = errDisk },
		"flush":       func(m *memFolder) { m.files[fileNames[1]].flushErr = errDisk },
		"folder":      func(m *memFolder) { m.syncErr = errDisk },
		"write":       func(m *memFolder) { m.files[fileNames[0]].writeErr = errDisk },
		"second sync": func(m *memFolder) { m.files[fileNames[1]].syncErr = errDisk },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemFolder(make([]byte, 10), make([]byte, 10))
			if name == "flush" {
				m = newMemFolder(image(1, rec(1)))
			}
			fault(m)
			if _, _, err := open(m, "db", small); !errors.Is(err, errDisk) {
				t.Fatalf("Open: %v", err)
			}
			for name, d := range m.files {
				if d.open != 0 {
					t.Errorf("%s is still open", name)
				}
			}
		})
	}
}

// What the log is for: an append is one write and one flush, inside the file.
func TestAnAppendIsOneWriteAndOneFlush(t *testing.T) {
	m := newMemFolder()
	l, _ := memOpen(t, m)
	add(t, l, Record{Num: 1, Body: make([]byte, small.keep)})
	if cap(l.buf) > small.keep {
		t.Errorf("a buffer of %d bytes was kept", cap(l.buf))
	}
	d := m.files[fileNames[0]]
	before, size := *d, len(d.cached)
	add(t, l, recs(2, 11)...)
	if d.writes-before.writes != 10 || d.flushes-before.flushes != 10 || d.syncs != before.syncs || len(d.cached) != size {
		t.Errorf("ten appends: %d writes, %d flushes, %d syncs, %d bytes more",
			d.writes-before.writes, d.flushes-before.flushes, d.syncs-before.syncs, len(d.cached)-size)
	}
	for n := int64(12); n < 22; n++ {
		if err := l.Append(rec(n), false); err != nil {
			t.Fatal(err)
		}
	}
	if d.flushes-before.flushes != 10 {
		t.Error("an append without sync flushed")
	}
}
