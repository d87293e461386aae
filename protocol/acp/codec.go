package acp

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxMessage bounds one line. A file that is written in one message has to fit.
const MaxMessage = 16 << 20

// maxID bounds the id of a request: it is kept until the request is answered.
const maxID = 200

// ErrMessage says that a line is no message.
var ErrMessage = errors.New("this is no message of the agent client protocol")

// lenient lets words of agents be read that are no UTF-8; a replacement takes their place.
var lenient = jsontext.AllowInvalidUTF8(true)

// Message is one line: a request (Method and ID), a notification (Method alone) or an
// answer (ID alone).
type Message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *Error         `json:"error,omitzero"`
}

// Request tells whether somebody waits for an answer to the message.
func (m Message) Request() bool { return m.Method != "" && m.ID != nil }

// Answer tells whether the message answers a request.
func (m Message) Answer() bool { return m.Method == "" }

// Decode reads one line.
func Decode(line []byte) (m Message, err error) {
	if len(line) > MaxMessage {
		return m, fmt.Errorf("%w: it is longer than %d bytes", ErrMessage, MaxMessage)
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &m, lenient); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	switch kind := m.ID.Kind(); {
	case m.ID == nil && m.Method == "":
		err = errors.New("it has neither a method nor an id")
	case m.ID != nil && kind != '"' && kind != '0' && kind != 'n':
		err = errors.New("its id is neither a number nor a text")
	case len(m.ID) > maxID:
		err = fmt.Errorf("its id is longer than %d bytes", maxID)
	}
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return m, nil
}

// Encode writes one line, its end included.
func Encode(m Message) ([]byte, error) {
	m.Version = "2.0"
	line, err := json.Marshal(m, lenient)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// Read reads params or a result. What is absent or null is the zero value.
func Read[T any](raw jsontext.Value) (v T, err error) {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v, lenient); err != nil {
		return v, &Error{Code: CodeInvalidParams, Message: err.Error()}
	}
	return v, nil
}

// Raw writes params or a result.
func Raw(v any) (jsontext.Value, error) { return json.Marshal(v, lenient) }
