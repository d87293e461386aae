package sandbox

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"parley.internal/internal/ids"
)

// Program is what to run.
type Program struct {
	// Path is the program, looked up on the PATH; Args are without its name.
	Path string
	Args []string
	Dir  string
	// Folders are those it may write. The first is its home.
	Folders []string
	// Read are folders and files that it may read besides.
	Read []string
	// Shared and SharedRead are folders of other people that it was let use, to change and to
	// read. They are taken as they are written: one that has become a link is no folder.
	Shared, SharedRead []string
	// Exit is its way to the network; nil has none. It is closed with the process.
	Exit Exit
	// Leaves tells that somebody named hosts for it. Where a box cannot have a network of its
	// own, only such a program has a way out.
	Leaves bool
	// Env is added to what every program gets.
	Env map[string]string
}

// Process is a program that is about to run, or runs.
type Process struct {
	// Cmd has not been started. Its input, output and process attributes may be set.
	Cmd   *exec.Cmd
	temp  string
	files []*os.File // for the launcher
	mark  string     // by which what it started is found
	// contained tells that the kernel ends whatever it started with its first process.
	contained bool

	exit   Exit
	handed net.Conn // by which the launcher hands the way out over
	served chan struct{}
}

const tempPrefix = "parley-box-"

// Prepare makes a program's box, or says why it cannot have one.
func (s *Sandbox) Prepare(p Program) (*Process, error) {
	path, err := exec.LookPath(p.Path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if s.o.Temp != "" {
		if err := os.MkdirAll(s.o.Temp, 0o700); err != nil {
			return nil, err
		}
	}
	temp, err := os.MkdirTemp(s.o.Temp, tempPrefix)
	if err != nil {
		return nil, err
	}
	run := &Process{temp: temp, exit: p.Exit, mark: markName + "=" + ids.New(), contained: s.Boxed() && s.o.Support.Isolation == Full}
	if err := s.command(run, path, p); err != nil {
		run.Close()
		return nil, err
	}
	if !run.contained {
		run.Cmd.Env = append(run.Cmd.Env, run.mark)
	}
	return run, nil
}

// markName is the variable by which the processes of a program are found where nothing
// holds them together. It is no secret.
const markName = "AGENT_PROGRAM"

// command makes what is started: the program, in its box where there are boxes.
func (s *Sandbox) command(run *Process, path string, p Program) (err error) {
	if s.Boxed() {
		return s.box(run, path, p)
	}
	if run.Cmd, err = s.unboxed(path, p.Args); err == nil {
		run.Cmd.Dir, run.Cmd.Env = p.Dir, s.environment(p, run.temp, "")
		own(run.Cmd)
	}
	return err
}

// orders say what is inside a box.
type orders struct {
	Read, Write []string
	// Exact are those of them that no link may lead to.
	Exact []string
	// SharesNetwork tells that the box has the machine's network, of which Port alone may be
	// connected to.
	SharesNetwork bool
	Port          int
}

func (s *Sandbox) orders(path string, p Program, temp string) (o orders, err error) {
	if o.Read, err = s.readable(path); err != nil {
		return o, err
	}
	for _, at := range p.Read {
		o.Read = append(o.Read, s.without(Resolved(at))...)
	}
	o.Write = []string{temp}
	for _, at := range slices.Concat(p.Shared, p.SharedRead) {
		if Resolved(at) != at {
			return o, fmt.Errorf("%w: %s is not the folder that was shared", ErrFolder, at)
		}
	}
	o.Exact = slices.Concat(p.Shared, p.SharedRead)
	for _, at := range p.SharedRead {
		o.Read = append(o.Read, s.without(at)...)
	}
	for _, dir := range slices.Concat(p.Folders, p.Shared, s.o.Write) {
		paths, err := s.writable(dir)
		if err != nil {
			return o, err
		}
		o.Write = append(o.Write, paths...)
	}
	return o, nil
}

// Outside is a program that a person runs for themselves, with all their rights.
func Outside(cmd *exec.Cmd) *Process { return &Process{Cmd: cmd} }

// Stop asks the program and all it started to end. Nothing happens if they have.
func (p *Process) Stop() {
	if p.Cmd.Process != nil {
		p.stop(p.Cmd.Process.Pid)
	}
}

// Kill ends the program and all it started, also what made itself a session of its own.
// All of it but the program's first process, which the caller waits for, is dead then.
func (p *Process) Kill() {
	if p.Cmd.Process != nil {
		p.kill(p.Cmd.Process.Pid)
	}
}

// Close shuts the way out and removes the temporary folder. The program has ended by then.
func (p *Process) Close() {
	p.closeExit()
	for _, f := range p.files {
		_ = f.Close()
	}
	if p.temp != "" {
		removeAll(p.temp)
	}
}

// removeAll removes a folder, also one whose insides were made unwritable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // what is left has nothing of ours in it
}
