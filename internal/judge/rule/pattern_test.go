package rule_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/judge/plain"
	"parley.internal/internal/judge/rule"
)

func command(text string) rule.Pattern {
	raw, _ := json.Marshal(text)
	return rule.Pattern{"command": jsontext.Value(raw)}
}

// shell is a question about a command of the agent parley.
func shell(command string) approval.Item {
	raw, _ := json.Marshal(map[string]any{"command": command})
	return item("shell", string(raw), approval.Scene{Agent: "parley", Folder: "."})
}

func item(tool, args string, scene approval.Scene) approval.Item {
	return approval.Item{Request: approval.Request{Kind: approval.KindTool, Tool: tool, Arguments: json.RawMessage(args), Scene: &scene}}
}

func ruleFor(pattern string) rule.Rule {
	return rule.Rule{Agent: "parley", Tool: "shell", Folder: ".", Arguments: command(pattern)}
}

// "git status" was to be allowed, and "git status; rm -rf /" begins with it.
func TestAShellsSignsNeverWidenARule(t *testing.T) {
	for _, pattern := range []string{"git status", "git status …", "git status ..."} {
		for _, evil := range []string{
			"git status; rm -rf /", "git status && rm x", "git status | sh", "git status $(rm x)", "git status `rm x`", "git status > x", "git status & rm x",
			"git status\nrm x", "git status $HOME", "git statusx", "git", "git push", "GIT_DIR=. git status", "sudo git status", "git status *", "git 'status;rm'", "",
		} {
			if ruleFor(pattern).Answers(shell(evil)) {
				t.Errorf("a rule for %q answers %q", pattern, evil)
			}
		}
	}
	for pattern, fine := range map[string][]string{
		"git status":        {"git status", " git  status", `git "status"`},
		"git status …":      {"git status", "git status -s", "git status --porcelain 'a b'"},
		"make && make test": {"make && make test"},
		"echo 'two  words'": {`echo "two  words"`},
	} {
		for _, one := range fine {
			if !ruleFor(pattern).Answers(shell(one)) {
				t.Errorf("a rule for %q does not answer %q", pattern, one)
			}
		}
	}
	if ruleFor("git status").Answers(shell("git status -s")) || ruleFor("make && make test").Answers(shell("make && make test ")) {
		t.Error("a rule without … answers more than itself")
	}
}

// A rule names everything: each of these is the question it is for, but for one thing.
func TestARuleAnswersOnlyWhatItNames(t *testing.T) {
	right := &approval.Right{Scope: "fleet:call", Machines: []approval.Machine{{ID: "pc"}}}
	base := func() approval.Item {
		one := item("it", `{"to":"bob","n":1}`, approval.Scene{Agent: "parley", Folder: "src", Read: []string{"/in"}, Write: []string{"/out"}, Hosts: []string{"example.org"}})
		one.Policy.Right = right
		return one
	}
	r, err := rule.From(base())
	if err != nil || !r.Answers(base()) {
		t.Fatalf("a rule from a question does not answer it: %v", err)
	}
	for name, change := range map[string]func(*approval.Item){
		"another agent":              func(i *approval.Item) { i.Scene.Agent = "other" },
		"another tool":               func(i *approval.Item) { i.Tool = "other" },
		"another folder":             func(i *approval.Item) { i.Scene.Folder = "." },
		"a folder outside to read":   func(i *approval.Item) { i.Scene.Read = []string{"/in", "/etc"} },
		"one below a named one":      func(i *approval.Item) { i.Scene.Read = []string{"/in/secret"} },
		"a folder to change":         func(i *approval.Item) { i.Scene.Write = []string{"/in"} },
		"another host":               func(i *approval.Item) { i.Scene.Hosts = []string{"evil.example.org"} },
		"one host more":              func(i *approval.Item) { i.Scene.Hosts = []string{"example.org", "evil.org"} },
		"another machine":            func(i *approval.Item) { i.Policy.Right = &approval.Right{Machines: []approval.Machine{{ID: "pc2"}}} },
		"another value":              func(i *approval.Item) { i.Arguments = json.RawMessage(`{"to":"eve","n":1}`) },
		"one argument more":          func(i *approval.Item) { i.Arguments = json.RawMessage(`{"to":"bob","n":1,"cc":"eve"}`) },
		"one argument less":          func(i *approval.Item) { i.Arguments = json.RawMessage(`{"to":"bob"}`) },
		"an argument said twice":     func(i *approval.Item) { i.Arguments = json.RawMessage(`{"to":"bob","n":1,"to":"bob"}`) },
		"a name in other letters":    func(i *approval.Item) { i.Arguments = json.RawMessage(`{"To":"bob","n":1}`) },
		"words of strangers":         func(i *approval.Item) { i.Taint = &approval.Taint{} },
		"the judge wants a person":   func(i *approval.Item) { i.Scene = nil },
		"a call that may run later":  func(i *approval.Item) { i.Arguments = json.RawMessage(`{"to":"bob","n":1,"queue_for_s":60}`) },
		"a question that is no call": func(i *approval.Item) { i.Kind = approval.KindAsk },
	} {
		one := base()
		change(&one)
		if r.Answers(one) {
			t.Errorf("%s: the rule answers all the same", name)
		}
	}
	r.Arguments["to"] = jsontext.Value(`"…"`)
	open := base()
	open.Arguments = json.RawMessage(`{"to":"anybody","n":1}`)
	if !r.Answers(open) {
		t.Error("an argument that may be anything was not")
	}
}

