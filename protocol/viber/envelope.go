package viber

import (
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Envelope is the outside of every message.
type Envelope struct {
	Type Type
	ID   string
	// Timestamp is zero when the sender left it out.
	Timestamp time.Time
	// ReplyTo is the id of the request this frame answers; only servers set it.
	ReplyTo string
	Payload jsontext.Value
}

// Payload is the inside of a message; each type of the protocol has its own.
type Payload interface {
	// Type names the message.
	Type() Type
}

// Message is a decoded frame.
type Message struct {
	Envelope
	Body Payload
}

// Header is what the sender of a message decides about its envelope.
type Header struct {
	// ID is a UUID, unique on its connection.
	ID string
	At time.Time
	// ReplyTo is the id of the request that this message answers, or empty.
	ReplyTo string
}

// Encode writes a message.
func Encode(h Header, p Payload) ([]byte, error) {
	switch p.(type) {
	case *Ping, *Pong:
		return outbound(p.Type(), h.ID, h.At, h.ReplyTo, []byte("{}"))
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return outbound(p.Type(), h.ID, h.At, h.ReplyTo, body)
}

// Encode writes the envelope again, with its payload as it is.
func (e Envelope) Encode() ([]byte, error) {
	if !e.Payload.IsValid() {
		return nil, errNoPayload
	}
	return outbound(e.Type, e.ID, e.Timestamp, e.ReplyTo, e.Payload)
}

// outbound puts an envelope around a payload. Every frame of a connection goes
// through here, so it is written by hand.
func outbound(t Type, id string, at time.Time, replyTo string, payload []byte) (out []byte, err error) {
	out = make([]byte, 0, len(payload)+192)
	field := func(name, value string) {
		if err == nil {
			out, err = jsontext.AppendQuote(append(out, name...), value)
		}
	}
	field(`{"type":`, string(t))
	field(`,"id":`, id)
	if !at.IsZero() {
		out = append(out, `,"timestamp":"`...)
		out = append(at.UTC().AppendFormat(out, timeLayout), '"')
	}
	if replyTo != "" {
		field(`,"reply_to":`, replyTo)
	}
	out = append(append(append(out, `,"payload":`...), payload...), '}')
	return out, err
}

// rawEnvelope takes any JSON, so that only the frame's grammar can fail and each
// field is judged by itself.
type rawEnvelope struct {
	Type      jsontext.Value `json:"type"`
	ID        jsontext.Value `json:"id"`
	Timestamp jsontext.Value `json:"timestamp"`
	ReplyTo   jsontext.Value `json:"reply_to"`
	Payload   jsontext.Value `json:"payload"`
}

// DecodeEnvelope reads the outside of a message. An error is a [*Violation]; the
// id and type are then filled in as far as they could be read, so that the answer
// can say which request it is about. The envelope owns its memory.
func DecodeEnvelope(data []byte) (Envelope, error) {
	var raw rawEnvelope
	if v := parseFrame(data, &raw); v != nil {
		return Envelope{}, v
	}
	id, v := textField(raw.ID, "/id")
	env := Envelope{Payload: raw.Payload}
	if v == nil && utf8.RuneCountInString(id) > MaxID {
		v = violation(ReasonBadEnvelope, "/id", "id has at most %d characters", MaxID)
	}
	if v == nil {
		env.ID = id
	}
	typ, tv := textField(raw.Type, "/type")
	env.Type = Type(typ)
	if v == nil {
		v = tv
	}
	if v == nil {
		v = env.readRest(raw)
	}
	if v != nil {
		return env, v
	}
	return env, nil
}

func (e *Envelope) readRest(raw rawEnvelope) *Violation {
	if raw.Timestamp != nil {
		t, err := timeIn(raw.Timestamp)
		if err != nil {
			return violation(ReasonBadEnvelope, "/timestamp", "timestamp is not an ISO 8601 time")
		}
		e.Timestamp = t
	}
	if raw.ReplyTo.Kind() == '"' {
		e.ReplyTo, _ = textIn(raw.ReplyTo)
	}
	if raw.Payload == nil {
		return violation(ReasonBadEnvelope, "/payload", "payload is missing")
	}
	if raw.Payload.Kind() != '{' {
		return violation(ReasonBadPayload, "/payload", "payload is not an object")
	}
	return nil
}

// parseFrame tells bad JSON from JSON that is no envelope. Duplicate names and
// bad UTF-8 at any depth are bad JSON: two readers could take them differently.
func parseFrame(data []byte, raw *rawEnvelope) *Violation {
	text := jsontext.Value(data)
	if text.Kind() == '{' {
		if err := json.Unmarshal(data, raw); err != nil {
			return violation(ReasonBadJSON, "", "the frame is not JSON: %s", grammar(err))
		}
		return nil
	}
	if !text.IsValid() {
		return violation(ReasonBadJSON, "", "the frame is not JSON")
	}
	return violation(ReasonBadEnvelope, "", "the frame is not a JSON object")
}

func textField(v jsontext.Value, field string) (string, *Violation) {
	s, ok := textIn(v)
	if !ok || s == "" {
		return "", violation(ReasonBadEnvelope, field, "%s is not a non-empty string", field[1:])
	}
	return s, nil
}

func textIn(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err == nil
}
