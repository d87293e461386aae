package viber

import "fmt"

// Size is the window of a terminal.
type Size struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// Valid reports whether a PTY may have this size.
func (s Size) Valid() bool {
	return s.Rows >= 1 && s.Rows <= MaxTerminalSide && s.Cols >= 1 && s.Cols <= MaxTerminalSide
}

// DefaultSize is the window of a terminal for which nobody asked for another.
func DefaultSize() Size { return Size{Rows: 24, Cols: 80} }

// TerminalStatus is whether a terminal's process lives.
type TerminalStatus string

// The states of a terminal.
const (
	TerminalRunning TerminalStatus = "running"
	TerminalExited  TerminalStatus = "exited"
)

// Terminal is a terminal in a listing.
type Terminal struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	CreatedAt Time           `json:"created_at"`
	Size      Size           `json:"size"`
	TaskID    string         `json:"task_id,omitzero"`
	Status    TerminalStatus `json:"status,omitzero"`
	ExitCode  *int           `json:"exit_code,omitzero"`
	CWD       string         `json:"cwd,omitzero"`
	Command   string         `json:"command,omitzero"`
	Viewers   int            `json:"viewers,omitzero"`
}

// TerminalList asks for the terminals.
type TerminalList struct{}

// TerminalListResponse is the terminals there are.
type TerminalListResponse struct {
	Terminals []Terminal `json:"terminals"`
}

// TerminalAttach asks for a terminal's output.
type TerminalAttach struct {
	TerminalID string `json:"terminal_id"`
}

// TerminalAttached comes before the scrollback.
type TerminalAttached struct {
	TerminalID string `json:"terminal_id"`
	Size       Size   `json:"size"`
	// Offset is the raw byte position at which the scrollback begins.
	Offset    int64 `json:"offset"`
	Truncated bool  `json:"truncated"`
}

// TerminalOutput is what a terminal printed.
type TerminalOutput struct {
	TerminalID string `json:"terminal_id"`
	Data       string `json:"data"`
	// Offset is the raw byte position after this chunk.
	Offset int64 `json:"offset,omitzero"`
	// Replay says that this is scrollback.
	Replay bool `json:"replay,omitzero"`
	// Truncated says that output before this chunk was passed over.
	Truncated bool `json:"truncated,omitzero"`
}

// TerminalInput is what a person types: the bytes of the string, nothing added.
type TerminalInput struct {
	TerminalID string `json:"terminal_id"`
	Data       string `json:"data"`
}

// TerminalResize says how large a viewer's window is.
type TerminalResize struct {
	TerminalID string `json:"terminal_id"`
	Rows       int    `json:"rows"`
	Cols       int    `json:"cols"`
}

// TerminalResized says how large the terminal is now.
type TerminalResized struct {
	TerminalID string `json:"terminal_id"`
	Rows       int    `json:"rows"`
	Cols       int    `json:"cols"`
}

// TerminalDetach asks for no more output.
type TerminalDetach struct {
	TerminalID string `json:"terminal_id"`
}

// TerminalDetached says that no more output comes.
type TerminalDetached struct {
	TerminalID string `json:"terminal_id"`
}

// TerminalCreate starts a process on a new terminal.
type TerminalCreate struct {
	Name    string `json:"name,omitzero"`
	CWD     string `json:"cwd,omitzero"`
	Command string `json:"command,omitzero"`
	// Rows and Cols default one by one.
	Rows *int `json:"rows,omitzero"`
	Cols *int `json:"cols,omitzero"`
}

// Size is the window asked for.
func (c *TerminalCreate) Size() Size {
	size := DefaultSize()
	if c.Rows != nil {
		size.Rows = *c.Rows
	}
	if c.Cols != nil {
		size.Cols = *c.Cols
	}
	return size
}

// TerminalCreated describes the new terminal.
type TerminalCreated struct {
	Terminal Terminal `json:"terminal"`
}

// TerminalClose ends a terminal's process.
type TerminalClose struct {
	TerminalID string `json:"terminal_id"`
}

// TerminalExit comes after the last output.
type TerminalExit struct {
	TerminalID string `json:"terminal_id"`
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitzero"`
}

// TerminalCode is an error category of terminals.
type TerminalCode string

// The error categories of terminals.
const (
	TerminalNotFound  TerminalCode = "terminal_not_found"
	TerminalHasExited TerminalCode = "terminal_exited"
	TerminalLimit     TerminalCode = "limit"
	TerminalBadSize   TerminalCode = "bad_size"
	TerminalSpawn     TerminalCode = "spawn_failed"
)

