package redo

import (
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// small limits make a test reach every end soon: a header and three blocks.
var small = limits{step: 4096, maxFile: 4 * 4096, keep: 1024}

const sector = 512

var errDead = errors.New("the machine lost its power")

// memFolder is a disk with two files that can fail and lose power.
type memFolder struct {
	files map[string]*memDisk
	fuse  int // if greater than zero, the operation that makes it zero is the last
	dead  bool

	openErr, syncErr error
}

func newMemFolder(contents ...[]byte) *memFolder {
	m := &memFolder{files: map[string]*memDisk{}}
	for i, name := range fileNames {
		m.files[name] = &memDisk{folder: m, lost: map[int]bool{}}
		if i < len(contents) {
			m.files[name].cached = slices.Clone(contents[i])
			m.files[name].durable = slices.Clone(contents[i])
		}
	}
	return m
}

func (m *memFolder) Open(name string) (disk, error) {
	if m.openErr != nil {
		return nil, m.openErr
	}
	m.files[name].open++
	return m.files[name], nil
}

func (m *memFolder) Sync() error { return m.syncErr }

// burn lets the fuse burn, and says whether the machine lives on.
func (m *memFolder) burn() bool {
	if m.fuse > 0 {
		m.fuse--
		m.dead = m.fuse == 0
	}
	return !m.dead
}

// losePower keeps, of each sector that was not flushed, the old or the new content.
func (m *memFolder) losePower(luck *rand.Rand) {
	for _, name := range fileNames {
		m.files[name].losePower(luck)
	}
	m.fuse, m.dead = 0, false
}

// memDisk is a file with a page cache.
type memDisk struct {
	folder          *memFolder
	cached, durable []byte
	lost            map[int]bool // sectors written since the last flush

	writes, flushes, syncs, open         int
	writeErr, flushErr, syncErr, readErr error
	sizeErr, closeErr                    error
	space                                int // if set, no byte is written behind it
}

var errSpace = errors.New("no space left")

func (d *memDisk) WriteAt(p []byte, at int64) (int, error) {
	d.writes++
	if d.writeErr != nil {
		return 0, d.writeErr
	}
	if d.folder.dead {
		return 0, errDead
	}
	n, err := d.put(p, int(at)) // also the last write may reach the disk, in parts
	if !d.folder.burn() {
		return 0, errDead
	}
	return n, err
}

func (d *memDisk) put(p []byte, at int) (int, error) {
	n := len(p)
	if d.space > 0 {
		n = max(min(n, d.space-at), 0)
	}
	if end := at + n; end > len(d.cached) {
		d.cached = append(d.cached, make([]byte, end-len(d.cached))...)
	}
	copy(d.cached[at:], p[:n])
	for s := at / sector; s*sector < at+n; s++ {
		d.lost[s] = true
	}
	if n < len(p) {
		return n, errSpace
	}
	return n, nil
}

func (d *memDisk) ReadAt(p []byte, at int64) (int, error) {
	if d.readErr != nil {
		return 0, d.readErr
	}
	n := copy(p, d.cached[min(int(at), len(d.cached)):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (d *memDisk) Size() (int64, error) { return int64(len(d.cached)), d.sizeErr }

func (d *memDisk) Flush() error {
	d.flushes++
	return d.persist(d.flushErr)
}

func (d *memDisk) Sync() error {
	d.syncs++
	return d.persist(d.syncErr)
}

func (d *memDisk) persist(err error) error {
	if err != nil {
		return err
	}
	if !d.folder.burn() {
		return errDead
	}
	d.durable = slices.Clone(d.cached)
	clear(d.lost)
	return nil
}

func (d *memDisk) Close() error {
	d.open--
	return d.closeErr
}

func (d *memDisk) losePower(luck *rand.Rand) {
	after := slices.Clone(d.durable)
	for _, s := range slices.Sorted(maps.Keys(d.lost)) {
		if luck.IntN(2) == 0 {
			continue
		}
		end := min((s+1)*sector, len(d.cached))
		if end > len(after) {
			after = append(after, make([]byte, end-len(after))...)
		}
		copy(after[s*sector:end], d.cached[s*sector:end])
	}
	d.cached, d.durable = after, slices.Clone(after)
	clear(d.lost)
}

// memOpen opens a log on a disk in memory.
func memOpen(t testing.TB, m *memFolder) (*Log, []Record) {
	t.Helper()
	l, found, err := open(m, "db", small)
	if err != nil {
		t.Fatal(err)
	}
	return l, found
}
