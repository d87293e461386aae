package redo

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is what a caller knows of its log, and the log on a disk that dies.
type model struct {
	t    *rapid.T
	disk *memFolder
	log  *Log

	known  map[int64]Record // may come back
	open   []int64          // appended since the last switch, in order
	left   []int64          // appended before it, not settled
	synced int64            // this one and those before it outlive a loss of power
	made   int64            // appends tried
	last   int64            // the newest number that the caller's database or the log knows

	settle  func()
	stale   []func() // those of rounds that are over
	waiting bool     // for Reset
}

// No sequence of appends, switches, settlings, resets, crashes and losses of power
// loses what was appended and not settled, or brings back anything else.
func TestWhatIsNotSettledComesBackAndNothingWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, disk: newMemFolder(), known: map[int64]Record{}}
		m.reopen(false)
		t.Repeat(map[string]func(*rapid.T){
			"append":    func(*rapid.T) { m.append() },
			"append ":   func(*rapid.T) { m.append() },
			"append  ":  func(*rapid.T) { m.append() },
			"switch":    func(*rapid.T) { m.change() },
			"settle":    func(*rapid.T) { m.settled() },
			"old news":  func(*rapid.T) { m.oldNews() },
			"reset":     func(*rapid.T) { m.reset() },
			"kill":      func(*rapid.T) { m.reopen(false) },
			"power":     func(*rapid.T) { m.reopen(true) },
			"die later": func(t *rapid.T) { m.disk.fuse = rapid.IntRange(1, 12).Draw(t, "operations") },
		})
	})
}

func (m *model) append() {
	if m.waiting {
		m.reset()
		return
	}
	m.made++
	r := Record{
		Num:  m.last + int64(rapid.SampledFrom([]int{1, 1, 3}).Draw(m.t, "gap")),
		At:   m.made, // tells records with the same number apart
		Body: slices.Repeat([]byte{rapid.Byte().Draw(m.t, "byte")}, rapid.SampledFrom([]int{0, 16, 16, 16, 500, 3000, 9000}).Draw(m.t, "length")),
	}
	sync := rapid.Bool().Draw(m.t, "sync")
	switch err := m.log.Append(r, sync); {
	case err == nil, errors.Is(err, ErrBroken): // a failed one may come back too
		m.known[r.Num], m.last = r, r.Num
		m.open = append(m.open, r.Num)
		if sync && err == nil {
			m.synced = r.Num
		}
		m.survive(err)
	case errors.Is(err, ErrFull):
		if m.log.Used()+r.size() <= small.maxFile-headerSize {
			m.t.Fatalf("full with %d bytes, and %d did not fit", m.log.Used(), r.size())
		}
	default:
		m.survive(err)
	}
}

func (m *model) change() {
	settle, ok := m.log.Switch()
	if want := !m.waiting && m.settle == nil; ok != want {
		m.t.Fatalf("Switch: %v, want %v", ok, want)
	}
	if ok {
		m.settle, m.left, m.open = settle, m.open, nil
	}
}

func (m *model) settled() {
	if m.settle != nil {
		m.settle()
		m.stale = append(m.stale, m.settle)
		m.settle, m.left = nil, nil
	}
}

func (m *model) oldNews() {
	for _, f := range m.stale {
		f()
	}
}

func (m *model) reset() {
	if m.settle != nil {
		m.stale = append(m.stale, m.settle)
	}
	m.open, m.left, m.settle, m.synced = nil, nil, nil, 0
	err := m.log.Reset()
	if err == nil {
		clear(m.known)
		m.waiting = false
	}
	m.survive(err)
}

// survive goes on after the disk died; nothing else may fail.
func (m *model) survive(err error) {
	if err == nil {
		return
	}
	if !m.disk.dead {
		m.t.Fatalf("the disk works, and yet: %v", err)
	}
	m.reopen(true)
}

func (m *model) reopen(power bool) {
	if power || m.disk.dead {
		power = true
		m.disk.losePower(rand.New(rand.NewPCG(rapid.Uint64().Draw(m.t, "luck"), 0)))
	}
	m.disk.fuse = 0
	l, found, err := open(m.disk, "db", small)
	if err != nil {
		m.t.Fatal(err)
	}
	m.check(found, power)
	m.log, m.waiting = l, len(found) > 0
	clear(m.known)
	lost := slices.Concat(m.left, m.open)
	m.open, m.left, m.settle, m.stale, m.synced = nil, nil, nil, nil, 0
	for _, r := range found { // and from now on, also through a loss of power
		m.known[r.Num] = r
		m.open, m.synced = append(m.open, r.Num), r.Num
	}
	// The caller knows of what was found or settled; a lost number may be given again.
	for len(lost) > 0 {
		if _, ok := m.known[lost[len(lost)-1]]; ok {
			break
		}
		m.last = lost[len(lost)-1] - 1
		lost = lost[:len(lost)-1]
	}
}

func (m *model) check(found []Record, power bool) {
	back := map[int64]bool{}
	for i, r := range found {
		if i > 0 && r.Num <= found[i-1].Num {
			m.t.Fatalf("%d comes after %d", r.Num, found[i-1].Num)
		}
		if !r.equal(m.known[r.Num]) {
			m.t.Fatalf("%d was not appended so", r.Num)
		}
		back[r.Num] = true
	}
	missing := int64(0)
	for _, num := range slices.Concat(m.left, m.open) {
		switch {
		case back[num] && missing != 0:
			m.t.Fatalf("%d came back, and %d before it did not", num, missing)
		case !back[num] && (!power || num <= m.synced):
			m.t.Fatalf("%d was lost", num)
		case !back[num]:
			missing = num
		}
	}
}
