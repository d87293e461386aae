package openai

import (
	"encoding/json"
	"fmt"
)

// The statuses of HTTP that decide about the type of a refusal.
const (
	badRequest   = 400
	unauthorized = 401
	forbidden    = 403
	tooMany      = 429
	serverError  = 500
)

// Error is a refusal in the shape clients of this wire read.
type Error struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"`
	Code    string `json:"code,omitempty"`
}

// Error reads "code: message".
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// MarshalJSON writes absent members as null: clients look at all four.
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"message": e.Message, "type": e.Type, "param": orNull(e.Param), "code": orNull(e.Code)})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Envelope is the body of a refusal.
type Envelope struct {
	Error *Error `json:"error"`
}

// NewError makes a refusal whose type follows from its status.
func NewError(status int, code, message string) *Error {
	return &Error{Status: status, Message: message, Type: typeOf(status), Code: code}
}

func typeOf(status int) string {
	switch {
	case status == unauthorized:
		return "authentication_error"
	case status == forbidden:
		return "permission_error"
	case status == tooMany:
		return "rate_limit_error"
	case status >= serverError:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

func invalid(param, format string, args ...any) *Error {
	e := NewError(badRequest, "invalid_value", fmt.Sprintf(format, args...))
	e.Param = param
	return e
}
