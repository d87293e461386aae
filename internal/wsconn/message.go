package wsconn

// Kind is text or binary.
type Kind uint8

// The two kinds of message, with the opcodes of RFC 6455.
const (
	Text   Kind = 1
	Binary Kind = 2
)

// Policy says what may happen to a message while it waits for a slow peer.
type Policy uint8

const (
	// MustDeliver is sent or the connection is cut. With a Key it also ends a run of merging: later
	// messages of that key do not join earlier ones across it.
	MustDeliver Policy = iota
	// Newest takes the place of a waiting message with the same Key, at the end of the queue.
	Newest
	// Merge joins the last waiting message with the same Key; Message.Join says how. When they cannot be
	// joined it is MustDeliver.
	Merge
	// Droppable makes room: when the queue is full the oldest droppable messages go first.
	Droppable
)

// Message is one message to send. The connection keeps Data until it is written; do not change it.
type Message struct {
	Kind   Kind
	Data   []byte
	Frame  *Frame // instead of Kind and Data: prepared for many receivers
	Policy Policy
	Key    string
	// Now asks to have it written by the caller, if nothing waits and as far as the socket takes it at once:
	// cheaper for one or a few receivers. It waits for nothing, but takes the time of a system call.
	Now bool
	// Join appends newer to older and returns the joined message, or false. It must not change
	// either, and is called with the connection locked: it may not use the connection.
	Join func(older, newer []byte) ([]byte, bool)
}

// maxMerged keeps merging cheap: each join copies, so a long run becomes a few messages of this size.
const maxMerged = 32 << 10

// Frame is a message encoded once for many connections.
type Frame struct {
	wire []byte
}

// Prepare encodes a message for SendFrame. It copies data.
func Prepare(kind Kind, data []byte) *Frame {
	wire := make([]byte, 0, maxHeader+len(data))
	return &Frame{wire: append(appendHeader(wire, byte(kind), len(data)), data...)}
}

// Size is the number of bytes on the wire.
func (f *Frame) Size() int { return len(f.wire) }

const (
	maxHeader = 10 // of a frame a server sends
	finBit    = 0x80
	opClose   = 8
	opPing    = 9
	opPong    = 10
)

func appendHeader(b []byte, opcode byte, n int) []byte {
	b = append(b, finBit|opcode)
	switch {
	case n <= 125:
		return append(b, byte(n))
	case n <= 0xffff:
		return append(b, 126, byte(n>>8), byte(n))
	}
	return append(b, 127, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func appendFrame(b []byte, opcode byte, data []byte) []byte {
	return append(appendHeader(b, opcode, len(data)), data...)
}
