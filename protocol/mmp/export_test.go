package mmp

// What the tests of all parts of the wire together need of this one.
var (
	Quote      = quote
	NewWorld   = newWorld
	VectorTime = vectorTime
)
