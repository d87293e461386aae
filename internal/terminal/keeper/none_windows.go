package keeper

import (
	"errors"
	"io"

	"parley.internal/internal/sandbox"
	"parley.internal/protocol/viber"
)

// errWindows is why.
var errWindows = errors.New("on Windows a terminal ends with the hub: its console cannot be handed on")

// Possible says why there can be no keepers on this system.
func Possible(string) error { return errWindows }

// Main is never asked for.
func Main(io.Reader, io.WriteCloser) error { return errWindows }

// Start is never asked for.
func Start([]string, string, Orders) (*Kept, error) { return nil, errWindows }

// Attach is never asked for.
func Attach(string, string) (*Kept, error) { return nil, errWindows }

// Kept is a terminal with a keeper; there are none.
type Kept struct{ Found Found }

func (*Kept) Read(out chan<- []byte)   { close(out) }
func (*Kept) Write(<-chan []byte)      {}
func (*Kept) Wait() viber.TerminalExit { return viber.TerminalExit{} }
func (*Kept) Acknowledge(Ack)          {}
func (*Kept) Resize(viber.Size) error  { return errWindows }
func (*Kept) HangUp()                  {}
func (*Kept) Kill()                    {}
func (*Kept) Close()                   {}
func (*Kept) Leave()                   {}
func (*Kept) Serve(sandbox.Exit) error { return errWindows }

// Living, Current, Free and FreeAll find nothing.
func Living(string) []string { return nil }
func Current(string) bool    { return true }
func Free(string)            {}
func FreeAll(string) int     { return 0 }
