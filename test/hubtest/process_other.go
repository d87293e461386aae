//go:build !linux

package hubtest

import "syscall"

// dieWithParent has no counterpart here: hubs end with the test's cleanup.
func dieWithParent() *syscall.SysProcAttr { return nil }
