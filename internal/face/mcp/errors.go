package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley.internal/internal/face/front"
)

// Error is a failure the model is told as "code: message".
type Error struct {
	Code    string
	Message string
}

// Error implements error. Where a protocol fixes the whole text, there is no code.
func (e *Error) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// Errorf makes an Error.
func Errorf(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// coded lets a domain's own "code: message" errors through as they are.
type coded interface {
	error
	MCP() (code, message string)
}

// explain is what the model reads of a failure, and whether the log should know
// the cause.
func (f *Face) explain(err error) (text string, ours bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Error(), false
	}
	if e, ok := errors.AsType[coded](err); ok {
		code, message := e.MCP()
		return code + ": " + message, false
	}
	if errors.Is(err, context.Canceled) {
		return "cancelled: the call was cancelled", false
	}
	p := f.d.Front.Problem(err)
	if p.Code == "internal_error" {
		return "internal: something went wrong in the hub; its log has the details", true
	}
	return code(p) + ": " + p.Detail, p.Status >= 500
}

// code is a problem's code as the models' tools know it.
func code(p *front.Problem) string {
	switch p.Code {
	case "insufficient_scope":
		return "forbidden"
	case "invalid":
		return "bad_args"
	default:
		return p.Code
	}
}

// plain cuts what a schema library says about itself from what it says about the
// arguments.
func plain(err error) string {
	text := err.Error()
	for _, noise := range []string{"validating root: ", "validating /properties/"} {
		text = strings.TrimPrefix(text, noise)
	}
	return text
}

// codeOf is the code of a text "code: message".
func codeOf(text string) string {
	code, _, _ := strings.Cut(text, ":")
	return code
}
