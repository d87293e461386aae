package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ErrFolder says that a folder may not be given to a box.
var ErrFolder = errors.New("this folder cannot be used by programs of agents")

// Options say what boxes have in common.
type Options struct {
	// Support is what [Probe] found. The zero value makes no boxes.
	Support Support
	// Data is the hub's own folder, of which only what lies in Workspace and Workspaces
	// is ever inside: the owner's folder, and where everybody else's are.
	Data, Workspace, Workspaces string
	// Hidden are further files and folders of the hub that may lie in what is given.
	Hidden []string
	// Temp is where temporary folders are made; empty is the system's place.
	Temp string
	// Read and Write are folders that every box has besides its own.
	Read, Write []string
	// Limits bound what programs use.
	Limits Limits
	// Environ is the hub's environment; Env names what programs get of it besides the usual.
	Environ []string
	Env     []string
	// Home is the user's own folder, whose secrets stay outside; empty asks the system.
	Home string
}

// Sandbox runs programs for agents. It is safe for concurrent use.
type Sandbox struct {
	o Options
	// hidden are folders and files that no box has.
	hidden []string

	mu     sync.Mutex
	read   []string    // what all boxes may read, as it was when last looked at
	names  [][2]string // other names of it
	looked time.Time
	spaces map[owner]*os.File // see userSpace
}

// New makes a runner. Temporary folders that an earlier life left behind go.
func New(o Options) *Sandbox {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one there is nothing in it to hide
	}
	s := &Sandbox{o: o, hidden: secretsOf(o.Home)}
	if o.Data != "" {
		s.o.Data, s.o.Workspace = Resolved(o.Data), Resolved(o.Workspace)
		if o.Workspaces != "" {
			s.o.Workspaces = Resolved(o.Workspaces)
		}
		s.hidden = append(s.hidden, s.o.Data)
	}
	s.o.Hidden = nil
	for _, path := range o.Hidden {
		s.o.Hidden = append(s.o.Hidden, Resolved(path))
	}
	s.hidden = append(s.hidden, s.o.Hidden...)
	s.sweep()
	s.checkUser()
	return s
}

// Boxed tells whether programs run in a box.
func (s *Sandbox) Boxed() bool { return s.o.Support.Version > 0 }

// Support is what the boxes are made with.
func (s *Sandbox) Support() Support { return s.o.Support }

// sweep removes what a hub that was killed could not.
func (s *Sandbox) sweep() {
	if s.o.Temp == "" {
		return // the system's place is everybody's
	}
	left, _ := filepath.Glob(filepath.Join(s.o.Temp, tempPrefix+"*"))
	for _, dir := range left {
		removeAll(dir)
	}
}

// Resolved is a path without links, as far as it exists.
func Resolved(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Options are what it was made with, for a process that makes boxes in the hub's place.
func (s *Sandbox) Options() Options { return s.o }
