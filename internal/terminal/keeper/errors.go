package keeper

import "errors"

var (
	// ErrGone says that no keeper answers in a folder: it has ended, or the machine was
	// started anew.
	ErrGone = errors.New("the terminal's keeper has ended")
	// ErrRefused says that a keeper does not want this hub, and why.
	ErrRefused = errors.New("the terminal's keeper refuses")
)
