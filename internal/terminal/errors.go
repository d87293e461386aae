package terminal

import (
	"errors"

	"parley.internal/internal/terminal/pty"
	"parley.internal/protocol/viber"
)

// What the package's calls can answer.
var (
	// ErrNotFound answers for what does not exist and for what is not the caller's.
	ErrNotFound = errors.New("there is no such terminal")
	// ErrExited says that the process has ended, so that nothing can be typed.
	ErrExited = errors.New("the terminal's process has ended")
	// ErrLimit says that there are too many terminals, or more input than the process takes.
	ErrLimit = errors.New("too many terminals, or too much input")
	// ErrBadSize says that a size is out of bounds.
	ErrBadSize = errors.New("rows and cols are between 1 and 1000")
	// ErrSpawn says that the process could not be started.
	ErrSpawn = pty.ErrSpawn
	// ErrStopping says that the hub is stopping.
	ErrStopping = errors.New("the hub is stopping")
)

// codes are the words errors travel under, on the wire and between hubs.
var codes = []struct {
	err  error
	code viber.TerminalCode
}{
	{ErrNotFound, viber.TerminalNotFound},
	{ErrExited, viber.TerminalHasExited},
	{ErrLimit, viber.TerminalLimit},
	{ErrBadSize, viber.TerminalBadSize},
	{ErrSpawn, viber.TerminalSpawn},
}

// CodeOf is the protocol's word for an error; empty for one it has no word for.
func CodeOf(err error) viber.TerminalCode {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return ""
}
