// Package install makes the endpoint a service of the machine: systemd,
// launchd or the Windows service manager, started at boot, restarted when it
// fails.
//
//	program, err := install.CopyProgram(exe)      // to where programs live
//	svc, err := install.Service(program, state)
//	err = svc.Install()
//
// It also puts two shortcuts where the person at the machine finds them: one
// switches remote control off, one on.
package install
