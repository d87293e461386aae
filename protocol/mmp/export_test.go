package mmp

// What the tests of all parts of the wire together need of this one.
var (
	NewWorld   = newWorld
	VectorTime = vectorTime
)
