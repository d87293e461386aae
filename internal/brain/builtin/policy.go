package builtin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/judge/plain"
)

// PolicyOptions come from the configuration.
type PolicyOptions struct {
	// Deny are further regular expressions; the built-in ones always hold.
	Deny []string
	// Allow are the commands that need no person; nil means DefaultAllow.
	Allow []string
	// Boxed tells that commands run in a box. Without one, all of them ask.
	Boxed bool
	// Roots are folders besides the workspace that commands may look at.
	Roots []string
	// Grantable says why a box cannot be given folders, whoever agrees; nil gives any.
	Grantable func(read, write []string) error
}

// DefaultAllow are commands that only look.
var DefaultAllow = []string{
	"ls", "cat", "head", "tail", "wc", "pwd", "date", "echo", "true", "false",
	"sleep", "uname", "whoami", "stat", "grep",
}

// Policy knows which commands never run and which need nobody's yes. It does not
// change and is safe for concurrent use. What becomes of a call is decided by
// brain.Policy, for which this is one reason among others.
type Policy struct {
	deny  []*regexp.Regexp
	allow []string
	boxed bool
	roots []string
	gives func(read, write []string) error
}

// NewPolicy compiles a policy; a bad expression is an error, never a hole.
func NewPolicy(o PolicyOptions) (*Policy, error) {
	p := &Policy{deny: slices.Clone(denied), allow: o.Allow, boxed: o.Boxed, roots: o.Roots, gives: o.Grantable}
	if p.allow == nil {
		p.allow = DefaultAllow
	}
	for _, text := range o.Deny {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("policy.deny: %w", err)
		}
		p.deny = append(p.deny, re)
	}
	return p, nil
}

func defaultPolicy() *Policy {
	return &Policy{deny: denied, allow: DefaultAllow}
}

// IsCommand tells the tools whose calls run programs.
func IsCommand(name string) bool {
	return name == "shell" || name == "terminal_open" || name == "terminal_send"
}

// Boxed tells whether commands run in a box. Nobody's policy has none.
func (p *Policy) Boxed() bool { return p != nil && p.boxed }

// Refused looks the command of a call up in the deny list, and what it needs among the things
// that nobody is given.
func (p *Policy) Refused(call tool.Call) (reason string, refused bool) {
	if p == nil || !IsCommand(call.Name) {
		return "", false
	}
	if reason, refused := p.Denied(commandOf(call.Arguments)); refused {
		return reason, true
	}
	if needs := needsOf(call); p.gives != nil && !needs.empty() {
		if err := p.gives(needs.Read, needs.Write); err != nil {
			return err.Error(), true
		}
	}
	return "", false
}

// commandOf is the text a person's machine would execute: a command, or what is
// typed into a terminal.
func commandOf(args json.RawMessage) string {
	var v struct {
		Command string `json:"command"`
		Data    string `json:"data"`
	}
	if json.Unmarshal(args, &v) != nil {
		return ""
	}
	return strings.TrimSpace(v.Command + "\n" + v.Data)
}

// Denied looks a command or terminal input up in the deny list.
func (p *Policy) Denied(text string) (reason string, denied bool) {
	plain := unquote.Replace(text)
	for _, re := range p.deny {
		if re.MatchString(text) || re.MatchString(plain) {
			return "the deny list forbids it", true
		}
	}
	return "", false
}

// unquote undoes what merely decorates a command: r'm', r\m.
var unquote = strings.NewReplacer("'", "", `"`, "", `\`, "")

// Unasked reports a call of the shell that needs nobody's yes: a listed command in the
// box whose arguments are plain and lead nowhere but into the workspace and the roots.
// When in doubt it is asked about.
func (p *Policy) Unasked(call tool.Call) bool {
	if !p.Boxed() || call.Name != "shell" {
		return false
	}
	args, err := tool.Arguments[shellArgs](call)
	if err != nil || !args.Needs.empty() {
		return false
	}
	words, ok := plain.Words(args.Command)
	if !ok || !slices.Contains(p.allow, words[0]) {
		return false
	}
	here := call
	if args.Cwd != "" {
		at, err := locate(call, p.roots, args.Cwd)
		if err != nil {
			return false
		}
		if here.Dir, err = at.folder(); err != nil {
			return false
		}
	}
	inside := func(path string) bool { return p.inside(here, path) }
	if check, known := listed[words[0]]; known {
		return check(words[1:], inside)
	}
	return plainArguments(words[1:], inside)
}
