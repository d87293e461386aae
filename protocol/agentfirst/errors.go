package agentfirst

import "errors"

// Errors of the codecs. Test for them with errors.Is.
var (
	// ErrFrameTooLarge says that a frame is announced or built larger than MaxPayload.
	ErrFrameTooLarge = errors.New("frame is larger than 16777216 bytes")
	// ErrBadMessage says that a payload is not a message of this protocol.
	ErrBadMessage = errors.New("payload is not an agent-first message")
	// ErrTooManyElements says that a payload packs more list elements than a real message would.
	ErrTooManyElements = errors.New("message has too many list elements")
	// ErrBadName says that an agent, sender or thread name is not allowed.
	ErrBadName = errors.New("bad name")
	// ErrEmptyFile says that a JSONL file to import has no line at all.
	ErrEmptyFile = errors.New("file is empty")
	// ErrBadMeta says that the first line of a JSONL file does not name an agent and a sender.
	ErrBadMeta = errors.New("first line is not a conversation header")
)
