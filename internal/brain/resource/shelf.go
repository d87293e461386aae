package resource

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"parley.internal/internal/brain/mcpclient"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/durable"
)

// What can be wrong with a request.
var (
	ErrNoMCP   = errors.New("no such MCP server")
	ErrNoSkill = errors.New("no such skill")
	// ErrConfigured says that a server's name is taken by one of the settings.
	ErrConfigured = errors.New("this MCP server is configured in the hub's settings")
)

const (
	fileName   = "resources.yaml"
	skillsName = "skills"
	// fresh is how long a look at the skills folder holds.
	fresh = 2 * time.Second
)

// Options is what a shelf is made from.
type Options struct {
	// Dir is the data folder: resources.yaml and skills/ are in it.
	Dir string
	// Pool runs the servers.
	Pool *mcpclient.Pool
	// Configured are the servers of the hub's settings.
	Configured []mcpclient.Server
	Log        *slog.Logger
}

// Shelf is the MCP servers and skills of a hub. It may be used from several
// goroutines.
type Shelf struct {
	o Options

	mu     sync.Mutex
	more   func() []skillfile.Skill
	state  state
	skills []skillfile.Skill
	looked time.Time
}

// state is the file.
type state struct {
	MCPs      []storedMCP `yaml:"mcps,omitempty"`
	MCPsOff   []string    `yaml:"mcps_off,omitempty"`
	SkillsOff []string    `yaml:"skills_off,omitempty"`
}

// Open reads what was kept and gives the servers to the pool.
func Open(o Options) (*Shelf, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Shelf{o: o}
	raw, err := os.ReadFile(s.path())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := yaml.Unmarshal(raw, &s.state); err != nil {
		return nil, fmt.Errorf("%s: %w", fileName, err)
	}
	if err := o.Pool.Set(s.servers(s.state)); err != nil {
		return nil, err
	}
	_, err = s.look(true)
	return s, err
}

func (s *Shelf) path() string { return filepath.Join(s.o.Dir, fileName) }

// Reload reads the skills folder again.
func (s *Shelf) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.look(true)
	return err
}

// Lend adds skills that are in no folder: those other agents sent and a person
// approved. A name that the folder has stays the folder's.
func (s *Shelf) Lend(more func() []skillfile.Skill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = more
}

// commit makes a new state durable, then true. The lock is held.
func (s *Shelf) commit(next state) error {
	raw, err := yaml.Marshal(next)
	if err != nil {
		return err
	}
	if err := durable.Write(s.path(), raw, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", fileName, err)
	}
	s.state = next
	return nil
}

// switched is a list of what is off with one name put in or taken out.
func switched(off []string, name string, on bool) []string {
	next := slices.DeleteFunc(slices.Clone(off), func(s string) bool { return s == name })
	if !on {
		next = append(next, name)
	}
	slices.Sort(next)
	return next
}
