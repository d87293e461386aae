package mmp

// What the tests of all parts of the wire together need of this one.
var (
	// EncodePlainly is Encode without the answers that write themselves.
	EncodePlainly = encode
	Quote         = quote
	NewWorld      = newWorld
	VectorTime    = vectorTime
)
