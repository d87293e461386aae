package foreign

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"parley.internal/internal/brain"
	"parley.internal/internal/sandbox"
)

// Errors of the registry.
var (
	ErrUnknown = errors.New("no such foreign agent")
	ErrEntry   = errors.New("the foreign agent's file has an error")
)

// Entry is how a foreign agent is started: NAME.yaml in the folder, or one of the built-in ones.
type Entry struct {
	Name        string `yaml:"-"`
	Description string `yaml:"description"`
	// Command is looked up on the PATH.
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env"`
	// Install says how to get the command, for whoever has not got it.
	Install string `yaml:"install"`
	// Hosts may be connected to without a question.
	Hosts []string `yaml:"hosts"`
	// Senders may use it, as in an agent's file; empty is everybody.
	Senders []string `yaml:"senders"`
	// ReportsCost tells that the agent says what it costs, so that a budget in dollars holds.
	ReportsCost bool `yaml:"reports_cost"`
}

// maxEntry bounds a file.
const maxEntry = 64 << 10

//go:embed builtin.yaml
var builtinFile []byte

// builtins are the entries that need no file.
func builtins() (map[string]Entry, error) {
	var all map[string]Entry
	return all, decode(builtinFile, &all)
}

func decode(raw []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	return dec.Decode(into)
}

// registry finds entries. Files are read each time: whoever changes one need not restart anything.
type registry struct{ dir string }

// get finds one entry. A file wins over a built-in entry of its name.
func (r registry) get(name string) (Entry, error) {
	if !brain.ValidAgentName(name) {
		return Entry{}, fmt.Errorf("%w: %.80q", ErrUnknown, name)
	}
	all, err := builtins()
	if err != nil {
		return Entry{}, err
	}
	e, known := all[name]
	raw, err := readFile(filepath.Join(r.dir, name+".yaml"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !known:
		return Entry{}, fmt.Errorf("%w: %q", ErrUnknown, name)
	case err == nil:
		e = Entry{}
		err = decode(raw, &e)
	case known && errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil && e.Command == "" {
		err = errors.New("command is missing")
	}
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %s.yaml: %w", ErrEntry, name, err)
	}
	e.Name = name
	return e, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxEntry {
		return nil, fmt.Errorf("it is no file of at most %d bytes", maxEntry)
	}
	return os.ReadFile(path)
}

// secrets are the values of the environment that are secret by their names.
func (e Entry) secrets() (values []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if len(sandbox.WithoutSecrets([]string{name + "="})) == 0 {
			values = append(values, e.Env[name])
		}
	}
	return values
}
