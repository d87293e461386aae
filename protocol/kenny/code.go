package kenny

// Code is the stable name of a failed call.
type Code string

// Codes a machine answers with.
const (
	CodeTimeout     Code = "timeout"
	CodeNotFound    Code = "not_found"
	CodeExecFailed  Code = "exec_failed"
	CodeUnsupported Code = "unsupported"
	CodeBadArgs     Code = "bad_args"
	CodeInternal    Code = "internal"
	CodeDisabled    Code = "disabled"
	CodeBlocked     Code = "blocked"
)

// Codes a hub makes itself; they never travel on the wire.
const (
	CodeOffline         Code = "offline"
	CodeNoAgent         Code = "no_agent"
	CodeForbidden       Code = "forbidden"
	CodeUnknownTool     Code = "unknown_tool"
	CodeBusy            Code = "busy"
	CodeTooLarge        Code = "too_large"
	CodeDenied          Code = "denied"
	CodeApprovalPending Code = "approval_pending"
	CodeApprovalTimeout Code = "approval_timeout"
	CodeExpired         Code = "expired"
	CodeCancelled       Code = "cancelled"
)

// MachineCodes lists the codes of the protocol, in its order.
func MachineCodes() []Code {
	return []Code{
		CodeTimeout, CodeNotFound, CodeExecFailed, CodeUnsupported,
		CodeBadArgs, CodeInternal, CodeDisabled, CodeBlocked,
	}
}

// HubCodes lists the codes a hub adds.
func HubCodes() []Code {
	return []Code{
		CodeOffline, CodeNoAgent, CodeForbidden, CodeUnknownTool, CodeBusy, CodeTooLarge,
		CodeDenied, CodeApprovalPending, CodeApprovalTimeout, CodeExpired, CodeCancelled,
	}
}

// maxCode bounds a code of a machine we do not know.
const maxCode = 32

// Passable gives the code itself when it may be shown as it is, else internal:
// a code ends up in prompts and labels, so its alphabet is closed.
func (c Code) Passable() Code {
	if len(c) == 0 || len(c) > maxCode {
		return CodeInternal
	}
	for _, r := range c {
		if r != '_' && (r < 'a' || r > 'z') {
			return CodeInternal
		}
	}
	return c
}

// Error is a failed call: on the wire the "error" object of a response.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error implements error as "code: message".
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is lets errors.Is compare by code alone: errors.Is(err, &Error{Code: CodeOffline}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}
