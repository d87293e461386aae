package rule

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
)

// What can be wrong with a rule.
var (
	// ErrNotFound: there is none, or it is not the caller's.
	ErrNotFound = errors.New("no such rule")
	// ErrInvalid: it makes no sense, or says too much.
	ErrInvalid = errors.New("no rule can be made like this")
	// ErrForbidden: whoever wants it may not make one.
	ErrForbidden = errors.New("not allowed to make a rule")
)

// How long and how often a rule holds, if nobody says, and at most.
const (
	UsualLife = 30 * 24 * time.Hour
	UsualUses = 20
	maxLife   = 366 * 24 * time.Hour
	maxUses   = 10_000
	maxRules  = 200 // of one person
	maxNames  = 16
	maxName   = 4096
	maxText   = 64 << 10
)

// Rule is one person's standing yes.
type Rule struct {
	ID string
	// Owner is whose it is: a person's id, and what they are called.
	Owner, OwnerName string
	// Agent and Tool are names; Arguments what the call must say.
	Agent, Tool string
	Arguments   Pattern
	// Folder is where a command runs, as seen from the agent's workspace.
	Folder string
	Reach
	Created, Until time.Time
	// Uses is how often it may answer, Used how often it did, UsedAt when last.
	Uses, Used int
	UsedAt     time.Time
	// Question is the one it was made from, if any.
	Question string

	maker identity.Actor
}

// Reach is what a rule names outside of the box, each by its whole name.
type Reach struct {
	Read     []string `json:"read,omitempty"`
	Write    []string `json:"write,omitempty"`
	Hosts    []string `json:"hosts,omitempty"`
	Machines []string `json:"machines,omitempty"`
}

// From is the rule that answers a question, and only what is exactly like it.
func From(item approval.Item) (Rule, error) {
	switch {
	case item.Kind != approval.KindTool:
		return Rule{}, fmt.Errorf("%w: this question is about no call", ErrInvalid)
	case item.Taint != nil:
		return Rule{}, fmt.Errorf("%w: words of others had entered the run, and what it asks may be their idea; answer it for this once", ErrInvalid)
	case item.Scene == nil || item.Quorum > 1:
		return Rule{}, fmt.Errorf("%w: a person wants to look at each call like this one", ErrInvalid)
	}
	members, err := argumentsOf(item)
	if err != nil {
		return Rule{}, fmt.Errorf("%w: its arguments cannot be read", ErrInvalid)
	}
	s := item.Scene
	return Rule{
		Agent: s.Agent, Tool: item.Tool, Arguments: members, Folder: s.Folder, Question: item.ID,
		Reach: Reach{Read: s.Read, Write: s.Write, Hosts: s.Hosts, Machines: item.Machines()},
	}, nil
}

// Answers reports whether the rule names all of a question.
func (r Rule) Answers(item approval.Item) bool {
	s := item.Scene
	if s == nil || item.Taint != nil || item.Kind != approval.KindTool || s.Agent != r.Agent || item.Tool != r.Tool || s.Folder != r.Folder {
		return false
	}
	if !within(s.Read, r.Read) || !within(s.Write, r.Write) || !within(s.Hosts, r.Hosts) || !within(item.Machines(), r.Machines) {
		return false
	}
	members, err := argumentsOf(item)
	return err == nil && r.Arguments.fits(r.Tool, members)
}

// within reports whether every name is one of those that were named.
func within(names, named []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(named, name) })
}

// complete fills in what was left out and refuses what no rule may say.
func (r *Rule) complete(now time.Time) error {
	if r.Until.IsZero() {
		r.Until = now.Add(UsualLife)
	}
	if r.Uses == 0 {
		r.Uses = UsualUses
	}
	if commands[r.Tool] && r.Folder == "" {
		r.Folder = "."
	}
	r.Folder, r.Until = clean(r.Folder), time.UnixMicro(r.Until.UnixMicro()).UTC()
	switch {
	case r.Agent == "" || r.Tool == "" || len(r.Agent)+len(r.Tool) > maxName:
		return fmt.Errorf("%w: it needs the name of an agent and of a tool", ErrInvalid)
	case !r.Until.After(now) || r.Until.After(now.Add(maxLife)):
		return fmt.Errorf("%w: it ends in the future, within a year", ErrInvalid)
	case r.Uses < 1 || r.Uses > maxUses:
		return fmt.Errorf("%w: it is used once to %d times", ErrInvalid, maxUses)
	}
	if err := r.Reach.check(); err != nil {
		return err
	}
	return r.Arguments.check(r.Tool)
}

func clean(folder string) string {
	if folder == "" {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(filepath.FromSlash(folder)))
}

// check refuses names that are no whole names: what a rule is for is said and not matched.
func (r Reach) check() error {
	for what, list := range map[string][]string{"folder": slices.Concat(r.Read, r.Write), "host": r.Hosts, "machine": r.Machines} {
		if len(list) > maxNames {
			return fmt.Errorf("%w: more than %d of a kind", ErrInvalid, maxNames)
		}
		for _, name := range list {
			switch {
			case name == "" || len(name) > maxName || strings.ContainsAny(name, "*?"):
				return fmt.Errorf("%w: %q is no whole name of a %s", ErrInvalid, name, what)
			case what == "folder" && (!filepath.IsAbs(name) || filepath.Clean(name) != name):
				return fmt.Errorf("%w: %q is no whole path", ErrInvalid, name)
			}
		}
	}
	return nil
}
