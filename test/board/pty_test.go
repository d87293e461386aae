//go:build unix

package board_test

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/xpty"

	"parley.internal/test/hubtest"
)

// ptySession is a program in a terminal of its own, with somebody at the keys.
type ptySession struct {
	t    *testing.T
	pty  *xpty.UnixPty
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	text string
}

func startPTY(t *testing.T, cmd *exec.Cmd, rows, cols int) *ptySession {
	t.Helper()
	pty, err := xpty.NewUnixPty(cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	if err := pty.Start(cmd); err != nil {
		t.Fatal(err)
	}
	_ = pty.Slave().Close()
	s := &ptySession{t: t, pty: pty, cmd: cmd, done: make(chan struct{})}
	go s.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.done
		_ = pty.Close()
	})
	return s
}

func (s *ptySession) read() {
	defer close(s.done)
	buf := make([]byte, 4096)
	for {
		n, err := s.pty.Read(buf)
		s.mu.Lock()
		s.text += string(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *ptySession) expect(words string) {
	s.t.Helper()
	hubtest.Eventually(s.t, "it shows "+words, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.text, words)
	})
}

func (s *ptySession) send(keys string) {
	s.t.Helper()
	if _, err := s.pty.Write([]byte(keys)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *ptySession) wait() int {
	s.t.Helper()
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}
