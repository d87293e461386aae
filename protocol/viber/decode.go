package viber

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeFromClient reads what a client sent, strictly. An error is a
// [*Violation]; the message then holds what of the envelope could be read, so that
// the answer can carry reply_to.
func DecodeFromClient(data []byte) (Message, error) {
	env, err := DecodeEnvelope(data)
	m := Message{Envelope: env}
	if err != nil {
		return m, err
	}
	// Only servers answer; a client's word about it means nothing.
	m.ReplyTo = ""
	rule, ok := requests[env.Type]
	if !ok {
		return m, violation(ReasonUnknownType, "/type", "unknown message type %.60q", string(env.Type))
	}
	body := rule.payload()
	if v := decodeBody(env.Payload, body); v != nil {
		return m, v
	}
	m.Body = body
	return m, nil
}

// checked is a payload with rules beyond its shape.
type checked interface {
	check() *Violation
}

func decodeBody(raw jsontext.Value, body Payload) *Violation {
	// Most heartbeats and listings say nothing; an empty object changes nothing.
	if string(raw) == "{}" {
		return checkBody(body)
	}
	if err := json.Unmarshal(raw, body); err != nil {
		if v, ok := errors.AsType[*Violation](err); ok {
			return v
		}
		return badPayload(err)
	}
	return checkBody(body)
}

func checkBody(body Payload) *Violation {
	if c, ok := body.(checked); ok {
		return c.check()
	}
	return nil
}

// badPayload says where a payload has the wrong shape, without repeating what
// it holds: a token may be in it.
func badPayload(err error) *Violation {
	var at string
	if s, ok := errors.AsType[*json.SemanticError](err); ok {
		at = string(s.JSONPointer)
	}
	if at == "" {
		return violation(ReasonBadPayload, "", "the payload has the wrong shape")
	}
	return violation(ReasonBadPayload, at, "%.100s has the wrong type", at)
}

// grammar is the cause of a syntax error without the text around it.
func grammar(err error) string {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && s.Err != nil {
		return s.Err.Error()
	}
	return "unexpected end"
}

// DecodeFromServer reads what a server sent, forgivingly: a type that this
// package does not know is an [*Unknown], a field it does not know is skipped. An
// error means that the frame cannot be used; later ones may be fine.
func DecodeFromServer(data []byte) (Message, error) {
	env, err := DecodeEnvelope(data)
	m := Message{Envelope: env}
	if err != nil {
		return m, err
	}
	body := fromServer(env.Type)
	if err := json.Unmarshal(env.Payload, body); err != nil {
		return m, badPayload(err)
	}
	m.Body = body
	return m, nil
}

// Unknown is a message of a type that this package does not know.
type Unknown struct {
	kind Type
	// Raw is the payload.
	Raw jsontext.Value
}

// Type names the message.
func (u *Unknown) Type() Type { return u.kind }

// MarshalJSONTo writes the payload as it came.
func (u *Unknown) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(u.Raw) }

// UnmarshalJSONFrom keeps the payload.
func (u *Unknown) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	u.Raw = v.Clone()
	return err
}
