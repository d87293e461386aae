// Package screen is the terminal a command runs in: raw while it is open, so that keys go
// to the program as they are, and followed as its window changes.
package screen

import (
	"context"
	"os"
	"sync"
)

// Screen is the terminal this command runs in, if it runs in one.
type Screen struct {
	out     *os.File
	restore func()
	once    sync.Once
}

// Open switches the terminal to raw mode; without one it does nothing. A terminal need not know
// its size: a serial console does not.
func Open(in, out *os.File) (*Screen, error) {
	restore, err := makeRaw(in, out)
	return &Screen{out: out, restore: restore}, err
}

// Raw reports whether there is a terminal, in raw mode.
func (s *Screen) Raw() bool { return s.restore != nil }

// Close gives the terminal back as it was.
func (s *Screen) Close() {
	s.once.Do(func() {
		if s.restore != nil {
			s.restore()
		}
	})
}

// Follow tells the size of the window, now and whenever it changes.
func (s *Screen) Follow(ctx context.Context, tell func(rows, cols int)) {
	if !s.Raw() {
		return
	}
	changed := sizeChanges(ctx)
	go func() {
		for {
			if rows, cols, ok := windowSize(s.out); ok {
				tell(rows, cols)
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
}
