package kenny

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// Decode reads one message. The error is a [*FrameError]. The frame owns its
// memory; data may be reused.
func Decode(data []byte) (Frame, error) {
	if len(data) > MaxResponse {
		return nil, &FrameError{Kind: ErrTooLarge, Reason: fmt.Sprintf("%d bytes", len(data))}
	}
	members, err := parseObject(data)
	if errors.Is(err, jsonobject.ErrNotObject) {
		return nil, &FrameError{Kind: ErrInvalidFrame, Reason: err.Error()}
	}
	if err != nil {
		return nil, &FrameError{Kind: ErrNotJSON, Reason: err.Error()}
	}
	return decodeMembers(&fields{members: members}, len(data))
}

// decodeMembers finds the type and lets it read the rest.
func decodeMembers(f *fields, size int) (Frame, error) {
	typ := Type(f.text("type"))
	if f.err != nil {
		return nil, &FrameError{Kind: ErrInvalidFrame, Reason: f.err.Error()}
	}
	read, ok := readers(typ)
	if !ok {
		return nil, &FrameError{Kind: ErrUnknownType, Type: Type(clip(string(typ))), Reason: "not of protocol " + Version}
	}
	if limit := SizeLimit(typ); size > limit {
		return nil, &FrameError{Kind: ErrTooLarge, Type: typ, Reason: fmt.Sprintf("%d bytes, at most %d", size, limit)}
	}
	frame := read(f)
	err := f.done()
	if err == nil {
		err = frame.check()
	}
	if err != nil {
		return nil, &FrameError{Kind: ErrInvalidFrame, Type: typ, Reason: err.Error()}
	}
	return frame, nil
}

// DecodeFromMachine reads a message of an authenticated machine. What only a
// hub may send, and the handshake, is an invalid frame here.
func DecodeFromMachine(data []byte) (Frame, error) {
	return decodeSession(data, func(f Frame) bool {
		switch f.(type) {
		case *Response, *Telemetry, *Log, *Ping, *Pong:
			return true
		}
		return false
	})
}

// DecodeFromHub reads a message of a verified hub inside a session.
func DecodeFromHub(data []byte) (Frame, error) {
	return decodeSession(data, func(f Frame) bool {
		switch f.(type) {
		case *Request, *Policy, *Ping, *Pong:
			return true
		}
		return false
	})
}

func decodeSession(data []byte, allowed func(Frame) bool) (Frame, error) {
	frame, err := Decode(data)
	if err != nil {
		return nil, err
	}
	if !allowed(frame) {
		return nil, &FrameError{Kind: ErrInvalidFrame, Type: frame.Type(), Reason: "not allowed from this side of a session"}
	}
	return frame, nil
}

// Encode writes one message. It refuses what Decode would refuse, so that
// nobody puts on the wire what the other side must drop.
func Encode(f Frame) ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, &FrameError{Kind: ErrInvalidFrame, Type: f.Type(), Reason: err.Error()}
	}
	if c, ok := f.(*Challenge); ok {
		return c.append(), nil // every machine that comes gets one, and its form is fixed
	}
	data, err := json.Marshal(f.wire(), json.Deterministic(true))
	if err != nil {
		return nil, &FrameError{Kind: ErrInvalidFrame, Type: f.Type(), Reason: err.Error()}
	}
	if limit := SizeLimit(f.Type()); len(data) > limit {
		return nil, &FrameError{Kind: ErrTooLarge, Type: f.Type(), Reason: fmt.Sprintf("%d bytes, at most %d", len(data), limit)}
	}
	return data, nil
}

// SizeLimit is the largest message of a type, in bytes.
func SizeLimit(t Type) int {
	switch t {
	case TypeResponse:
		return MaxResponse
	case TypeRegister, TypeAuth:
		return MaxUnauthenticated
	case TypeRequest:
		return MaxRequest
	case TypePolicy:
		return MaxPolicy
	case TypeTelemetry:
		return MaxTelemetry
	case TypeLog:
		return MaxLog
	}
	return MaxUnauthenticated
}

// Wire forms. Field order is wire order: what an oversized message must show
// in its head comes first.

func (r *Register) wire() any {
	return struct {
		Type        Type                      `json:"type"`
		AgentID     string                    `json:"agent_id"`
		Protocol    string                    `json:"protocol,omitzero"`
		ClientNonce []byte                    `json:"client_nonce,omitzero"`
		Token       string                    `json:"token,omitzero"`
		Meta        map[string]jsontext.Value `json:"meta"`
	}{TypeRegister, r.AgentID, r.Protocol, r.ClientNonce, r.Token, r.Meta.members()}
}

func (c *Challenge) wire() any {
	return struct {
		Type        Type   `json:"type"`
		ServerNonce []byte `json:"server_nonce"`
		ServerSig   []byte `json:"server_sig"`
	}{TypeChallenge, c.ServerNonce, c.ServerSig}
}

// append writes what wire would become: base64 needs no escapes.
func (c *Challenge) append() []byte {
	out := append(make([]byte, 0, 256), `{"type":"challenge","server_nonce":"`...)
	out = base64.StdEncoding.AppendEncode(out, c.ServerNonce)
	out = append(out, `","server_sig":"`...)
	out = base64.StdEncoding.AppendEncode(out, c.ServerSig)
	return append(out, `"}`...)
}

func (a *Auth) wire() any {
	return struct {
		Type     Type   `json:"type"`
		AgentSig []byte `json:"agent_sig"`
	}{TypeAuth, a.AgentSig}
}

func (r *Request) wire() any {
	return struct {
		Type Type           `json:"type"`
		ID   string         `json:"id"`
		Tool string         `json:"tool"`
		Args jsontext.Value `json:"args"`
	}{TypeRequest, r.ID, r.Tool, r.Args}
}

func (r *Response) wire() any {
	return struct {
		Type   Type           `json:"type"`
		ID     string         `json:"id"`
		OK     bool           `json:"ok"`
		Error  *Error         `json:"error,omitzero"`
		Result jsontext.Value `json:"result,omitzero"`
	}{TypeResponse, r.ID, r.OK, r.Error, r.Result}
}

func (p *Policy) wire() any {
	return struct {
		Type  Type   `json:"type"`
		Rules []Rule `json:"rules"`
	}{TypePolicy, p.Rules}
}

func (t *Telemetry) wire() any {
	return struct {
		Type        Type                      `json:"type"`
		AgentID     string                    `json:"agent_id"`
		CollectedAt Timestamp                 `json:"collected_at"`
		Snapshot    map[string]jsontext.Value `json:"snapshot"`
	}{TypeTelemetry, t.AgentID, t.CollectedAt, t.Snapshot}
}

func (l *Log) wire() any {
	return struct {
		Type    Type           `json:"type"`
		AgentID string         `json:"agent_id"`
		At      Timestamp      `json:"at"`
		Level   Level          `json:"level"`
		Target  string         `json:"target"`
		Message string         `json:"message"`
		Fields  jsontext.Value `json:"fields,omitzero"`
	}{TypeLog, l.AgentID, l.At, l.Level, l.Target, l.Message, l.Fields}
}

func (*Ping) wire() any { return bare{TypePing} }

func (*Pong) wire() any { return bare{TypePong} }

// bare is a frame that is nothing but its type.
type bare struct {
	Type Type `json:"type"`
}
