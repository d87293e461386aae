package role

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"parley.internal/internal/bench/system"
)

// Server is what a role runs.
type Server struct {
	Hello Hello
	// On handles a line the table below does not know.
	On func(line string)
	// Answer, where there is one, does what such a line says and tells how it went.
	Answer func(line string) any
	// Close ends it.
	Close func()
}

// Roles are the programs that can be started, by name.
type Roles map[string]func(ctx context.Context, args []string) (*Server, error)

// Run is the other life of this program: it serves in a role until in ends.
func (roles Roles) Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 || roles[args[0]] == nil {
		return fmt.Errorf("this is only for 'parley bench' itself: no role %q", strings.Join(args, " "))
	}
	system.OpenFiles()
	answers := json.NewEncoder(out)
	s, err := roles[args[0]](ctx, args[1:])
	if err != nil {
		return answers.Encode(Hello{Error: err.Error()})
	}
	defer s.Close()
	if err := answers.Encode(s.Hello); err != nil {
		return err
	}
	p := &system.Profile{Dir: os.Getenv(system.ProfileEnv), Name: args[0]}
	defer p.End()
	return s.obey(in, answers, p)
}

// obey does what it is told, line by line. What it used is asked before and after
// the work, so that is when a profile begins.
func (s *Server) obey(in io.Reader, answers *json.Encoder, p *system.Profile) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch line := lines.Text(); line {
		case "settle":
			// What the runtime does by itself within minutes.
			debug.FreeOSMemory()
			fallthrough
		case "usage":
			if err := answers.Encode(Usage{RSS: system.ResidentMemory(), CPU: system.CPUTime()}); err != nil {
				return err
			}
			if err := p.Begin(); err != nil {
				return err
			}
		default:
			if s.Answer != nil {
				if err := answers.Encode(s.Answer(line)); err != nil {
					return err
				}
			}
			if s.On != nil {
				s.On(line)
			}
		}
	}
	return lines.Err()
}
