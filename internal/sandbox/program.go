package sandbox

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"box.local/launcher"
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
	Cmd   *exec.Cmd
	temp  string
	rules *os.File
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
	if err := s.command(run, path, p); err != nil {
		run.Close()
		return nil, err
	}
	run.Cmd.Dir, run.Cmd.Env = p.Dir, s.environment(p, temp)
	own(run.Cmd)
	return run, nil
}

// command is the launcher with the rules of the box, or the program itself where there
// is none.
func (s *Sandbox) command(run *Process, path string, p Program) (err error) {
	if !s.Boxed() {
		run.Cmd = exec.Command(path, p.Args...)
		return nil
	}
	o, err := s.orders(path, p.Folders, run.temp)
	if err != nil {
		return err
	}
	if run.rules, err = o.rules(); err != nil {
		return err
	}
	// This path leads to the very program that runs now, also when another version has
	// taken its place.
	run.Cmd = exec.Command("/proc/self/exe", append([]string{launcher.Flag, path, p.Path}, p.Args...)...)
	run.Cmd.Args[0] = "parley-box"
	run.Cmd.ExtraFiles = []*os.File{run.rules} // the first of them is launcher.Rules
	return nil
}

// orders say what is inside a box.
type orders struct {
	Read, Write []string
}

func (s *Sandbox) orders(path string, folders []string, temp string) (o orders, err error) {
	if o.Read, err = s.readable(path); err != nil {
		return o, err
	}
	o.Write = []string{temp}
	for _, dir := range slices.Concat(folders, s.o.Write) {
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
func (p *Process) Stop() { stop(p.Cmd) }

// Kill ends the program and all it started.
func (p *Process) Kill() { kill(p.Cmd) }

// Close removes the temporary folder. The program has ended by then.
func (p *Process) Close() {
	if p.rules != nil {
		_ = p.rules.Close()
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
