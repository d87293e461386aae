package brain

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/store"
	"parley.internal/internal/wake"
)

const (
	agentsSubject = "brain.agents"
	// askStore is how often a hub looks for changes it has not heard of.
	askStore = 30 * time.Second
	// storeTime bounds reading the agents again.
	storeTime = 10 * time.Second
)

// sharing is what a library has besides when its agents live in the store.
type sharing struct {
	table table
	bus   bus.Bus
	dir   folder
	// seen is the folder as it was last looked at; nil before the first time.
	seen map[string]agentFile
	// refused are the files that cannot be taken over.
	refused map[string]error
	news    bool // there are others now
}

// OpenSharedLibrary opens the agents that several hubs share: they live in the
// store, and a change on one hub counts on all of them. Files in this hub's
// folder are taken over, at the start those that no hub has taken over before,
// later those that change.
func OpenSharedLibrary(dir string, db *store.DB, b bus.Bus, log *slog.Logger) (*Library, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := newLibrary(dir, table{db}, log)
	l.shared = &sharing{table: table{db}, bus: b, dir: folder(dir)}
	return l, l.Reload()
}

// takeOver brings changed files of the folder into the store. What is wrong
// with one is remembered for people to see.
func (s *sharing) takeOver(ctx context.Context) error {
	files, err := s.dir.all(ctx)
	if err != nil {
		return err
	}
	once := s.seen == nil
	refused, changed := map[string]error{}, false
	for name, f := range files {
		if was, ok := s.seen[name]; ok && f.err == nil && was.err == nil && bytes.Equal(was.text, f.text) {
			if bad := s.refused[name]; bad != nil {
				refused[name] = bad
			}
			continue
		}
		if f.err != nil {
			refused[name] = f.err
			continue
		}
		if refused[name] = checkAgent(name, f.text); refused[name] != nil {
			continue
		}
		delete(refused, name)
		taken, err := s.table.importFile(ctx, name, f.text, once)
		if err != nil {
			return err
		}
		changed = changed || taken
	}
	s.news = s.news || !maps.EqualFunc(refused, s.refused, func(a, b error) bool { return a.Error() == b.Error() })
	s.seen, s.refused = files, refused
	if changed {
		s.tell()
	}
	return nil
}

func checkAgent(name string, file []byte) error {
	if _, err := ParseAgent(name, file); err != nil {
		return err
	}
	return checkText(file)
}

// withRefused shows refused files among the agents: their last good version goes
// on.
func (s *sharing) withRefused(kept map[string]*Entry) map[string]*Entry {
	s.news = false
	entries := maps.Clone(kept)
	for name, err := range s.refused {
		e := &Entry{Name: name, Err: err, file: s.seen[name].text}
		if was := kept[name]; was != nil {
			e.Agent, e.file = was.Agent, was.file
		}
		entries[name] = e
	}
	return entries
}

// tell lets the other hubs look. One that misses it looks by itself in a while.
func (s *sharing) tell() { _ = s.bus.Publish(agentsSubject, nil) }

// hear signals when a hub changed something, until the subscription is closed.
func (s *sharing) hear(news wake.Bell) (bus.Subscription, error) {
	return s.bus.Subscribe(agentsSubject, func(bus.Msg) { news.Ring() })
}
