package agentfirst

// Limits of the protocol.
const (
	// MaxPayload is the largest payload of one frame, in bytes, both ways.
	MaxPayload = 16 << 20
	// MaxContent is the largest text of one turn, in bytes.
	MaxContent = 8 << 20
	// MaxHistory is how many bytes of text one history answer carries: enough
	// below MaxPayload that the rest of the message always fits beside it.
	MaxHistory = 12 << 20
	// MaxAgentName, MaxSender and MaxThread bound the parts of a conversation's key, in bytes.
	MaxAgentName = 64
	MaxSender    = 256
	MaxThread    = 128
	// JSONLChunk is how many bytes of an export or import go into one message:
	// large enough to be cheap, small enough not to hold up a connection.
	JSONLChunk = 256 << 10
	// HelloVersion is the version of Parley's additions.
	HelloVersion = 1
)
