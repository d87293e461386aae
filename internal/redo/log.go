package redo

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Log is an open log. One goroutine at a time appends; another may call the other
// methods meanwhile, and waits for an append under way to end, but for Used.
type Log struct {
	owner  string
	limits limits
	used   atomic.Int64

	mu     sync.Mutex
	files  [2]*file
	now    int   // the one being written
	last   int64 // the newest record's number
	ready  bool  // nothing that Open found is in the files any more
	closed bool
	broken error // the first failure, once there was one
	buf    []byte
}

// Open opens or makes the log in a folder and returns what it holds, in order. owner
// names the database it belongs to: files of another owner are not read and are begun
// anew, and so is a file with a damaged header. If there is something, Reset comes
// before the first Append.
func Open(dir, owner string) (*Log, []Record, error) {
	return open(osFolder(dir), owner, defaults)
}

func open(dir folder, owner string, limits limits) (*Log, []Record, error) {
	if len(owner) > maxOwner {
		return nil, nil, errOwner
	}
	l := &Log{owner: owner, limits: limits}
	found, err := l.load(dir)
	if err == nil && len(found) == 0 {
		err = l.Reset()
	}
	if err != nil {
		_ = l.Close()
		return nil, nil, fmt.Errorf("redo: open: %w", err)
	}
	return l, found, nil
}

func (l *Log) load(dir folder) ([]Record, error) {
	var found [2][]Record
	for i, name := range fileNames {
		d, err := dir.Open(name)
		if err != nil {
			return nil, err
		}
		l.files[i] = &file{disk: d}
		b, size, err := read(d, l.limits.maxFile)
		if err != nil {
			return nil, err
		}
		l.files[i].size = size
		found[i] = decode(b, l.owner)
	}
	all := merge(found[0], found[1])
	if len(all) > 0 {
		l.last = all[len(all)-1].Num
		if err := l.flush(); err != nil {
			return nil, err
		}
	}
	return all, dir.Sync()
}

// flush makes durable what was read: a process that was killed may have left it in
// the system's memory only, and what Open returned once it returns until Reset.
func (l *Log) flush() error {
	for _, f := range l.files {
		if err := f.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Used is how many bytes of records the file being written holds. It never waits.
func (l *Log) Used() int64 { return l.used.Load() }

// Close lets go of the files. It changes nothing in them, and flushes nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	for _, f := range l.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
