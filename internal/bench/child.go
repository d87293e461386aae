package bench

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
)

// child is this program in a role, in a process of its own. It is told what to
// do line by line and answers each line with one of JSON.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	// hello is what it said first.
	hello hello
}

// hello is a child's first line.
type hello struct {
	Addr string `json:"addr,omitempty"`
	// Cert is what to trust, for servers with TLS.
	Cert  string `json:"cert,omitempty"`
	Error string `json:"error,omitempty"`
}

// usage is a child's answer to "usage".
type usage struct {
	// RSS is what the process takes of the machine's memory; 0 is not measured.
	RSS int64         `json:"rss"`
	CPU time.Duration `json:"cpu"`
}

// start runs a role and waits until it serves.
func (e *Env) start(ctx context.Context, args ...string) (*child, error) {
	if len(e.child) == 0 {
		return nil, errors.New("this program cannot start itself again")
	}
	line := append(append([]string{}, e.child...), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	// Whatever name this program was called by, its child has too.
	cmd.Args[0] = os.Args[0]
	cmd.Stderr = e.remark
	if e.profile != "" {
		cmd.Env = append(os.Environ(), profileEnv+"="+e.profile)
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
	c := &child{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if err := c.read(&c.hello); err != nil {
		c.stop()
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	if c.hello.Error != "" {
		c.stop()
		return nil, errors.New(c.hello.Error)
	}
	return c, nil
}

func (c *child) read(v any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// tell sends a line without waiting for an answer.
func (c *child) tell(line string) error {
	_, err := io.WriteString(c.in, line+"\n")
	return err
}

// usage asks for memory and CPU time; settled has it collect garbage first.
func (c *child) usage(settled bool) (u usage, err error) {
	word := "usage"
	if settled {
		word = "settle"
	}
	if err := c.tell(word); err != nil {
		return u, err
	}
	return u, c.read(&u)
}

// stop ends the child by closing its input, and waits.
func (c *child) stop() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
