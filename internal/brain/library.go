package brain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley.internal/internal/identity"
)

// Library is the agents of a hub: one Markdown file each, in the hub's folder or,
// where hubs share a store, in there. Reading never waits for a disk; a changed
// file counts for the next run. A file with a mistake keeps its
// last good version and shows the mistake.
type Library struct {
	dir   string
	place place
	// shared is nil when the agents live in this hub's folder alone.
	shared *sharing
	log    *slog.Logger
	// require is what an agent must fulfil besides to be saved; nil is nothing.
	require func(*Agent) error
	// remains says whether an agent that had this name left something; nil knows of nothing.
	remains func(name string) bool

	// write serialises changes of the place; mu guards what is read.
	write     sync.Mutex
	kept      map[string]*Entry // as the place has them
	mu        sync.RWMutex
	entries   map[string]*Entry
	listeners map[int]func()
	nextID    int
}

// Entry is one agent of a library.
type Entry struct {
	Name string
	// Agent is the last good version, nil if there never was one.
	Agent *Agent
	// Err is what is wrong with the file now, nil if it is good.
	Err error

	file []byte
}

// OpenLibrary reads the agents in a folder, which is made if it is not there.
func OpenLibrary(dir string, log *slog.Logger) (*Library, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := newLibrary(dir, folder(dir), log)
	return l, l.Reload()
}

func newLibrary(dir string, where place, log *slog.Logger) *Library {
	return &Library{dir: dir, place: where, log: log, entries: map[string]*Entry{}, listeners: map[int]func(){}}
}

// Require refuses to save agents that do not pass a check, and tells of those there
// are. It is said before anybody uses the library.
func (l *Library) Require(check func(*Agent) error) {
	l.require = check
	for _, e := range l.List() {
		if e.Agent == nil {
			continue
		}
		if err := check(e.Agent); err != nil {
			l.log.Warn("an agent cannot run", "agent", e.Name, "error", err)
		}
	}
}

// Get finds an agent that can run: its last good version. The error is
// [ErrNoAgent] or, when the file never was good, [ErrBrokenAgent].
func (l *Library) Get(name string) (*Agent, error) {
	l.mu.RLock()
	e := l.entries[name]
	l.mu.RUnlock()
	switch {
	case e == nil:
		return nil, fmt.Errorf("%w: %q", ErrNoAgent, name)
	case e.Agent == nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrBrokenAgent, name, e.Err)
	}
	return e.Agent, nil
}

// Entry finds an agent whatever its state.
func (l *Library) Entry(name string) (Entry, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if e := l.entries[name]; e != nil {
		return *e, nil
	}
	return Entry{}, fmt.Errorf("%w: %q", ErrNoAgent, name)
}

// List is all agents by name.
func (l *Library) List() []Entry {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]Entry, 0, len(l.entries))
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		out = append(out, *l.entries[name])
	}
	return out
}

// Subscribe calls fn after every change, until cancel is called. fn must be quick
// and must not change the library.
func (l *Library) Subscribe(fn func()) (cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.nextID
	l.nextID++
	l.listeners[id] = fn
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.listeners, id)
	}
}

// Reload reads the folder, and the store if the agents live there, again.
func (l *Library) Reload() error {
	l.write.Lock()
	defer l.write.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	if l.shared != nil {
		if err := l.shared.takeOver(ctx); err != nil {
			return fmt.Errorf("taking over agents: %w", err)
		}
	}
	return l.reload(ctx)
}

func (l *Library) reload(ctx context.Context) error {
	files, err := l.place.all(ctx)
	if err != nil {
		return fmt.Errorf("reading agents: %w", err)
	}
	old := l.kept
	next := make(map[string]*Entry, len(files))
	changed := len(files) != len(old)
	for name, f := range files {
		was := old[name]
		if was != nil && f.err == nil && was.file != nil && bytes.Equal(was.file, f.text) {
			next[name] = was
			continue
		}
		next[name] = l.read(name, f, was)
		changed = true
	}
	l.kept = next
	if l.shared != nil {
		changed = l.shared.news || changed
		next = l.shared.withRefused(next)
	}
	if changed {
		l.publish(next)
	}
	return nil
}

