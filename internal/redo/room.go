package redo

// Reserve sees to it that a record with a body of n bytes can be appended without the
// file having to grow. Errors mean what those of Append mean; nothing is written.
// Only an append makes the room less, and only a Switch takes it away.
func (l *Log) Reserve(n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := Record{}.size() + n
	if err := l.takes(Record{Num: l.last + 1}); err != nil {
		return err
	}
	f := l.files[l.now]
	if size > l.limits.maxFile-f.tail {
		return ErrFull
	}
	return l.makeRoom(f, size)
}
