package redo

import (
	"fmt"
	"os"
)

// Append writes a record. With sync, it and everything before it outlive a loss of
// power once Append returned nil. Errors, by what they mean:
//
//   - ErrFull: no room in the file being written. Nothing was written.
//   - ErrBroken, wrapped: a write or flush failed, now or earlier. The record may or
//     may not be found by the next Open, and every later Append fails so.
//   - ErrUnsettled, ErrOrder, os.ErrClosed: a mistake of the caller. Nothing was written.
//   - anything else: the file could not grow, most likely because the disk is full.
//     Nothing was written, and a later Append may succeed.
func (l *Log) Append(r Record, sync bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.takes(r); err != nil {
		return err
	}
	f := l.files[l.now]
	if err := l.makeRoom(f, r.size()); err != nil {
		return err
	}
	if err := l.write(f, r); err != nil {
		return l.fail(err)
	}
	if sync {
		if err := f.flushed(); err != nil {
			return l.fail(err)
		}
	}
	f.tail += r.size()
	l.last = r.Num
	l.used.Store(f.tail - headerSize)
	return nil
}

// takes says why the log takes no record now, or not this one.
func (l *Log) takes(r Record) error {
	switch {
	case l.closed:
		return os.ErrClosed
	case l.broken != nil:
		return l.broken
	case !l.ready:
		return ErrUnsettled
	case r.Num <= l.last:
		return fmt.Errorf("%w: %d after %d", ErrOrder, r.Num, l.last)
	case r.size() > l.limits.maxFile-l.files[l.now].tail:
		return ErrFull
	}
	return nil
}

// makeRoom sees to it that n bytes can be written to f without its growing, and
// that nothing appended to the other file can be lost when they are not.
func (l *Log) makeRoom(f *file, n int64) error {
	if err := l.files[1-l.now].flushed(); err != nil {
		return l.fail(err)
	}
	if f.tail+n <= f.size {
		return nil
	}
	if err := f.flushed(); err != nil {
		return l.fail(err)
	}
	return f.grow(f.tail+n, l.limits)
}

// write is one write, whatever the record's size.
func (l *Log) write(f *file, r Record) error {
	b := r.appendTo(l.buf[:0], f.salt)
	if l.buf = b; cap(b) > l.limits.keep {
		l.buf = nil
	}
	f.dirty = true
	_, err := f.WriteAt(b, f.tail)
	return err
}

func (l *Log) fail(err error) error {
	l.broken = fmt.Errorf("%w: %w", ErrBroken, err)
	return l.broken
}
