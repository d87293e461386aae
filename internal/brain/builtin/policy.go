package builtin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/internal/brain/tool"
)

// PolicyOptions come from the configuration.
type PolicyOptions struct {
	// Deny are further regular expressions; the built-in ones always hold.
	Deny []string
	// Allow are the commands that need no person; nil means DefaultAllow.
	Allow []string
}

// DefaultAllow are commands that only look.
var DefaultAllow = []string{
	"ls", "cat", "head", "tail", "wc", "pwd", "date", "echo", "true", "false",
	"sleep", "uname", "whoami", "stat", "grep",
}

// Policy says what happens to a call before anybody is asked. It does not change
// and is safe for concurrent use.
type Policy struct {
	deny  []*regexp.Regexp
	allow []string
}

// NewPolicy compiles a policy; a bad expression is an error, never a hole.
func NewPolicy(o PolicyOptions) (*Policy, error) {
	p := &Policy{deny: slices.Clone(denied), allow: o.Allow}
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

// Decide says what to do with a call when the agent is left to decide: Refuse
// (the deny list, in every mode), Ask or Allow, with a reason for the first two.
func (p *Policy) Decide(t *tool.Tool, args json.RawMessage) tool.Verdict {
	switch t.Name {
	case "shell":
		return p.decideShell(args)
	case "terminal_open", "terminal_send":
		if reason, no := p.Denied(commandOf(args)); no {
			return tool.Verdict{Action: tool.Refuse, Reason: reason}
		}
		return tool.Verdict{Action: tool.Ask, Reason: "uses a terminal"}
	}
	switch class := t.ClassFor(args); {
	case class == tool.ReadOnly:
		return tool.Verdict{Action: tool.Allow}
	case class == tool.Mutating && !strings.HasPrefix(t.Name, "mcp__"):
		return tool.Verdict{Action: tool.Allow}
	default:
		return tool.Verdict{Action: tool.Ask, Reason: t.Name + " can change something outside the workspace"}
	}
}

func (p *Policy) decideShell(args json.RawMessage) tool.Verdict {
	command := commandOf(args)
	if reason, no := p.Denied(command); no {
		return tool.Verdict{Action: tool.Refuse, Reason: reason}
	}
	if p.Allowed(command) {
		return tool.Verdict{Action: tool.Allow}
	}
	return tool.Verdict{Action: tool.Ask, Reason: "runs a command"}
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

// Allowed reports a command of the allow list with plain arguments.
func (p *Policy) Allowed(command string) bool {
	if strings.ContainsAny(command, ";|&<>$(){}`\n\r\x00") {
		return false
	}
	words := strings.Fields(command)
	return len(words) > 0 && slices.Contains(p.allow, words[0])
}
