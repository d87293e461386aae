package agentfirst

// NoticeTitled is the code of the notice that tells attached devices a
// conversation's new title, which is its text.
const NoticeTitled = "titled"

// NoticeFileNotShown is the code of the notice that a file which goes along with a message was
// not shown to the model; its text says why.
const NoticeFileNotShown = "file_not_shown"

// Code is the number in an error answer.
type Code uint32

// The codes of error answers.
const (
	CodeBadRequest      Code = 400
	CodeUnauthenticated Code = 401
	CodeForbidden       Code = 403
	CodeNotFound        Code = 404
	CodeConflict        Code = 409
	CodeGone            Code = 410
	CodeTooLarge        Code = 413
	CodeTooMany         Code = 429
	CodeInternal        Code = 500
	CodeProviderFailed  Code = 502
	CodeUnavailable     Code = 503
	CodeProviderTimeout Code = 504
)

// Codes of WebSocket closes, beyond those of RFC 6455.
const (
	CloseUnauthenticated = 4401
)

// Meaning says in a few words what a code tells the client; "" for a foreign code.
func (c Code) Meaning() string {
	switch c {
	case CodeBadRequest:
		return "malformed request, bad name or unknown variant"
	case CodeUnauthenticated:
		return "not authenticated"
	case CodeForbidden:
		return "not your sender, or not in your scopes"
	case CodeNotFound:
		return "no such agent, active conversation, question, archive, schedule or handle"
	case CodeConflict:
		return "nothing to compact, the target exists, or it is built in"
	case CodeGone:
		return "no longer part of the protocol"
	case CodeTooLarge:
		return "too large"
	case CodeTooMany:
		return "queue full, too fast, or budget spent"
	case CodeInternal:
		return "the server failed; its log has the cause"
	case CodeProviderFailed:
		return "the model provider failed"
	case CodeUnavailable:
		return "shutting down or changing owner; try again"
	case CodeProviderTimeout:
		return "the model provider timed out"
	}
	return ""
}

// Temporary reports whether the same request may succeed when tried again soon.
func (c Code) Temporary() bool {
	switch c {
	case CodeTooMany, CodeProviderFailed, CodeUnavailable, CodeProviderTimeout:
		return true
	}
	return false
}

// NewError returns an error answer. Its message is never empty on the wire.
func NewError(code Code, message string) *ServerMessage {
	if message == "" {
		message = code.Meaning()
	}
	if message == "" {
		message = "error"
	}
	return &ServerMessage{Message: &ServerMessage_Error{Error: &ErrorReply{Code: uint32(code), Message: message}}}
}
