package redo

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// image is a file of the owner "db".
func image(salt uint32, all ...Record) []byte {
	b := encodeHeader("db", salt)
	for _, r := range all {
		b = r.appendTo(b, salt)
	}
	return b
}

func TestATornLastRecordIsNotRead(t *testing.T) {
	const salt = 0x5eed
	whole := image(salt, recs(1, 3)...)
	start := len(image(salt, recs(1, 2)...))
	older := image(salt, Record{Num: 1, Body: bytes.Repeat([]byte{0xff}, 200)})
	for cut := start; cut < len(whole); cut++ {
		for name, b := range map[string][]byte{
			"the end of the file": whole[:cut],
			"zeros":               append(slices.Clone(whole[:cut]), make([]byte, 100)...),
			"an older record":     append(slices.Clone(whole[:cut]), older[cut:]...),
		} {
			if diff := cmp.Diff(recs(1, 2), decode(b, "db")); diff != "" {
				t.Fatalf("torn after %d bytes, then %s (-want +got):\n%s", cut-start, name, diff)
			}
		}
	}
	for cut := range start {
		if got := decode(whole[:cut], "db"); !isPrefix(got, recs(1, 2)) || len(got) == 2 {
			t.Fatalf("file of %d bytes: %v", cut, got)
		}
	}
}

func TestAFlippedBitNeverMakesAWrongRecord(t *testing.T) {
	want := recs(1, 3)
	b := image(0x5eed, want...)
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			if got := decode(b, "db"); !isPrefix(got, want) || len(got) == len(want) {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, i, got)
			}
			b[i] ^= 1 << bit
		}
	}
}

func isPrefix(got, of []Record) bool {
	return len(got) <= len(of) && slices.EqualFunc(got, of[:len(got)], Record.equal)
}

// The records of an earlier round are as long as the new ones, so that they lie just
// where the next one would.
func TestLeftoversOfAnEarlierRoundAreNotRead(t *testing.T) {
	m := newMemFolder()
	l, _ := memOpen(t, m)
	add(t, l, recs(10, 19)...)
	mustSwitch(t, l)()
	add(t, l, recs(20, 29)...)
	mustSwitch(t, l)()
	for n := int64(30); n < 35; n++ {
		add(t, l, rec(n))
		if _, found := memOpen(t, m); !cmp.Equal(found, slices.Concat(recs(20, 29), recs(30, n))) {
			t.Fatalf("after %d: found %v", n, found)
		}
	}
}

// Somebody sends a message whose body is full of records, hoping that a later round
// ends just before one of them when the hub crashes.
func TestABodyThatLooksLikeRecordsIsNotBelieved(t *testing.T) {
	var forged []byte
	for n := range int64(100) {
		forged = Record{Num: 1000 + n}.appendTo(forged, 0)
	}
	m := newMemFolder()
	l, _ := memOpen(t, m)
	add(t, l, Record{Num: 1, Body: forged})
	mustSwitch(t, l)()
	mustSwitch(t, l)()
	add(t, l, Record{Num: 2, Body: make([]byte, headSize)}) // ends where a forged one begins
	want := []Record{{Num: 2, Body: make([]byte, headSize)}}
	if _, found := memOpen(t, m); !cmp.Equal(found, want) {
		t.Fatalf("found %v", found)
	}
}

// Power was lost: the second record is torn, the third reached the disk. The caller
// was never told of them and gives the number two again, to a record of that length.
func TestARecordBehindATornOneNeverComesBack(t *testing.T) {
	for _, kept := range []int64{0, 1} {
		t.Run(fmt.Sprintf("%d whole", kept), func(t *testing.T) {
			m := newMemFolder()
			l, _ := memOpen(t, m)
			add(t, l, recs(1, 3)...)
			torn := headerSize + int(kept)*int(rec(1).size())
			m.files[fileNames[0]].cached[torn+headSize]++
			l, found := memOpen(t, m)
			if int64(len(found)) != kept {
				t.Fatalf("found %v", found)
			}
			if err := l.Reset(); err != nil {
				t.Fatal(err)
			}
			add(t, l, recs(kept+1, 2)...)
			if _, found := memOpen(t, m); !cmp.Equal(found, recs(kept+1, 2)) {
				t.Fatalf("found %v", found)
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	const salt = 7
	whole := image(salt, recs(1, 3)...)[headerSize:]
	f.Add(true, uint32(salt), whole, image(salt, rec(4))[headerSize:])
	f.Add(true, uint32(salt), whole, whole)
	f.Add(true, uint32(salt), whole[:len(whole)-1], []byte(nil))
	f.Add(true, uint32(salt+1), whole, []byte{})
	f.Add(true, uint32(salt), append([]byte{0xff, 0xff, 0xff, 0xff}, whole...), make([]byte, 64))
	f.Add(false, uint32(0), image(salt, rec(1)), []byte("relay"))
	f.Fuzz(func(t *testing.T, header bool, salt uint32, a, b []byte) {
		if header {
			a, b = append(encodeHeader("db", salt), a...), append(encodeHeader("db", salt), b...)
		}
		m := newMemFolder(a, b)
		l, found := memOpen(t, m)
		total := int64(0)
		for i, r := range found {
			if i > 0 && r.Num < found[i-1].Num || r.Num <= 0 {
				t.Fatalf("out of order: %v", found)
			}
			if !stands(a, r) && !stands(b, r) {
				t.Fatalf("not in the files: %v", r)
			}
			total += r.size()
		}
		if total > int64(len(a)+len(b)) {
			t.Fatalf("%d bytes of records from %d of files", total, len(a)+len(b))
		}
		if err := l.Reset(); err != nil {
			t.Fatal(err)
		}
		r := Record{Num: l.last + 1, Body: []byte("new")}
		if r.Num < 0 {
			return // the greatest number there is was taken
		}
		add(t, l, r)
		if _, found := memOpen(t, m); !cmp.Equal(found, []Record{r}, sameBytes) {
			t.Fatalf("found %v", found)
		}
	})
}

// stands says whether the file has this record with a right checksum.
func stands(b []byte, r Record) bool {
	if len(b) < headerSize {
		return false
	}
	salt := uint32(b[saltAt]) | uint32(b[saltAt+1])<<8 | uint32(b[saltAt+2])<<16 | uint32(b[saltAt+3])<<24
	return bytes.Contains(b[headerSize:], r.appendTo(nil, salt))
}
