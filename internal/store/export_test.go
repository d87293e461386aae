package store

// PackRow and UnpackRow are the two directions of a dump's line.
var (
	PackRow   = packRow
	UnpackRow = unpackRow
)
