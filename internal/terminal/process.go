package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/charmbracelet/x/xpty"

	"parley/internal/sandbox"
	"parley/protocol/viber"
)

// process is a command on a pseudo-terminal.
type process struct {
	*sandbox.Process
	pty xpty.Pty
	// wire is what is read and written: closing it ends a read or write that waits.
	wire io.ReadWriteCloser
}

// start runs the command, in a box if it has folders for one. Its folder must exist.
func start(box *sandbox.Sandbox, spec Spec, dir string) (*process, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil && errors.Is(err, os.ErrNotExist), err == nil && !info.IsDir():
		return nil, fmt.Errorf("%w: there is no folder %s", ErrSpawn, filepath.Base(dir))
	case err != nil:
		return nil, fmt.Errorf("%w: the folder cannot be opened", ErrSpawn)
	}
	run, err := prepare(box, spec, dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpawn, err)
	}
	pty, err := xpty.NewPty(spec.Size.Cols, spec.Size.Rows)
	if err != nil {
		run.Close()
		return nil, fmt.Errorf("%w: no pseudo-terminal: %w", ErrSpawn, err)
	}
	run.Cmd.Env = append(run.Cmd.Env, "TERM=xterm-256color", "PWD="+dir)
	own(run.Cmd)
	if err := pty.Start(run.Cmd); err != nil {
		_ = pty.Close()
		run.Close()
		return nil, fmt.Errorf("%w: %w", ErrSpawn, err)
	}
	p := &process{Process: run, pty: pty}
	if p.wire, err = handle(pty); err != nil {
		p.kill()
		_ = p.wait()
		_ = pty.Close()
		run.Close()
		return nil, fmt.Errorf("%w: %w", ErrSpawn, err)
	}
	return p, nil
}

// prepare makes the command: of a person with all their rights, of an agent in a box.
func prepare(box *sandbox.Sandbox, spec Spec, dir string) (*sandbox.Process, error) {
	path, args := shell(spec.Command)
	if spec.Box != nil {
		return box.Prepare(sandbox.Program{Path: path, Args: args, Dir: dir, Folders: spec.Box, Exit: spec.Exit})
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, sandbox.WithoutSecrets(os.Environ())
	return sandbox.Outside(cmd), nil
}

// close gives the pseudo-terminal back.
func (p *process) close() {
	_ = p.wire.Close()
	_ = p.pty.Close()
	p.Close()
}

func (p *process) resize(s viber.Size) error { return p.pty.Resize(s.Cols, s.Rows) }

// chunk is how much is read at once.
const chunk = 32 << 10

// read gives output until there will be no more. What it gives is the receiver's.
func (p *process) read(out chan<- []byte) {
	defer close(out)
	buf := make([]byte, chunk)
	for {
		n, err := p.wire.Read(buf)
		if n > 0 {
			out <- append([]byte(nil), buf[:n]...)
		}
		if err != nil {
			return
		}
	}
}

// write types until there is nothing more to type. What a process that has
// ended did not read is lost, as on any terminal.
func (p *process) write(in <-chan []byte) {
	for data := range in {
		_, _ = p.wire.Write(data)
	}
}
