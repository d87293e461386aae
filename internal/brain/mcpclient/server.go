package mcpclient

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"parley.internal/internal/sandbox"
)

// Errors of the pool.
var (
	ErrClosed  = errors.New("the MCP clients are shut down")
	ErrServers = errors.New("bad MCP server")
	errRemoved = errors.New("this MCP server is no longer configured")
	errStopped = errors.New("the MCP server has stopped")
	// errStarting says what is awaited, and that nobody waits for it now.
	errStarting = errors.New("it is being started; its tools are there in a later turn")
)

// Server is one configured MCP server: a Command with Args and Env, or a URL.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	// Hosts are those that a Command may connect to.
	Hosts  []string
	URL    string
	Bearer string
	// Trusted servers are believed when they call a tool read-only.
	Trusted bool
	// Disabled servers keep their place in the list but offer nothing.
	Disabled bool
}

// Redacted is a copy fit to be shown: values of the environment and the bearer
// token are masked.
func (s Server) Redacted() Server {
	s.Args = slices.Clone(s.Args)
	s.Env = maps.Clone(s.Env)
	for k := range s.Env {
		s.Env[k] = "***"
	}
	if s.Bearer != "" {
		s.Bearer = "***"
	}
	if u, err := url.Parse(s.URL); err == nil && u.User != nil {
		s.URL = u.Redacted()
	}
	return s
}

// secrets is what of it must not be shown.
func (s Server) secrets() (values []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if len(sandbox.WithoutSecrets([]string{name + "="})) == 0 {
			values = append(values, s.Env[name])
		}
	}
	if u, err := url.Parse(s.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		values = append(values, password)
	}
	return append(values, s.Bearer)
}

// String names the server and nothing else.
func (s Server) String() string { return "mcp server " + s.Name }

// GoString keeps %#v from showing secrets.
func (s Server) GoString() string { return s.String() }

// LogValue keeps them out of logs.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Name) }

func (s Server) check() error {
	switch {
	case s.Name == "" || len(s.Name) > 64:
		return fmt.Errorf("%w: a name of 1 to 64 bytes is needed", ErrServers)
	case (s.Command == "") == (s.URL == ""):
		return fmt.Errorf("%w: %s needs either a command or a URL", ErrServers, s.Name)
	}
	if s.URL != "" {
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%w: %s: the URL must be absolute http or https", ErrServers, s.Name)
		}
	}
	return nil
}

func (s Server) equal(o Server) bool { return reflect.DeepEqual(s, o) }

// scrub blots out secrets a program may have repeated in its own words.
func (s Server) scrub(text string) string {
	for _, v := range append(slices.Collect(maps.Values(s.Env)), s.Bearer) {
		if len(v) >= 4 { // shorter ones are no secrets, and would ruin the text
			text = strings.ReplaceAll(text, v, "***")
		}
	}
	return text
}

// State says how a server is doing.
type State string

// The states.
const (
	Connected    State = "connected"
	Disconnected State = "disconnected"
	Failed       State = "failed"
)

// Status is one server's state over all agents.
type Status struct {
	Name  string
	State State
	// Error is why it failed.
	Error string
	// Tools is how many it offers, as far as known.
	Tools int
}
