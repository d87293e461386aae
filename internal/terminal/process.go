package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/charmbracelet/x/xpty"

	"parley/internal/brain/proc"
	"parley/protocol/viber"
)

// process is a command on a pseudo-terminal.
type process struct {
	pty xpty.Pty
	// wire is what is read and written: closing it ends a read or write that waits.
	wire io.ReadWriteCloser
	cmd  *exec.Cmd
}

// start runs the command. Its folder must exist.
func start(command, dir string, size viber.Size) (*process, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil && errors.Is(err, os.ErrNotExist), err == nil && !info.IsDir():
		return nil, fmt.Errorf("%w: there is no folder %s", ErrSpawn, filepath.Base(dir))
	case err != nil:
		return nil, fmt.Errorf("%w: the folder cannot be opened", ErrSpawn)
	}
	pty, err := xpty.NewPty(size.Cols, size.Rows)
	if err != nil {
		return nil, fmt.Errorf("%w: no pseudo-terminal: %w", ErrSpawn, err)
	}
	cmd := shell(command)
	cmd.Dir = dir
	cmd.Env = append(proc.CleanEnv(os.Environ()), "TERM=xterm-256color", "PWD="+dir)
	own(cmd)
	if err := pty.Start(cmd); err != nil {
		_ = pty.Close()
		return nil, fmt.Errorf("%w: %w", ErrSpawn, err)
	}
	p := &process{pty: pty, cmd: cmd}
	if p.wire, err = handle(pty); err != nil {
		p.kill()
		_ = p.wait()
		_ = pty.Close()
		return nil, fmt.Errorf("%w: %w", ErrSpawn, err)
	}
	return p, nil
}

// close gives the pseudo-terminal back.
func (p *process) close() {
	_ = p.wire.Close()
	_ = p.pty.Close()
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
