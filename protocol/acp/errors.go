package acp

import "github.com/go-json-experiment/json/jsontext"

// The codes of errors that are used here.
const (
	CodeInvalidRequest = -32600
	CodeUnknownMethod  = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeAuthRequired   = -32000
	CodeNotFound       = -32002
)

// Error is the answer to a request that failed.
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

// Error is what the other side said.
func (e *Error) Error() string { return e.Message }
