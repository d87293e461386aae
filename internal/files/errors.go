package files

import "errors"

// What can be wrong with a file.
var (
	// ErrNotFound: there is none, or it is not the caller's.
	ErrNotFound = errors.New("there is no such file")
	// ErrTooLarge: it is above the limit of one file.
	ErrTooLarge = errors.New("the file is too large")
	// ErrQuota: the person keeps too much already.
	ErrQuota = errors.New("there is no room left for your files")
	// ErrType: it is nothing that can be shown to a model.
	ErrType = errors.New("this is no picture, PDF or voice note")
	// ErrTooMany: one message takes only so many along.
	ErrTooMany = errors.New("too many files in one message")
)