// A rule for a command in the agent's folder does not open the way to a host.
func TestWhatLeavesTheBoxIsNamed(t *testing.T) {
	r := ruleFor("curl …")
	out := shell("curl https://example.org")
	out.Scene.Hosts = []string{"example.org"}
	if r.Answers(out) {
		t.Error("a host that the rule does not name was answered")
	}
	host := item("network", `{"host":"example.org"}`, approval.Scene{Agent: "parley", Hosts: []string{"example.org"}})
	if r.Answers(host) {
		t.Error("a rule about a command answers for a host")
	}
	if named, err := rule.From(host); err != nil || !named.Answers(host) || !strings.Contains(named.Words(), "connect to example.org") {
		t.Errorf("a rule that names the host: %v %q", err, named.Words())
	}
}

func TestNoRuleIsMadeOfAQuestionThatWantsAPerson(t *testing.T) {
	tainted, several, bare, note := shell("ls"), shell("ls"), shell("ls"), shell("ls")
	tainted.Taint, several.Quorum, bare.Scene, note.Kind = &approval.Taint{}, 2, nil, approval.KindNote
	for name, one := range map[string]approval.Item{"words of strangers": tainted, "two people": several, "the judge": bare, "a note": note} {
		if _, err := rule.From(one); !errors.Is(err, rule.ErrInvalid) {
			t.Errorf("%s: a rule was made of it: %v", name, err)
		}
	}
}

func TestARuleIsToldInWords(t *testing.T) {
	r := ruleFor("git status …")
	r.Until, r.Uses, r.Hosts = time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC), 20, []string{"example.org"}
	if got, want := r.Words(), "parley may run `git status …` in its folder, connecting to example.org, until 2026-12-01 18:00 UTC, 20 times"; got != want {
		t.Errorf("told as\n%s, want\n%s", got, want)
	}
	hidden := ruleFor("echo a\u202eb")
	if strings.Contains(hidden.Words(), "\u202e") {
		t.Error("what turns the text round is not written out")
	}
}

func TestARuleIsTriedBeforeItIsMade(t *testing.T) {
	var asked []approval.Item
	for i, state := range []approval.State{approval.StateApproved, approval.StateRejected, approval.StatePending, approval.StateExpired} {
		one, other := shell("git status"), shell("rm x")
		one.Outcome.State, other.Outcome.State = state, approval.StateApproved
		asked = append(asked, one)
		if i == 0 {
			asked = append(asked, other)
		}
	}
	if got, want := ruleFor("git …").Try(asked), (rule.Trial{Asked: 4, Answered: 3, Refused: 1}); got != want {
		t.Errorf("tried: %+v, want %+v", got, want)
	}
}

// Whatever a pattern is, it answers no command that is not plain, but for itself; and one
// that ends in … begins with the same words.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{{"git status …", "git status; rm x"}, {"a …", "a $(b)"}, {"…", "x"}, {"a '…'", "a b"}, {"a ...", "a 'b c'"}, {"a\n…", "a\nb"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !ruleFor(pattern).Answers(shell(text)) || pattern == text {
			return
		}
		words, ok := plain.Words(text)
		want, _ := plain.Words(pattern)
		if !ok || len(want) == 0 || len(words) == 0 || words[0] != want[0] {
			t.Errorf("a rule for %q answers %q", pattern, text)
		}
	})
}
