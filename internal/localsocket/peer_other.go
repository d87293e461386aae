//go:build !linux && !darwin

package localsocket

func peer(int) (uid, pid int, err error) { return 0, 0, ErrUnknown }
