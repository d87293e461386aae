package role

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"parley.internal/internal/bench/system"
)

// Child is this program in a role, in a process of its own. It is told what to
// do line by line and answers each line with one of JSON.
type Child struct {
	Cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	// Hello is what it said first.
	Hello Hello
}

// Hello is a child's first line.
type Hello struct {
	Addr string `json:"addr,omitempty"`
	// Cert is what to trust, for servers with TLS.
	Cert  string `json:"cert,omitempty"`
	Error string `json:"error,omitempty"`
}

// Usage is a child's answer to "usage".
type Usage struct {
	// RSS is what the process takes of the machine's memory; 0 is not measured.
	RSS int64         `json:"rss"`
	CPU time.Duration `json:"cpu"`
}

// Starter is how this program starts itself in a role.
type Starter struct {
	// Command is the command line; the role and what it needs follow.
	Command []string
	// Profile is where a child leaves its CPU profile; empty is nowhere.
	Profile string
	// Remarks gets what it says on its standard error.
	Remarks io.Writer
}

// Start runs a role and waits until it serves.
func (e Starter) Start(ctx context.Context, args ...string) (*Child, error) {
	if len(e.Command) == 0 {
		return nil, errors.New("this program cannot start itself again")
	}
	line := append(append([]string{}, e.Command...), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	// Whatever name this program was called by, its child has too.
	cmd.Args[0] = os.Args[0]
	cmd.Stderr = e.Remarks
	if e.Profile != "" {
		cmd.Env = append(os.Environ(), system.ProfileEnv+"="+e.Profile)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Child{Cmd: cmd, in: in, out: bufio.NewReader(out)}
	if err := c.Read(&c.Hello); err != nil {
		c.Stop()
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	if c.Hello.Error != "" {
		c.Stop()
		return nil, errors.New(c.Hello.Error)
	}
	return c, nil
}

// Read waits for one answer.
func (c *Child) Read(v any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// Tell sends a line without waiting for an answer.
func (c *Child) Tell(line string) error {
	_, err := io.WriteString(c.in, line+"\n")
	return err
}

// Usage asks for memory and CPU time; settled has it collect garbage first.
func (c *Child) Usage(settled bool) (u Usage, err error) {
	word := "usage"
	if settled {
		word = "settle"
	}
	if err := c.Tell(word); err != nil {
		return u, err
	}
	return u, c.Read(&u)
}

// Stop ends the child by closing its input, and waits.
func (c *Child) Stop() {
	_ = c.in.Close()
	_ = c.Cmd.Wait()
}
