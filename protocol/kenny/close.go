package kenny

// CloseCode is a WebSocket close code with this protocol's meaning.
type CloseCode int

// The close codes. What a client should do follows from the code alone.
const (
	// CloseNormal and CloseGoingAway from an endpoint are a clean goodbye.
	CloseNormal CloseCode = 1000
	// CloseGoingAway is what an endpoint sends when it stops.
	CloseGoingAway CloseCode = 1001
	// CloseTooBig: a message above [MaxDiscard].
	CloseTooBig CloseCode = 1009
	// CloseRestart: the hub stops; come back after a random 0–15 s.
	CloseRestart CloseCode = 1012
	// CloseBadFrames: the first message was no register, too many bad
	// frames, or the machine was removed while connected.
	CloseBadFrames CloseCode = 4400
	// CloseUnauthorized: every failure to authenticate; they do not differ.
	CloseUnauthorized CloseCode = 4401
	// CloseSilent: nothing was heard for [SilenceLimit].
	CloseSilent CloseCode = 4408
	// CloseReplaced: a newer connection of the same machine took over.
	CloseReplaced CloseCode = 4409
)

// Clean reports whether an endpoint that closes with the code said goodbye.
func (c CloseCode) Clean() bool { return c == CloseNormal || c == CloseGoingAway }
