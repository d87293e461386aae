package meeting

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley.internal/protocol/mmp"
)

// The standard extensions.
const (
	ExtensionCore          = "core"
	ExtensionSkillExchange = "skill_exchange"
	ExtensionDiscussion    = "discussion"
	ExtensionNegotiation   = "negotiation"
	ExtensionEvolution     = "evolution"
)

const extensionAlias = "meeting_protocol_"

// FoldExtension maps the longer names some peers use to the standard ones.
func FoldExtension(name string) string {
	switch short := strings.TrimPrefix(name, extensionAlias); short {
	case ExtensionCore, ExtensionSkillExchange, ExtensionEvolution:
		return short
	}
	return name
}

// ExtensionAliases lists the longer names, which are advertised too.
func ExtensionAliases() []string {
	return []string{extensionAlias + ExtensionCore, extensionAlias + ExtensionSkillExchange, extensionAlias + ExtensionEvolution}
}

// CommonExtensions is what both sides have, in the peer's spelling, each once.
// Outside of it nothing is sent.
func CommonExtensions(ours, theirs []string) []string {
	have := make(map[string]bool, len(ours))
	for _, name := range ours {
		have[FoldExtension(name)] = true
	}
	common := []string{}
	for _, name := range theirs {
		if folded := FoldExtension(name); have[folded] {
			have[folded] = false
			common = append(common, name)
		}
	}
	return common
}

var (
	customName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)
	actionName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)
	semver     = regexp.MustCompile(`^[0-9]{1,6}\.[0-9]{1,6}(\.[0-9]{1,6})?([-+][0-9A-Za-z.+-]{1,32})?$`)
)

// ValidCustomName tells whether a name is namespaced, as custom extensions must be.
func ValidCustomName(name string) bool {
	return len(name) <= mmp.MaxExtensionName && customName.MatchString(name)
}

// Definition is an extension as its document defines it. Nothing in it runs.
type Definition struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Type        string   `json:"type"`
	Actions     []string `json:"actions"`
	Requires    []string `json:"requires"`
	Description string   `json:"description"`
	Hash        mmp.Hash `json:"-"`
}

var definitionTypes = []string{"mmp_extension", "protocol_extension", "protocol_definition"}

// ParseExtension reads a definition document. Requires is folded.
func ParseExtension(doc string) (Definition, error) {
	if len(doc) > mmp.MaxSkill || !isText(doc) {
		return Definition{}, fmt.Errorf("%w: too large or not text", ErrFrontMatter)
	}
	fm, _, err := SplitFrontMatter(doc)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{
		Name: fm.Text("name"), Version: fm.Text("version"), Type: fm.Text("type"),
		Description: mmp.Clip(fm.Text("description"), mmp.MaxDescription), Hash: mmp.HashOf(doc),
	}
	if d.Actions, err = fm.List("actions"); err != nil {
		return Definition{}, err
	}
	if d.Requires, err = fm.List("requires"); err != nil {
		return Definition{}, err
	}
	for i, name := range d.Requires {
		d.Requires[i] = FoldExtension(name)
	}
	if d.Type == "" {
		return Definition{}, fmt.Errorf("%w: no type", ErrFrontMatter)
	}
	return d, d.wellFormed()
}

func (d Definition) wellFormed() error {
	badAction := func(a string) bool { return len(a) > mmp.MaxScope || !actionName.MatchString(a) }
	switch {
	case d.Name == "" || len(d.Name) > mmp.MaxExtensionName:
		return fmt.Errorf("%w: no name", ErrFrontMatter)
	case !semver.MatchString(d.Version):
		return fmt.Errorf("%w: version is not like 1.0.0", ErrFrontMatter)
	case d.Type != "" && !slices.Contains(definitionTypes, d.Type):
		return fmt.Errorf("%w: type is none of %s", ErrFrontMatter, strings.Join(definitionTypes, ", "))
	case slices.ContainsFunc(d.Actions, badAction):
		return fmt.Errorf("%w: an action's name is not lower-case words", ErrFrontMatter)
	}
	return nil
}

// StandardExtensions defines what comes with the protocol, core first.
func StandardExtensions() []Definition {
	def := func(name string, requires []string, actions ...string) Definition {
		return Definition{Name: name, Version: mmp.ProtocolVersion, Type: definitionTypes[0], Actions: actions, Requires: requires}
	}
	core := []string{ExtensionCore}
	return []Definition{
		def(ExtensionCore, nil, CoreActions()...),
		def(ExtensionSkillExchange, core, ActionOfferSkill, ActionRequestSkill, ActionAccept, ActionDecline, ActionSkillContent, ActionReflect),
		def(ExtensionDiscussion, core, ActionPropose, ActionSupport, ActionOppose, ActionSynthesize),
		def(ExtensionNegotiation, core, ActionOffer, ActionCounter, ActionAgree, ActionWithdraw),
		def(ExtensionEvolution, core, ActionProposeExtension, ActionEvaluateExtension, ActionShareExtension, ActionAdoptExtension),
	}
}

// SwitchedOff is a definition that was not loaded, and why.
type SwitchedOff struct {
	Name   string
	Reason string
}

// Loaded is the outcome of loading definitions: in order, and which extension
// answers for an action.
type Loaded struct {
	Active []Definition
	Off    []SwitchedOff
	Owner  map[string]string
}

// LoadExtensions orders definitions: core first, then each after what it requires.
// A missing requirement or a cycle switches one off; of two with one name, or
// claiming one action, the first keeps it.
func LoadExtensions(defs []Definition) Loaded {
	l := Loaded{Owner: map[string]string{}}
	var waiting []Definition
	names := map[string]bool{}
	for _, d := range defs {
		if name := FoldExtension(d.Name); names[name] {
			l.Off = append(l.Off, SwitchedOff{d.Name, "another extension of this name was loaded first"})
		} else {
			names[name] = true
			waiting = append(waiting, d)
		}
	}
	slices.SortStableFunc(waiting, func(a, b Definition) int { return coreRank(a) - coreRank(b) })
	active := map[string]bool{}
	for len(waiting) > 0 {
		var later []Definition
		for _, d := range waiting {
			if slices.ContainsFunc(d.Requires, func(r string) bool { return !active[FoldExtension(r)] }) {
				later = append(later, d)
				continue
			}
			active[FoldExtension(d.Name)] = true
			l.activate(d)
		}
		if len(later) == len(waiting) {
			l.switchOff(later, active)
			break
		}
		waiting = later
	}
	return l
}

func coreRank(d Definition) int {
	if FoldExtension(d.Name) == ExtensionCore {
		return 0
	}
	return 1
}

func (l *Loaded) activate(d Definition) {
	l.Active = append(l.Active, d)
	for _, action := range d.Actions {
		if _, taken := l.Owner[action]; !taken {
			l.Owner[action] = d.Name
		}
	}
}

// switchOff tells a missing requirement from a circle.
func (l *Loaded) switchOff(stuck []Definition, active map[string]bool) {
	waiting := map[string]bool{}
	for _, d := range stuck {
		waiting[FoldExtension(d.Name)] = true
	}
	for _, d := range stuck {
		reason := "requires in a circle, or something that was switched off"
		for _, r := range d.Requires {
			if r = FoldExtension(r); !active[r] && !waiting[r] {
				reason = "requires " + mmp.Clip(r, mmp.MaxExtensionName) + ", which is not here"
				break
			}
		}
		l.Off = append(l.Off, SwitchedOff{d.Name, reason})
	}
}