// TerminalErrorInfo says what went wrong.
type TerminalErrorInfo struct {
	Type        TerminalCode `json:"type"`
	Message     string       `json:"message"`
	Recoverable bool         `json:"recoverable"`
}

// TerminalError refuses a request about a terminal.
type TerminalError struct {
	TerminalID string            `json:"terminal_id"`
	Error      TerminalErrorInfo `json:"error"`
}

// NewTerminalError makes the refusal of a request. Unknown and foreign terminals
// get the same words.
func NewTerminalError(id string, code TerminalCode, message string) *TerminalError {
	recoverable := code == TerminalLimit || code == TerminalBadSize
	if message == "" {
		message = code.meaning()
	}
	return &TerminalError{TerminalID: id, Error: TerminalErrorInfo{Type: code, Message: message, Recoverable: recoverable}}
}

func (c TerminalCode) meaning() string {
	switch c {
	case TerminalNotFound:
		return "there is no such terminal"
	case TerminalHasExited:
		return "the terminal's process has ended"
	case TerminalLimit:
		return "too many terminals, or too much input"
	case TerminalBadSize:
		return fmt.Sprintf("rows and cols are between 1 and %d", MaxTerminalSide)
	case TerminalSpawn:
		return "the process could not be started"
	}
	return string(c)
}

// Refusal is what a well-formed request about a terminal is answered when it asks
// for the impossible; nil when it does not. It is a terminal:error, unlike the
// violation of a payload's shape.
func Refusal(p Payload) *TerminalError {
	switch p := p.(type) {
	case *TerminalInput:
		if len(p.Data) > MaxTerminalInput {
			return NewTerminalError(p.TerminalID, TerminalLimit, fmt.Sprintf("input has at most %d bytes", MaxTerminalInput))
		}
	case *TerminalResize:
		if !(Size{p.Rows, p.Cols}).Valid() {
			return NewTerminalError(p.TerminalID, TerminalBadSize, "")
		}
	case *TerminalCreate:
		if !p.Size().Valid() {
			return NewTerminalError("", TerminalBadSize, "")
		}
	}
	return nil
}

func needTerminal(id string) *Violation {
	if id == "" {
		return violation(ReasonBadPayload, "/terminal_id", "terminal_id is missing")
	}
	return nil
}

func (t *TerminalAttach) check() *Violation { return needTerminal(t.TerminalID) }
func (t *TerminalInput) check() *Violation  { return needTerminal(t.TerminalID) }
func (t *TerminalResize) check() *Violation { return needTerminal(t.TerminalID) }
func (t *TerminalDetach) check() *Violation { return needTerminal(t.TerminalID) }
func (t *TerminalClose) check() *Violation  { return needTerminal(t.TerminalID) }

// TerminalOf returns which terminal a message of a server is about, if any.
func TerminalOf(p Payload) string {
	switch p := p.(type) {
	case *TerminalAttached:
		return p.TerminalID
	case *TerminalOutput:
		return p.TerminalID
	case *TerminalResized:
		return p.TerminalID
	case *TerminalDetached:
		return p.TerminalID
	case *TerminalExit:
		return p.TerminalID
	case *TerminalError:
		return p.TerminalID
	}
	return ""
}

// Type names the message.
func (*TerminalList) Type() Type { return TypeTerminalList }

// Type names the message.
func (*TerminalListResponse) Type() Type { return TypeTerminalListResponse }

// Type names the message.
func (*TerminalAttach) Type() Type { return TypeTerminalAttach }

// Type names the message.
func (*TerminalAttached) Type() Type { return TypeTerminalAttached }

// Type names the message.
func (*TerminalOutput) Type() Type { return TypeTerminalOutput }

// Type names the message.
func (*TerminalInput) Type() Type { return TypeTerminalInput }

// Type names the message.
func (*TerminalResize) Type() Type { return TypeTerminalResize }

// Type names the message.
func (*TerminalResized) Type() Type { return TypeTerminalResized }

// Type names the message.
func (*TerminalDetach) Type() Type { return TypeTerminalDetach }

// Type names the message.
func (*TerminalDetached) Type() Type { return TypeTerminalDetached }

// Type names the message.
func (*TerminalCreate) Type() Type { return TypeTerminalCreate }

// Type names the message.
func (*TerminalCreated) Type() Type { return TypeTerminalCreated }

// Type names the message.
func (*TerminalClose) Type() Type { return TypeTerminalClose }

// Type names the message.
func (*TerminalExit) Type() Type { return TypeTerminalExit }

// Type names the message.
func (*TerminalError) Type() Type { return TypeTerminalError }
