package terminal

import (
	"context"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/sandbox"
	"parley.internal/protocol/viber"
)

// API is what faces, tools and the command line need of terminals.
type API interface {
	// Create starts a process. The creator is not attached.
	Create(ctx context.Context, who identity.Actor, spec Spec) (viber.Terminal, error)
	// List shows the caller's terminals on every hub, oldest first; an admin sees all.
	List(ctx context.Context, who identity.Actor) ([]viber.Terminal, error)
	// Attach opens a view, which the caller closes.
	Attach(ctx context.Context, who identity.Actor, id string, opts AttachOptions) (View, error)
	// Input types: the bytes, nothing added. It needs no view.
	Input(ctx context.Context, who identity.Actor, id string, data []byte) error
	// Resize says how large the window of somebody without a view is, and returns
	// the size the terminal has then.
	Resize(ctx context.Context, who identity.Actor, id string, size viber.Size) (viber.Size, error)
	// End ends the process, if it runs, and waits for its exit.
	End(ctx context.Context, who identity.Actor, id string) (viber.TerminalExit, error)
	// Read gives output after a byte position, waiting for some up to a while. A
	// negative position gives none and says where the output ends.
	Read(ctx context.Context, who identity.Actor, id string, after int64, wait time.Duration) (Output, error)
}

// reaches tells a terminal that exists for whoever acts: their own, everybody's for an
// admin. Agents reach only those that agents opened: a person's own are outside the box.
func reaches(who identity.Actor, t *terminal) bool {
	return who.Owns(t.owner) && (t.boxed || who.Agent == "")
}

// Spec says what to run.
type Spec struct {
	Name string
	// Command goes through the system's shell; empty is the user's own shell.
	Command string
	// Cwd is relative to the workspace; empty is the workspace.
	Cwd string
	// Size defaults to 24 rows of 80 columns.
	Size viber.Size
	// Task is the task whose agent opens the terminal, if one does.
	Task string
	// Box are the folders that an agent's program may write: it runs in a box that has
	// them. Without any the program is a person's own and runs outside.
	Box []string
	// Exit is that program's way to the network; nil has none. It is closed with the terminal.
	Exit sandbox.Exit
}

// AttachOptions say what a view is for.
type AttachOptions struct {
	// Writer lets the view have a say in the size.
	Writer bool
	// ExitOnly is for whoever waits for the end and does not look.
	ExitOnly bool
}

// View is one viewer. One goroutine calls Next; the rest may be called from anywhere.
type View interface {
	// Next is a *viber.TerminalAttached first, then *viber.TerminalOutput and
	// *viber.TerminalResized, and *viber.TerminalExit last; then io.EOF.
	Next(ctx context.Context) (viber.Payload, error)
	// Resize says how large this viewer's window is and returns the terminal's.
	Resize(ctx context.Context, size viber.Size) (viber.Size, error)
	// Close ends the view. The terminal lives on.
	Close()
}

// Output is what an agent reads of a terminal.
type Output struct {
	Data string `json:"data"`
	// Offset is the byte position after Data, to be given to the next Read.
	Offset    int64                `json:"offset"`
	Status    viber.TerminalStatus `json:"status"`
	ExitCode  *int                 `json:"exit_code,omitempty"`
	Truncated bool                 `json:"truncated,omitempty"`
}
