package hubtest

import "syscall"

// dieWithParent keeps hubs from outliving a test binary that crashed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
