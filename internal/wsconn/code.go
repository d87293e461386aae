package wsconn

import (
	"fmt"
	"unicode/utf8"
)

// Code is a close code of RFC 6455 or of a protocol of ours (4000 to 4999).
type Code uint16

// Close codes this package uses itself. CodeNone and CodeAbnormal are only ever reported, never sent.
const (
	CodeNormal      Code = 1000
	CodeGoingAway   Code = 1001
	CodeProtocol    Code = 1002
	CodeUnsupported Code = 1003
	CodeNone        Code = 1005
	CodeAbnormal    Code = 1006
	CodeInvalid     Code = 1007
	CodePolicy      Code = 1008
	CodeTooLarge    Code = 1009
	CodeInternal    Code = 1011
	CodeRestart     Code = 1012
	CodeTryLater    Code = 1013
)

// maxReason is what a close frame can hold beside the code.
const maxReason = 123

// Sendable reports whether the code may stand in a close frame.
func (c Code) Sendable() bool {
	switch {
	case c >= 3000 && c <= 4999, c >= 1007 && c <= 1014:
		return true
	}
	return c >= 1000 && c <= 1003
}

// Close is why a connection ends, as the peer is told.
type Close struct {
	Code   Code
	Reason string
}

// Error lets a Close travel as an error, for instance out of Options.Admit.
func (c Close) Error() string { return fmt.Sprintf("wsconn: close %d %s", c.Code, c.Reason) }

// or returns c, or the other one if c is empty.
func (c Close) or(code Code, reason string) Close {
	if c.Code == 0 {
		return Close{code, reason}
	}
	return c
}

// payload is the body of the close frame; a reason that is too long is cut between characters.
func (c Close) payload() []byte {
	if c.Code == CodeNone {
		return nil
	}
	reason := c.Reason
	if len(reason) > maxReason {
		n := maxReason
		for n > 0 && !utf8.RuneStart(reason[n]) {
			n--
		}
		reason = reason[:n]
	}
	return append([]byte{byte(c.Code >> 8), byte(c.Code)}, reason...)
}

// Ended tells how a connection ended.
type Ended struct {
	// Close is what was, or would have been, in the first close frame: CodeNone for an empty
	// one, CodeAbnormal when the connection broke without any.
	Close
	// ByPeer says that the peer ended it; a broken connection counts as the peer's doing.
	ByPeer bool
	// Err is what broke the connection, if anything did.
	Err error
}
