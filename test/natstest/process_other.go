//go:build !linux

package natstest

import "syscall"

// dieWithParent has no counterpart here: servers end with the test's cleanup.
func dieWithParent() *syscall.SysProcAttr { return nil }
