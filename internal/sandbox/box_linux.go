package sandbox

import (
	"fmt"
	"os"
	"os/exec"

	"box.local/launcher"
)

// ownProgram leads to the very program that runs now, also when another version has taken its
// place.
const ownProgram = "/proc/self/exe"

// box makes the launcher's command, with the rules and the orders of the box.
func (s *Sandbox) box(run *Process, path string, p Program) error {
	o, err := s.orders(path, p, run.temp)
	if err != nil {
		return err
	}
	exit, socket, err := s.openWayOut(run, &o, p)
	if err != nil {
		return err
	}
	rules, err := o.rules()
	if err != nil {
		return err
	}
	run.files = append(run.files, rules)
	c := s.script(o, p, run.temp)
	run.files = append(run.files, c.files...)
	file, err := c.file()
	if err != nil {
		return err
	}
	run.files = append(run.files, file)
	run.Cmd = exec.Command(ownProgram, append([]string{launcher.Flag, path, p.Path}, p.Args...)...)
	run.Cmd.Args[0] = "parley-box"
	run.Cmd.ExtraFiles = append([]*os.File{rules, file, socket}, c.files...) // as launcher numbers them
	run.Cmd.Dir, run.Cmd.Env = p.Dir, s.environment(p, run.temp, exit)
	own(run.Cmd)
	if s.o.Support.Isolation == Full {
		run.Cmd.Dir = "/" // the launcher goes where the program begins, once that is there
	}
	s.o.Support.isolate(run.Cmd)
	return nil
}

// openWayOut prepares a program's way out and tells its address as the program knows it.
func (s *Sandbox) openWayOut(run *Process, o *orders, p Program) (address string, socket *os.File, err error) {
	o.SharesNetwork = s.o.Support.Isolation == Rules
	switch {
	case p.Exit == nil || o.SharesNetwork && !p.Leaves:
		return "", nil, nil
	case !o.SharesNetwork:
		if socket, err = run.waitForExit(p.Exit); err != nil {
			return "", nil, err
		}
		run.files = append(run.files, socket)
		return fmt.Sprintf("http://127.0.0.1:%d", launcher.ExitPort), socket, nil
	}
	port, password, err := run.openExit(p.Exit)
	if err != nil {
		return "", nil, err
	}
	o.Port = port
	return fmt.Sprintf("http://box:%s@127.0.0.1:%d", password, port), nil, nil
}
