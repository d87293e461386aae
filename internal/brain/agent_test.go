package brain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain"
)

const fullAgent = `---
# who it is
description: Looks after the garden
model: anthropic:claude-sonnet-4-5
thinking: high
tools: [files, web, ask_user]
guest_tools: [recall]
auto_approve: shell
skills: ["*"]
mcps: [weather]
members: [kibitzer]
senders: [user, "tg:*"]
workspace: /srv/garden
max_iterations: 5
run_timeout: 1h30m
compact_threshold: 60 %
compact_model: offline
compact_tool_max_len: 200
recall: auto
auto_title: model
temperature: 0.3
max_output_tokens: 4000
budget:
  run_usd: 0.5
  run_tokens: 10000
  day_usd: 2
  day_tokens: 50000
  month_usd: 20
  hard: true
mode: always-ask
require_approval: [file_write]
---

You look after a garden.

---
This line is still the prompt.
`

func TestEveryKeyOfAnAgentIsRead(t *testing.T) {
	a, err := brain.ParseAgent("garden", []byte(fullAgent))
	if err != nil {
		t.Fatal(err)
	}
	warm := 0.3
	want := &brain.Agent{
		Name: "garden", Description: "Looks after the garden", Model: "anthropic:claude-sonnet-4-5", Thinking: "high",
		Prompt: "You look after a garden.\n\n---\nThis line is still the prompt.",
		Tools:  []string{"files", "web", "ask_user"}, GuestTools: []string{"recall"}, AutoApprove: []string{"shell"},
		Skills: []string{"*"}, MCPs: []string{"weather"}, Members: []string{"kibitzer"}, Senders: []string{"user", "tg:*"},
		Workspace: "/srv/garden", MaxIterations: 5, RunTimeout: 90 * time.Minute,
		Compact: brain.Threshold{Percent: 60}, CompactModel: "offline", CompactToolMaxLen: 200,
		RecallAuto: true, AutoTitle: true, Temperature: &warm, MaxOutputTokens: 4000,
		Budget: brain.Budget{
			RunMicros: 500_000, RunTokens: 10_000, DayMicros: 2_000_000, DayTokens: 50_000,
			MonthMicros: 20_000_000, Hard: true,
		},
		Mode: "always_ask", RequireApproval: []string{"file_write"},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAFileDoesNotSayHasItsDefault(t *testing.T) {
	want := &brain.Agent{
		Name: "a", Description: "Be kind.", Prompt: "# Be kind.\nAlways.",
		Tools:         []string{"ask_user", "recall", "remember", "forget", "skill"},
		MaxIterations: 16, RunTimeout: 30 * time.Minute, Compact: brain.Threshold{Percent: 80}, CompactToolMaxLen: 1024,
	}
	for name, file := range map[string]string{
		"no front matter":    "# Be kind.\nAlways.\n",
		"empty front matter": "---\n---\n# Be kind.\nAlways.",
		"a comment":          "---\n# nothing\n---\n\n# Be kind.\nAlways.\n\n",
		"empty values":       "---\nmodel:\ntools: ~\nbudget:\n---\n# Be kind.\nAlways.",
		"windows":            "\uFEFF---\r\nthinking: off\r\n---\r\n# Be kind.\r\nAlways.\r\n",
	} {
		a, err := brain.ParseAgent("a", []byte(file))
		if diff := cmp.Diff(want, a); err != nil || diff != "" {
			t.Errorf("%s: %v %s; want no error, no difference", name, err, diff)
		}
	}
	a, err := brain.ParseAgent("a", []byte("---\ntools: []\n---\n"))
	if err != nil || len(a.Tools) != 0 || a.Prompt != "" || a.Description != "" {
		t.Errorf("no tools means none: %+v %v", a, err)
	}
}

func TestAMistakeInAFileIsNamedWithItsLine(t *testing.T) {
	for front, want := range map[string]string{
		"model: x\nmodell: y":        `line 3: unknown key "modell"; did you mean "model"?`,
		"colour: red":                `line 2: unknown key "colour"; known are description, model`,
		"colour:":                    `line 2: unknown key "colour"`,
		"budget:\n  day_usds: 1":     `line 3: unknown key "budget.day_usds"; did you mean "day_usd"?`,
		"budget:\n  day_usd: none":   "line 3: budget.day_usd: want an amount in US dollars",
		"budget: 3":                  "line 2: budget: want keys",
		"model: a\nmodel: b":         "model",
		"thinking: deep":             "line 2: thinking: want off or one of low, medium, high",
		"tools: {a: b}":              "line 2: tools: want a list of names",
		"tools: [a, [b]]":            "line 2: tools: want a list of names",
		"max_iterations: many":       "line 2: max_iterations: want a whole number from 1 to 1000",
		"max_iterations: 0":          "line 2: max_iterations",
		"run_timeout: 30":            "line 2: run_timeout: want a time like 30m",
		"compact_threshold: 180%":    "line 2: compact_threshold: want off, a share",
		"compact_threshold: 0":       "line 2: compact_threshold",
		"temperature: 3":             "line 2: temperature: want a number from 0 to 2",
		"temperature: .nan":          "line 2: temperature",
		"recall: always":             "line 2: recall: want off or one of auto",
		"mode: sometimes":            "line 2: mode: want always_ask",
		"description: [a]":           "line 2: description: want text",
		"- a\n- b":                   "not a list of keys and values",
		"model: \"x":                 "line",
		"max_output_tokens: -5":      "line 2: max_output_tokens",
		"budget: {run_tokens: 0}":    "budget.run_tokens: want a number of tokens above 0",
		"budget: {hard: perhaps}":    "budget.hard: want true or false",
		"auto_title: yes please":     "line 2: auto_title",
		"compact_tool_max_len: long": "line 2: compact_tool_max_len",
	} {
		_, err := brain.ParseAgent("a", []byte("---\n"+front+"\n---\nx"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", front, err, want)
		}
	}
	for name, file := range map[string]string{"open": "---\nmodel: x\n", "bytes": "\xff", "huge": strings.Repeat("x", 1<<20+1)} {
		if _, err := brain.ParseAgent("a", []byte(file)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, name := range []string{"", "A", "-a", "a b", "../a", "a.b", strings.Repeat("a", 65)} {
		if _, err := brain.ParseAgent(name, nil); err == nil {
			t.Errorf("name %q accepted", name)
		}
	}
}

func TestWhenAWindowIsCompacted(t *testing.T) {
	for _, c := range []struct {
		t      brain.Threshold
		window int64
		want   int64
		on     bool
	}{
		{brain.Threshold{Percent: 80}, 200_000, 160_000, true},
		{brain.Threshold{Percent: 80}, 0, 100_000, true},
		{brain.Threshold{Tokens: 5000}, 200_000, 5000, true},
		{brain.Threshold{Off: true}, 200_000, 0, false},
	} {
		if got, on := c.t.Limit(c.window); got != c.want || on != c.on {
			t.Errorf("%v of %d: %d %v", c.t, c.window, got, on)
		}
	}
}

func TestSendersMembersAndSkills(t *testing.T) {
	a := &brain.Agent{Senders: []string{"user", "tg:*"}, Members: []string{"*"}, Skills: []string{"tea"}}
	for s, want := range map[string]bool{"user": true, "users": false, "tg:1": true, "tg:": true, "sl:1": false, "tg:*": true} {
		if a.AllowsSender(s) != want {
			t.Errorf("sender %s", s)
		}
	}
	if !(&brain.Agent{}).AllowsSender("anybody") || !a.HasMember("x") || a.HasMCP("x") || !a.HasSkill("tea") || a.HasSkill("coffee") {
		t.Error("wrong")
	}
}

// FuzzParseAgent: any file is an agent or an error, never a panic, and an agent's
// configuration makes the same agent again.
func FuzzParseAgent(f *testing.F) {
	for _, s := range []string{
		"", "---", "---\n---", fullAgent, "---\na: &x [1]\nb: *x\n---\n", "---\nbudget: {run_usd: 1e-9}\n---\nx",
		"---\ntools: &t [a]\nskills: *t\n---\n", "---\nmodel: !!binary aGk=\n---\n", "no front", "---\n? [a]\n: b\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := brain.ParseAgent("a", file)
		if err != nil {
			return
		}
		if a.MaxIterations < 1 || a.RunTimeout <= 0 || a.Budget.DayMicros < 0 {
			t.Errorf("%+v; want a.MaxIterations to be at least 1, a.RunTimeout to be more than 0, a.Budget.DayMicros to be at least 0", a)
		}
		_ = a.Config()
	})
}
