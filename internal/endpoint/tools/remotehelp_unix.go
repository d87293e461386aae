//go:build unix

package tools

import "context"

// Quick Assist exists on Windows only.

func helpStatus(context.Context) (helpState, error) { return helpState{}, nil }

func helpStart(context.Context) (int, error) {
	return 0, unsupported("remote help needs Quick Assist, which exists on Windows only")
}

func helpStop(context.Context) (bool, error) {
	return false, unsupported("remote help needs Quick Assist, which exists on Windows only")
}
