package rule

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/judge/plain"
)

// Open stands for any value of an argument, and at the end of a command for any further
// words. Three dots are the same, for keyboards.
const Open = "…"

// Pattern is what the arguments of a call must be: each member by name, with exactly its
// value, a command by its words, or any value at all. A call with other members does not fit.
type Pattern map[string]jsontext.Value

// commands names the tools whose calls run a program in a folder.
var commands = map[string]bool{"shell": true, "terminal_open": true, "terminal_send": true}

// scripts names for each tool the argument that is run; only those of a POSIX shell are
// taken apart into words.
var scripts = map[string]struct {
	member string
	posix  bool
}{
	"shell": {"command", true}, "shell_exec": {"script", true}, "powershell_exec": {"script", false},
	"terminal_open": {"command", false}, "terminal_send": {"data", false},
}

// elsewhere names arguments that a rule says otherwise, or that change nothing: where a
// command runs and what it needs, which machine, and how long it may take.
var elsewhere = map[string][]string{
	"shell": {"cwd", "needs", "timeout_ms"}, "terminal_open": {"cwd"},
}

// argumentsOf are those of a question. A name that comes twice is an error: whoever reads
// the other one would run something else.
func argumentsOf(item approval.Item) (Pattern, error) {
	var members Pattern
	if err := json.Unmarshal(item.Arguments, &members); err != nil {
		return nil, err
	}
	gone := elsewhere[item.Tool]
	if len(item.Machines()) > 0 {
		gone = append(slices.Clone(gone), "agent_id", "timeout_s")
	}
	for _, name := range gone {
		delete(members, name)
	}
	if _, waits := members["queue_for_s"]; waits && len(item.Machines()) > 0 {
		return nil, errors.New("it may run later than any rule was looked at")
	}
	return members, nil
}

// fits reports whether arguments are what the pattern says, no more and no less.
func (p Pattern) fits(tool string, members Pattern) bool {
	if len(p) != len(members) {
		return false
	}
	for name, want := range p {
		got, there := members[name]
		if !there || !fits(tool, name, want, got) {
			return false
		}
	}
	return true
}

func fits(tool, name string, want, got jsontext.Value) bool {
	pattern, isText := text(want)
	if isText && scripts[tool].member == name && scripts[tool].posix {
		command, ok := text(got)
		return ok && fitsCommand(pattern, command)
	}
	return isText && pattern == Open || equal(want, got)
}

func equal(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Compact() == nil && b.Compact() == nil && bytes.Equal(a, b)
}

func text(v jsontext.Value) (string, bool) {
	var s string
	err := json.Unmarshal(v, &s)
	return s, err == nil && v.Kind() == '"'
}

// fitsCommand compares words, not letters: what a shell would do more with fits only what
// is the same to the letter.
func fitsCommand(pattern, command string) bool {
	if pattern == command {
		return true
	}
	want, ok := plain.Words(pattern)
	got, plainly := plain.Words(command)
	if !ok || !plainly {
		return false
	}
	if isOpen(want) {
		want = want[:len(want)-1]
		return len(want) > 0 && len(got) >= len(want) && slices.Equal(got[:len(want)], want)
	}
	return slices.Equal(got, want)
}

func isOpen(words []string) bool {
	last := words[len(words)-1]
	return last == Open || last == "..."
}

// runners run what their arguments name: with open ones, a rule would be for everything.
var runners = []string{
	"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "sudo", "doas", "su", "nohup", "nice", "timeout", "time", "xargs", "exec", "eval", "command", "setsid",
	"stdbuf", "ssh", "python", "python3", "perl", "ruby", "node", "php", "awk", "find", "source", ".",
}

// check refuses patterns that say too much.
func (p Pattern) check(tool string) error {
	size := 0
	for name, value := range p {
		size += len(name) + len(value)
		if !value.IsValid() {
			return fmt.Errorf("%w: the argument %q is no JSON", ErrInvalid, name)
		}
		if slices.Contains(elsewhere[tool], name) {
			return fmt.Errorf("%w: %q is said by the folder, hosts and paths of the rule", ErrInvalid, name)
		}
	}
	if size > maxText {
		return fmt.Errorf("%w: its arguments are too long", ErrInvalid)
	}
	script, runs := scripts[tool]
	if !runs {
		return nil
	}
	pattern, ok := text(p[script.member])
	if !ok || pattern == "" || pattern == Open || pattern == "..." {
		return fmt.Errorf("%w: it must say which command", ErrInvalid)
	}
	if !script.posix {
		return nil
	}
	return checkCommand(pattern)
}

func checkCommand(pattern string) error {
	words, ok := plain.Words(pattern)
	if !ok || !isOpen(words) {
		return nil // it fits itself alone
	}
	if words = words[:len(words)-1]; len(words) == 0 || slices.Contains(runners, path.Base(words[0])) {
		return fmt.Errorf("%w: %s would run whatever follows; name the command it runs", ErrInvalid, pattern)
	}
	return nil
}

// CommandOf names the argument of a tool that is a command; empty if none is.
func CommandOf(tool string) string { return scripts[tool].member }