// read makes an entry of a file; a bad one keeps what was good before.
func (l *Library) read(name string, f agentFile, was *Entry) *Entry {
	e := &Entry{Name: name, file: f.text, Err: f.err}
	if e.Err == nil {
		e.Agent, e.Err = ParseAgent(name, f.text)
	}
	if e.Err != nil {
		l.log.Warn("agent file has an error", "agent", name, "error", e.Err)
		if was != nil {
			e.Agent = was.Agent
		}
	}
	return e
}

func (l *Library) publish(next map[string]*Entry) {
	l.mu.Lock()
	l.entries = next
	tell := slices.Collect(maps.Values(l.listeners))
	l.mu.Unlock()
	for _, fn := range tell {
		fn()
	}
}

// agentFile is a file as it was read, or why it could not be.
type agentFile struct {
	text []byte
	err  error
}

// readFolder reads every NAME.md of a folder. What cannot be an agent's name is
// somebody else's file.
func readFolder(dir string) (map[string]agentFile, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string]agentFile{}
	for _, item := range list {
		name, isMarkdown := strings.CutSuffix(item.Name(), ".md")
		if !isMarkdown || !ValidAgentName(name) {
			continue
		}
		path := filepath.Join(dir, item.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := readLimited(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		files[name] = agentFile{text, err}
	}
	return files, nil
}

// Create writes the file of a new agent from its JSON configuration (the keys of
// the file, and prompt).
func (l *Library) Create(ctx context.Context, who identity.Actor, name string, config []byte) (*Agent, error) {
	return l.change(ctx, who, name, func(old []byte) ([]byte, error) {
		if old != nil {
			return nil, fmt.Errorf("%w: %q", ErrAgentExists, name)
		}
		return newFile(config)
	})
}

// Update changes the keys the JSON configuration gives and keeps the rest of the
// file, comments included.
func (l *Library) Update(ctx context.Context, who identity.Actor, name string, config []byte) (*Agent, error) {
	return l.change(ctx, who, name, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, fmt.Errorf("%w: %q", ErrNoAgent, name)
		}
		return changeFile(old, config)
	})
}

// Put writes a whole file, as an editor would.
func (l *Library) Put(ctx context.Context, who identity.Actor, name string, file []byte) (*Agent, error) {
	return l.change(ctx, who, name, func([]byte) ([]byte, error) { return file, nil })
}

// File is an agent's file as it is.
func (l *Library) File(name string) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if e := l.entries[name]; e != nil {
		return bytes.Clone(e.file), nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoAgent, name)
}

// change writes what edit makes of the file on disk, if it is a good agent.
func (l *Library) change(ctx context.Context, who identity.Actor, name string, edit func(old []byte) ([]byte, error)) (*Agent, error) {
	if !ValidAgentName(name) {
		return nil, fmt.Errorf("%w %q: want a-z, 0-9, _ and -, at most 64, a letter or digit first", ErrAgentName, name)
	}
	l.write.Lock()
	defer l.write.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var agent *Agent
	err := l.place.edit(ctx, name, func(old []byte) ([]byte, error) {
		file, err := edit(old)
		if err == nil {
			agent, err = ParseAgent(name, file)
		}
		if err == nil && l.require != nil {
			err = l.require(agent)
		}
		if err == nil {
			err = l.mayBelong(who, name, old, agent.Owner)
		}
		if err != nil {
			return nil, asConfigError(err)
		}
		return file, nil
	})
	if err != nil {
		return nil, err
	}
	return agent, l.changed(ctx)
}

// changed reads what was written, and tells other hubs.
func (l *Library) changed(ctx context.Context) error {
	if l.shared != nil {
		l.shared.tell()
	}
	return l.reload(ctx)
}

// asConfigError marks mistakes of whoever sent the configuration.
func asConfigError(err error) error {
	if errors.Is(err, ErrAgentExists) || errors.Is(err, ErrNoAgent) || errors.Is(err, identity.ErrForbidden) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrAgentConfig, err)
}

// Delete removes an agent's file.
func (l *Library) Delete(ctx context.Context, who identity.Actor, name string) error {
	l.write.Lock()
	defer l.write.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !ValidAgentName(name) {
		return fmt.Errorf("%w: %q", ErrNoAgent, name)
	}
	err := l.place.edit(ctx, name, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, fmt.Errorf("%w: %q", ErrNoAgent, name)
		}
		return nil, l.mayBelong(who, name, old, "")
	})
	if err != nil {
		return err
	}
	return l.changed(ctx)
}
