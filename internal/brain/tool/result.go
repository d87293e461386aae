package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley.internal/internal/mask"
)

// MaxOutput is how much of one call's output a model is given.
const MaxOutput = 256 << 10

// What goes wrong around a tool. They are found in an [*Error] by errors.Is.
var (
	ErrUnknownTool = errors.New("unknown tool")
	ErrArguments   = errors.New("bad arguments")
	ErrRefused     = errors.New("refused")
	ErrTimeout     = errors.New("tool timed out")
	ErrPanic       = errors.New("tool panicked")
	ErrCancelled   = errors.New("cancelled")
)

// ErrorType sorts failures the way tasks report them.
type ErrorType string

// The types of failures.
const (
	Rejected        ErrorType = "rejected"
	ApprovalTimeout ErrorType = "approval_timeout"
	Superseded      ErrorType = "superseded"
	Cancelled       ErrorType = "cancelled"
	Denied          ErrorType = "denied"
	Interrupted     ErrorType = "interrupted"
	TimedOut        ErrorType = "timeout"
	Permission      ErrorType = "permission"
	NotFound        ErrorType = "not_found"
	RateLimit       ErrorType = "rate_limit"
	Validation      ErrorType = "validation"
	Unknown         ErrorType = "unknown"
)

// Error is a failure with its type. Tools return one when the type matters; any
// other error counts as Unknown. Message is written for the model.
type Error struct {
	Type    ErrorType
	Message string
	Err     error
	// Source is where words of strangers in the message are from; empty if it has none.
	Source string
}

// From marks a message that holds what a command, a server or a machine said: the
// words of strangers, like any other output of theirs.
func (e *Error) From(source string) *Error {
	e.Source = source
	return e
}

// Errorf makes an Error; %w keeps its cause.
func Errorf(t ErrorType, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Type: t, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Failed is the result that stands for an error. One that holds the words of
// strangers is as untrusted as they are.
func Failed(err error) Result {
	res := Result{Text: err.Error(), IsError: true}
	if e, ok := errors.AsType[*Error](err); ok && e.Source != "" {
		res.Untrusted, res.Source = true, e.Source
	}
	return res
}

// masked is an error as everybody may read it; its cause and type stay.
func masked(m *mask.Mask, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	shown := *e
	shown.Message, shown.Source = m.Text(e.Message), m.Text(e.Source)
	return &shown
}

// TypeOf is the type of any error of a tool.
func TypeOf(err error) ErrorType {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Type
	}
	return Unknown
}

// Clip cleans a tool's output and keeps at most limit bytes of it: the first three
// quarters and the end, with a line in between that tells how much is missing.
func Clip(s string, limit int) (kept string, leftOut int) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s, 0
	}
	const note = 40 // room for the line itself
	head := boundary(s, limit*3/4)
	tail := boundary(s, len(s)-max(limit/4-note, 0))
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	leftOut = tail - head
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", s[:head], leftOut, s[tail:]), leftOut
}

// boundary moves i back to where a character starts.
func boundary(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// Wrap marks text as the words of strangers, which stay byte for byte what they are: an agent edits files
// by what it read. They stand between tags with a value that is drawn now, after the words were
// written, so that nothing in them can be the end of it.
func Wrap(source, text string) string { return wrap(source, text, rand.Text()[:16]) }

func wrap(source, text, mark string) string {
	return `<data source="` + attribute.Replace(source) + `" id="` + mark + "\">\n" + text + "\n</data id=\"" + mark + `">`
}

var attribute = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")
