package main

import (
	"context"
	"os"
	"sync"
)

// screen is the terminal this command runs in, if it runs in one. While it is
// open, keys go to the program as they are.
type screen struct {
	in, out *os.File
	restore func()
	once    sync.Once
}

// openScreen switches the terminal to raw mode; without one it does nothing.
func openScreen(in, out *os.File) (*screen, error) {
	s := &screen{in: in, out: out}
	if _, _, ok := windowSize(out); !ok {
		return s, nil
	}
	restore, err := makeRaw(in, out)
	s.restore = restore
	return s, err
}

func (s *screen) raw() bool { return s.restore != nil }

func (s *screen) close() {
	s.once.Do(func() {
		if s.restore != nil {
			s.restore()
		}
	})
}

// follow tells the size of the window, now and whenever it changes.
func (s *screen) follow(ctx context.Context, tell func(rows, cols int)) {
	if !s.raw() {
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
