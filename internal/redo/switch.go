package redo

import "os"

// Switch has later appends go to the other file. It refuses (ok false) while that
// one's records are not settled yet, or Reset is still to be called. settled says
// that everything appended before the switch is durable elsewhere, so that the file
// may be written over; calling it twice is harmless. Everything means every record
// whose Append returned before Switch did: take note of a record and append it in
// one step as seen from where Switch is called.
func (l *Log) Switch() (settled func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from, to := l.files[l.now], l.files[1-l.now]
	if !l.ready || !to.settled {
		return nil, false
	}
	to.rewind()
	l.now = 1 - l.now
	l.used.Store(0)
	round := from.round
	return func() { l.markSettled(from, round) }, true
}

// markSettled is for one round only: the file may have been begun again since.
func (l *Log) markSettled(f *file, round int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.round == round {
		f.settled, f.dirty = true, false
	}
}

// Reset says that everything in both files is durable elsewhere, what Open found
// included. Nothing of it comes back, and later appends begin at the start of a file.
// Their numbers go on growing. If Reset fails the log is broken.
func (l *Log) Reset() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	if l.broken != nil {
		return l.broken
	}
	for _, f := range l.files {
		if err := f.begin(l.owner); err != nil {
			return l.fail(err)
		}
		// The first step is taken now: later the disk may be full. If it is already,
		// an append says so.
		if f.size < l.limits.step {
			_ = f.grow(l.limits.step, l.limits)
		}
	}
	l.now, l.ready = 0, true
	l.files[0].settled = false
	l.used.Store(0)
	return nil
}
