package kenny

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Class says what a tool may do to a machine, and so what it needs.
type Class string

// The classes. A tool nobody knows counts as mutating.
const (
	// ReadOnly tools look, and show nothing private.
	ReadOnly Class = "R"
	// Sensitive tools look, but may show private things.
	Sensitive Class = "S"
	// Mutating tools change the machine.
	Mutating Class = "M"
)

// Tool is one entry of the catalogue: everything a hub, an endpoint and a
// model need to agree on about a capability.
type Tool struct {
	Name string
	// Title is a short label for people; Description addresses the model.
	Title       string
	Description string
	Class       Class
	// Timeout is the default; a caller may ask for [MinTimeout] to [MaxTimeout].
	Timeout time.Duration
	// On lists the systems where asking makes sense at all. Whether a machine
	// really has what it takes (a PowerShell, a display) only it can tell.
	On []OS
	// Instead advises whoever asks on another system.
	Instead string
	// Args are the keys of the wire's args object, in wire order.
	Args []Arg
	// Result lists the keys of the result object; nil for a snapshot map.
	Result []string
	// Live marks tools that only make sense now: they cannot be queued.
	Live  bool
	Hints Hints
}

// Hints are the MCP annotations of a tool.
type Hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Bounds of the call options a hub keeps to itself.
const (
	// MinTimeout and MaxTimeout bound timeout_s: nothing runs unbounded.
	MinTimeout = time.Second
	// MaxTimeout is an hour; what takes longer belongs into the background.
	MaxTimeout = time.Hour
	// MaxQueue bounds queue_for_s: older intentions deserve a second thought.
	MaxQueue = 7 * 24 * time.Hour
)

// Supports reports whether the tool makes sense on a system.
func (t Tool) Supports(o OS) bool { return slices.Contains(t.On, o) }

// CheckOS refuses a call on the wrong system and names what to use instead.
func (t Tool) CheckOS(o OS) error {
	if t.Supports(o) {
		return nil
	}
	msg := fmt.Sprintf("%s does not exist on %s", t.Name, o)
	if t.Instead != "" {
		msg += "; " + t.Instead
	}
	return &Error{Code: CodeUnsupported, Message: msg}
}

// ForShell reports whether a script of powershell_exec is meant for the shell of a
// machine that is no Windows: its first line says so. An original hub has no other
// way to run one. To PowerShell the line is a comment, and guessing would be unsafe:
// what is a variable in one language is nothing in the other.
func ForShell(os OS, script string) bool {
	line, _, _ := strings.Cut(script, "\n")
	return os != Windows && strings.TrimSpace(line) == "#!/bin/sh"
}

// TimeoutOnWire reports whether timeout_s travels to the machine; for other
// tools it stays in the hub.
func (t Tool) TimeoutOnWire() bool {
	return slices.ContainsFunc(t.Args, func(a Arg) bool { return a.Name == keyTimeout })
}

// Lookup finds a tool by name.
func Lookup(name string) (Tool, bool) {
	t, ok := byName()[name]
	return t, ok
}

// byName is the catalogue to look things up in; nobody changes it.
var byName = sync.OnceValue(func() map[string]Tool {
	all := Tools()
	index := make(map[string]Tool, len(all))
	for _, t := range all {
		index[t.Name] = t
	}
	return index
})

// ClassOf is the class of a tool by name; unknown tools are mutating.
func ClassOf(name string) Class {
	if t, ok := Lookup(name); ok {
		return t.Class
	}
	return Mutating
}
