package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// seatbeltProgram is the system's way to start a program with rules.
const seatbeltProgram = "/usr/bin/sandbox-exec"

// Probe finds out what boxes this system can make, by making one.
func Probe(string) Support {
	if _, err := os.Stat(seatbeltProgram); err != nil {
		return Support{Why: "this Mac has no " + seatbeltProgram}
	}
	s := Support{Kind: "Seatbelt", Version: 1, Isolation: Network, Less: "Macs have none"}
	if err := s.try(); err != nil {
		return Support{Why: "Seatbelt made no box: " + err.Error()}
	}
	return s
}

// try runs something ordinary in a box.
func (s Support) try() error {
	temp, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return err
	}
	run := &Process{temp: temp}
	defer run.Close()
	p := Program{Path: "/bin/sh", Args: []string{"-c", "ls /usr >/dev/null && echo made > " + temp + "/x && cat " + temp + "/x"}, Dir: temp}
	if err := (&Sandbox{o: Options{Support: s}}).box(run, p.Path, p); err != nil {
		return err
	}
	out, err := run.Cmd.CombinedOutput()
	if err == nil && string(out) != "made\n" {
		err = errors.New("unexpected output")
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// box makes the command that starts a program with the rules of its box.
func (s *Sandbox) box(run *Process, path string, p Program) error {
	run.temp = Resolved(run.temp) // rules are about real paths
	o, err := s.orders(path, p, run.temp)
	if err != nil {
		return err
	}
	exit := ""
	if p.Exit != nil {
		port, password, err := run.openExit(p.Exit)
		if err != nil {
			return err
		}
		o.Port, exit = port, fmt.Sprintf("http://box:%s@127.0.0.1:%d", password, port)
	}
	args := append([]string{"-p", o.seatbelt(), "/bin/sh", "-c", s.o.Limits.limitsInShell(), path}, p.Args...)
	run.Cmd = exec.Command(seatbeltProgram, args...)
	run.Cmd.Dir, run.Cmd.Env = p.Dir, s.environment(p, run.temp, exit)
	own(run.Cmd)
	return nil
}
