package agentfirst

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// An empty list element costs two bytes on the wire and up to 300 in memory.
	// Small payloads cannot do harm; large ones are counted before they are decoded.
	countAbove = 64 << 10
	// No client sends lists of any length; a server sends histories and listings.
	maxClientElements = 16 << 10
	maxServerElements = 2 << 20
)

// Marshal encodes m without a prefix, as it goes into one WebSocket frame.
func Marshal(m proto.Message) ([]byte, error) {
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	if len(b) > MaxPayload {
		return nil, ErrFrameTooLarge
	}
	return b, nil
}

// UnmarshalClient decodes a payload sent by a client. An empty payload and an
// unknown variant decode without error to a message whose oneof is unset.
func UnmarshalClient(payload []byte) (*ClientMessage, error) {
	m := new(ClientMessage)
	return m, unmarshal(payload, m, maxClientElements)
}

// UnmarshalServer decodes a payload sent by a server.
func UnmarshalServer(payload []byte) (*ServerMessage, error) {
	m := new(ServerMessage)
	return m, unmarshal(payload, m, maxServerElements)
}

func unmarshal(payload []byte, m proto.Message, limit int) error {
	if len(payload) > MaxPayload {
		return ErrFrameTooLarge
	}
	if len(payload) > countAbove {
		if n := countElements(payload, m.ProtoReflect().Descriptor(), limit); n > limit {
			return ErrTooManyElements
		}
	}
	if err := proto.Unmarshal(payload, m); err != nil {
		return fmt.Errorf("%w: %w", ErrBadMessage, err)
	}
	return nil
}

// countElements counts the submessages and list elements of b, giving up above limit. Bytes that
// make no sense end the count: the decoder will say what is wrong with them.
func countElements(b []byte, md protoreflect.MessageDescriptor, limit int) int {
	count := 0
	for len(b) > 0 && count <= limit {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return count
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return count
		}
		fd := md.Fields().ByNumber(num)
		if typ == protowire.BytesType && fd != nil && (fd.IsList() || fd.Message() != nil) {
			count++
		}
		if typ == protowire.BytesType && fd != nil && fd.Message() != nil {
			body, _ := protowire.ConsumeBytes(b[n:])
			count += countElements(body, fd.Message(), limit-count)
		}
		b = b[n+size:]
	}
	return count
}

// ClientVariant returns the number of the variant m carries. For an unknown
// variant it is the number that was sent, for an empty message zero; known is
// false for both.
func ClientVariant(m *ClientMessage) (number int, known bool) {
	return variant(m.ProtoReflect())
}

// ServerVariant is ClientVariant for answers.
func ServerVariant(m *ServerMessage) (number int, known bool) {
	return variant(m.ProtoReflect())
}

// EventVariant is ClientVariant for the steps of a run.
func EventVariant(e *StreamEvent) (number int, known bool) {
	return variant(e.ProtoReflect())
}

func variant(m protoreflect.Message) (int, bool) {
	if fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); fd != nil {
		return int(fd.Number()), true
	}
	num, _, n := protowire.ConsumeTag(m.GetUnknown())
	if n < 0 {
		return 0, false
	}
	return int(num), false
}
