package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is what to run.
type Program struct {
	// Path is the program, looked up on the PATH; Args are without its name.
	Path string
	Args []string
	Dir  string
	// Folders are those it may write. The first is its home.
	Folders []string
	// Env is added to what every program gets.
	Env map[string]string
}

// Process is a program that is about to run, or runs.
type Process struct {
	// Cmd has not been started. Its input, output and process attributes may be set.
	Cmd  *exec.Cmd
	temp string
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
	run := &Process{temp: temp}
	if run.Cmd, err = s.command(path, p, temp); err != nil {
		run.Close()
		return nil, err
	}
	run.Cmd.Dir, run.Cmd.Env = p.Dir, s.environment(p, temp)
	own(run.Cmd)
	return run, nil
}

// command is the launcher with its orders, or the program itself where there is no box.
func (s *Sandbox) command(path string, p Program, temp string) (*exec.Cmd, error) {
	if !s.Boxed() {
		return exec.Command(path, p.Args...), nil
	}
	o := orders{Path: path, Write: []string{temp}}
	var err error
	if o.Read, err = s.readable(path); err != nil {
		return nil, err
	}
	for _, dir := range append(p.Folders[:len(p.Folders):len(p.Folders)], s.o.Write...) {
		paths, err := s.writable(dir)
		if err != nil {
			return nil, err
		}
		o.Write = append(o.Write, paths...)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return launcher(append([]string{launchFlag, string(text), p.Path}, p.Args...)), nil
}

// Outside is a program that a person runs for themselves, with all their rights.
func Outside(cmd *exec.Cmd) *Process { return &Process{Cmd: cmd} }

// Stop asks the program and all it started to end. Nothing happens if they have.
func (p *Process) Stop() { stop(p.Cmd) }

// Kill ends the program and all it started.
func (p *Process) Kill() { kill(p.Cmd) }

// Close removes the temporary folder. The program has ended by then.
func (p *Process) Close() {
	if p.temp != "" {
		removeAll(p.temp)
	}
}

// removeAll removes a folder, also one whose insides were made unwritable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // what is left has nothing of ours in it
}

// orders are what the launcher is told.
type orders struct {
	Path  string   `json:"path"`
	Read  []string `json:"read"`
	Write []string `json:"write"`
}

// launchFlag marks the launcher's arguments. A program that does not call Launch takes
// it for an unknown flag and ends, rather than doing what it usually does.
const launchFlag = "-parley-box"

func (o orders) check() error {
	if !filepath.IsAbs(o.Path) || len(o.Write) == 0 {
		return errors.New("these are no orders for a box")
	}
	return nil
}
