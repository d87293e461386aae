package redo

import "errors"

var (
	// ErrFull says that the file being written has no room for the record: nothing
	// was written. There may be room after a Switch.
	ErrFull = errors.New("redo log is full")

	// ErrBroken says that a write or a flush failed. What the disk holds is unknown
	// from then on, so the log takes nothing more until it is opened again.
	ErrBroken = errors.New("redo log is broken")

	// ErrUnsettled says that Open found records and Reset was not called since.
	ErrUnsettled = errors.New("redo log holds records of an earlier run")

	// ErrOrder says that a record's number is not greater than the one before, or not
	// greater than zero: nothing was written.
	ErrOrder = errors.New("redo record is out of order")
)
