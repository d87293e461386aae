package sandbox

import (
	"cmp"
	"fmt"
)

// Isolation is how much of the machine is not there at all in a box, beyond what Landlock forbids.
type Isolation int

// The levels.
const (
	// Rules: Landlock and the filter of calls alone. There is no network inside, unless somebody
	// named hosts for a program.
	Rules Isolation = iota
	// Network: besides, a box has a network of its own, whose one way out is the hub's.
	Network
	// Full: besides, a box has its own files, processes and user.
	Full
)

// Support says what boxes this system can make. The zero value makes none.
type Support struct {
	// Kind is what makes them; empty is Landlock. Version is its version, as the kernel has
	// it; 0 is none.
	Kind    string
	Version int
	// Why there is none.
	Why string
	// Isolation is what there is besides, and Less why it is not more.
	Isolation Isolation
	Less      string
	// User and Group are who programs run as where the hub is root; 0 leaves them root, and
	// Root says why.
	User, Group int
	Root        string
}

// Versions of Landlock: from which on it knows ports, and keeps signals inside the box.
const (
	portsKnown    = 4
	signalsScoped = 6
)

// String is the support in words.
func (s Support) String() string {
	if s.Version == 0 {
		return "none: " + s.Why
	}
	text := fmt.Sprintf("%s, version %d", cmp.Or(s.Kind, "Landlock"), s.Version)
	switch {
	case s.Kind != "":
		text += "; no network but the hub's"
	case s.Isolation == Full:
		text += "; own files, processes and network"
	case s.Isolation == Network:
		text += "; own network"
	}
	if s.User != 0 {
		text += fmt.Sprintf("; as user %d", s.User)
	}
	return text
}

// Gaps are what boxes here lack, in words; none where they have everything.
func (s Support) Gaps() []string {
	var gaps []string
	if s.Version == 0 {
		return []string{"there is none (" + s.Why + "), so every command of an agent asks"}
	}
	switch s.Isolation {
	case Rules:
		gaps = append(gaps, "no namespaces can be made ("+s.Less+"), so programs see names of files and other processes and have a network only where hosts were named for them")
	case Network:
		gaps = append(gaps, "no mounts can be made ("+s.Less+"), so programs see names of files and other processes")
	case Full:
	}
	if s.Kind == "" && s.Version < signalsScoped && s.Isolation != Full {
		gaps = append(gaps, "programs of agents may signal other processes of this user (Linux 6.12 or newer forbids it)")
	}
	if s.Root != "" {
		gaps = append(gaps, "programs of agents run as root ("+s.Root+")")
	}
	return gaps
}
