package skillfile

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Limits. A skill must fit into one tool result with room to spare.
const (
	MaxFile        = 192 << 10
	MaxFront       = 16 << 10
	MaxDescription = 1024 // runes
	MaxSkills      = 1000
)

// What can be wrong with a skill. Each is found in Skill.Err by errors.Is.
var (
	ErrName   = errors.New("bad skill name")
	ErrFront  = errors.New("bad front matter")
	ErrTooBig = errors.New("skill too large")
	ErrEmpty  = errors.New("skill has no text")
	ErrRead   = errors.New("skill cannot be read")
)

// Skill is one skill as its file tells it.
type Skill struct {
	Name          string
	Description   string
	License       string
	Compatibility string
	Metadata      map[string]string
	// AllowedTools narrows the tools of a run that uses the skill; empty = no limit.
	AllowedTools []string
	Tags         []string
	Version      string
	// Public skills may be offered to other agents.
	Public bool
	// Agents are the only ones that may load it; nil for all that list it.
	Agents []string
	// Body is the text behind the front matter.
	Body string
	// File is the path below the skills folder, with slashes.
	File string
	// Err is why the skill cannot be used.
	Err error
}

// nameForm is what a skill may be called: something one can type behind a slash.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ValidName reports whether a skill may have this name.
func ValidName(name string) bool { return nameForm.MatchString(name) }

// commands are the offline model's; a skill of that name can be loaded but never
// takes the command's place.
var commands = []string{
	"say", "tool", "and", "sleep", "fail", "fail-once", "result", "context", "usage", "cost", "chunks", "pace",
}

// Reserved reports a name that, typed behind a slash, is a command of the
// offline model.
func Reserved(name string) bool { return slices.Contains(commands, name) }

// Allows reports whether the skill lets a tool be used. It only ever narrows what
// the agent has anyway.
func (s Skill) Allows(tool string) bool {
	if len(s.AllowedTools) == 0 {
		return true
	}
	return slices.ContainsFunc(s.AllowedTools, func(a string) bool {
		a, _, _ = strings.Cut(a, "(") // some write what a tool may be called with
		return a == "*" || a == tool
	})
}

// Select returns the usable skills an agent lists, in order of name; "*" stands
// for all.
func Select(all []Skill, names []string) []Skill {
	var out []Skill
	for _, s := range all {
		if s.Err == nil && (slices.Contains(names, s.Name) || slices.Contains(names, "*")) {
			out = append(out, s)
		}
	}
	return out
}

func find(skills []Skill, name string) (Skill, bool) {
	i := slices.IndexFunc(skills, func(s Skill) bool { return s.Name == name && s.Err == nil })
	if i < 0 {
		return Skill{}, false
	}
	return skills[i], true
}
