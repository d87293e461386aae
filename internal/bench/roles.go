package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// server is what a role runs.
type server struct {
	hello hello
	// on handles a line the table below does not know.
	on func(line string)
	// answer, where there is one, does what such a line says and tells how it went.
	answer func(line string) any
	// close ends it.
	close func()
}

// roles are the programs rows start beside themselves.
var roles = map[string]func(ctx context.Context, args []string) (*server, error){
	"tcp-echo": tcpEcho,
	"ws-echo":  wsEcho,
	"tcp-fan":  tcpFan,
	"ws-fan":   wsFan,
	"hub":      startHub,
	"room":     roomHub,
	"board":    boardHub,
	"machines": machineHub,

	"endpoints": endpoints,
}

// RunRole is the other life of this program: it serves in a role until in ends.
func RunRole(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 || roles[args[0]] == nil {
		return fmt.Errorf("this is only for 'parley bench' itself: no role %q", strings.Join(args, " "))
	}
	openFiles()
	answers := json.NewEncoder(out)
	s, err := roles[args[0]](ctx, args[1:])
	if err != nil {
		return answers.Encode(hello{Error: err.Error()})
	}
	defer s.close()
	if err := answers.Encode(s.hello); err != nil {
		return err
	}
	p := &profile{dir: os.Getenv(profileEnv), name: args[0]}
	defer p.end()
	return s.obey(in, answers, p)
}

// obey does what it is told, line by line. What it used is asked before and after
// the work, so that is when a profile begins.
func (s *server) obey(in io.Reader, answers *json.Encoder, p *profile) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch line := lines.Text(); line {
		case "settle":
			// What the runtime does by itself within minutes.
			debug.FreeOSMemory()
			fallthrough
		case "usage":
			if err := answers.Encode(usage{RSS: residentMemory(), CPU: cpuTime()}); err != nil {
				return err
			}
			if err := p.begin(); err != nil {
				return err
			}
		default:
			if s.answer != nil {
				if err := answers.Encode(s.answer(line)); err != nil {
					return err
				}
			}
			if s.on != nil {
				s.on(line)
			}
		}
	}
	return lines.Err()
}
