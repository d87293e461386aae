package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"

	"parley.internal/internal/sandbox"
)

// ErrForeign says that a folder is not for whoever asked.
var ErrForeign = errors.New("this folder belongs to the hub or to somebody else")

// Whose tells people, and senders nobody is behind, apart.
type Whose struct {
	kind, id string
}

// Person is somebody by their id.
func Person(id string) Whose { return Whose{"person", id} }

// Sender is a name in conversations that belongs to no person of this hub.
func Sender(name string) Whose { return Whose{"sender", name} }

// Everybody is whose folder it was before people had folders of their own: the
// owner's, as it is today.
func Everybody() Whose { return Whose{kind: "everybody"} }

// Finder gives the folder that somebody's agent works in; named is what the agent's
// file asks for, if anything. Empty means that there is none.
type Finder func(whose Whose, named string) string

// Always is a finder that knows one folder, for whoever has no people.
func Always(dir string) Finder {
	return func(_ Whose, named string) string {
		if named != "" {
			return named
		}
		return dir
	}
}

// Options say where folders are.
type Options struct {
	// Data is the hub's data folder; Owner the id of the person who owns the hub.
	Data, Owner string
	Log         *slog.Logger
}

// Spaces finds folders. It is safe for concurrent use.
type Spaces struct {
	o Options
}

// New makes it; nothing is touched before somebody asks.
func New(o Options) *Spaces {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Spaces{o: o}
}

// Owners is the folder of the hub's owner.
func (s *Spaces) Owners() string { return filepath.Join(s.o.Data, "workspace") }

// Others is where everybody else's folders lie.
func (s *Spaces) Others() string { return filepath.Join(s.o.Data, "workspaces") }

// Dir is the folder that somebody's agent works in, made if it is new. One that
// cannot be had is none, and the log says why.
func (s *Spaces) Dir(whose Whose, named string) string {
	dir, err := s.find(whose, named)
	if err != nil {
		s.o.Log.Warn("an agent works without a folder", "whose", whose.kind, "error", err)
		return ""
	}
	return dir
}

func (s *Spaces) find(whose Whose, named string) (string, error) {
	home, err := s.home(whose)
	if err != nil || named == "" {
		return home, err
	}
	return named, s.checkNamed(home, named)
}

// home is somebody's own folder.
func (s *Spaces) home(whose Whose) (string, error) {
	if whose == Person(s.o.Owner) || whose == Everybody() {
		return s.Owners(), os.MkdirAll(s.Owners(), 0o700)
	}
	dir := filepath.Join(s.Others(), whose.folder())
	if err := os.MkdirAll(s.Others(), 0o700); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: %s is no folder", ErrForeign, whose.folder())
	}
	return dir, err
}

// plain is what an id looks like that can be a folder's name.
var plain = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// folder is the name of somebody's folder: no two have the same.
func (w Whose) folder() string {
	if w.kind == "person" && plain.MatchString(w.id) {
		return "person-" + w.id
	}
	sum := sha256.Sum256([]byte(w.kind + "\x00" + w.id))
	return "sender-" + hex.EncodeToString(sum[:16])
}

// checkNamed refuses a folder of an agent's file that is the hub's own or somebody
// else's; the links in its path count.
func (s *Spaces) checkNamed(home, named string) error {
	dir, data := sandbox.Resolved(named), sandbox.Resolved(s.o.Data)
	if within(dir, sandbox.Resolved(home)) || !within(dir, data) && !within(data, dir) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrForeign, named)
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
