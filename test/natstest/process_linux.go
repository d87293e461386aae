package natstest

import "syscall"

// dieWithParent keeps servers from outliving a test binary that crashed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
