// Package pty runs one program on a pseudo-terminal, a person's own or an agent's in its
// box. Package terminal uses it in the hub, and package keeper in a process of its own.
package pty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/charmbracelet/x/xpty"

	"parley.internal/internal/sandbox"
	"parley.internal/protocol/viber"
)

// ErrSpawn says that the process could not be started.
var ErrSpawn = errors.New("the process could not be started")

// Program says what to run.
type Program struct {
	// Command goes through the system's shell; empty is the user's own shell.
	Command string
	Dir     string
	Size    viber.Size
	// Box are the folders that an agent's program may write; a person's has none.
	Box []string
	// Exit is its way out of the box. It is closed with the process.
	Exit sandbox.Exit
}

// Process is a program on a pseudo-terminal.
type Process struct {
	run   *sandbox.Process
	agent bool
	pty   xpty.Pty
	// wire is what is read and written: closing it ends a read or write that waits.
	wire io.ReadWriteCloser
}

// Start runs the program, in a box if it has folders for one. Its folder must exist.
func Start(box *sandbox.Sandbox, spec Program) (*Process, error) {
	dir := spec.Dir
	info, err := os.Stat(dir)
	switch {
	case err != nil && errors.Is(err, os.ErrNotExist), err == nil && !info.IsDir():
		return nil, fmt.Errorf("%w: there is no folder %s", ErrSpawn, filepath.Base(dir))
	case err != nil:
		return nil, fmt.Errorf("%w: the folder cannot be opened", ErrSpawn)
	}
	run, err := prepare(box, spec)
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
	p := &Process{run: run, agent: spec.Box != nil, pty: pty}
	if p.wire, err = handle(pty); err != nil {
		p.Kill()
		_ = p.Wait()
		_ = pty.Close()
		run.Close()
		return nil, fmt.Errorf("%w: %w", ErrSpawn, err)
	}
	return p, nil
}

// prepare makes the command: of a person with all their rights, of an agent in a box.
func prepare(box *sandbox.Sandbox, spec Program) (*sandbox.Process, error) {
	path, args := Shell(spec.Command)
	if spec.Box != nil {
		return box.Prepare(sandbox.Program{Path: path, Args: args, Dir: spec.Dir, Folders: spec.Box, Exit: spec.Exit})
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = spec.Dir, sandbox.WithoutSecrets(os.Environ())
	return sandbox.Outside(cmd), nil
}

// Close gives the pseudo-terminal back. Nothing of an agent's program is left then.
func (p *Process) Close() {
	_ = p.wire.Close()
	_ = p.pty.Close()
	if p.agent {
		p.Kill()
	}
	p.run.Close()
}

// Kill ends everything the terminal's session holds, and of an agent all it started.
func (p *Process) Kill() { p.run.Kill() }

// Resize tells the program the size of its window.
func (p *Process) Resize(s viber.Size) error { return p.pty.Resize(s.Cols, s.Rows) }

// chunk is how much is read at once.
const chunk = 32 << 10

// Read gives output until there will be no more. What it gives is the receiver's.
func (p *Process) Read(out chan<- []byte) {
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

// Write types until there is nothing more to type.
func (p *Process) Write(in <-chan []byte) {
	for data := range in {
		p.Type(data)
	}
}

// Type types. What a process that has ended did not read is lost, as on any terminal.
func (p *Process) Type(data []byte) { _, _ = p.wire.Write(data) }
