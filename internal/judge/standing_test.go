package judge_test

import (
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
)

// Where a standing rule may answer: "rule" in a cell, "-" where nobody is asked or only a
// person answers. A cell with a slash has before and after words of strangers.
const ruledTable = `
                          hub  in-person  program  named  talk    stranger  task    spared
reads                     -    -          -        -      -       -         -       -
reads-a-new-host          -    -          -        -      -       -         -       -
notes-about-the-sender    -    -          -        -      -       -         -       -
writes-in-its-folder      -    -          -        -      -       -         -       -
changes-at-a-tool-server  -    -          -        -      -       -         rule/-  -
leaves-the-box            -    -          -        -      rule/-  -         rule/-  -
runs-a-program            -    -          -        -      rule/-  -         rule/-  -
runs-a-listed-program     -    -          -        -      rule/-  -         -       -
shows-a-machine           -    -          -        -      rule/-  -         rule/-  rule/-
changes-a-machine         -    -          -        -      rule/-  -         rule/-  rule/-
speaks-to-others          -    -          -        -      rule/-  -         rule/-  -
spends-beyond-its-budget  -    -          -        -      -       -         -       -
`

func TestWhereAStandingRuleMayAnswer(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(ruledTable), "\n")
	heads := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		call := calls[cells[0]]
		call.Tool, call.Why, call.Scene = "it", "because", approval.Scene{Hosts: []string{"example.org"}}
		for i, head := range heads {
			fresh, tainted, split := strings.Cut(cells[i+1], "/")
			if !split {
				tainted = fresh
			}
			c := columns()[head]
			for is, want := range map[bool]string{false: fresh, true: tainted} {
				c.in.Tainted = is
				scene := judge.Rules(nil).Decide(c.who, call, c.in).Need.Scene
				if (scene != nil) != (want == "rule") {
					t.Errorf("%s, %s, after words of strangers %v: a standing rule may answer: %v, want %q", cells[0], head, is, scene != nil, want)
				}
				if scene != nil && (scene.Agent != "parley" || !slices.Equal(scene.Hosts, call.Scene.Hosts)) {
					t.Errorf("%s, %s: a rule is held against %+v, want the agent and the host", cells[0], head, scene)
				}
			}
		}
	}
}

// What is stronger than the table is stronger than standing rules, too: the hub's own rules,
// a task that asks before every call, an agent's file that does, and a program without a box.
func TestNoStandingRuleAnswersWhatSomethingStrongerAsks(t *testing.T) {
	task := columns()["task"]
	call := calls["runs-a-program"]
	call.Tool, call.Why = "it", "because"
	always, required, unboxed, later, stranger := task.in, task.in, call, call, task.in
	always.Mode, required.Required, unboxed.Unboxed, later.Unruled, stranger.Stranger = judge.AlwaysAsk, []string{"it"}, true, true, true
	hubs := judge.Rules{{Tools: []string{"it"}, Need: judge.Need{Quorum: 1}}}
	for name, v := range map[string]judge.Verdict{
		"policy.approvals":                  hubs.Decide(task.who, call, task.in),
		"a task that asks before all":       judge.Rules(nil).Decide(task.who, call, always),
		"require_approval":                  judge.Rules(nil).Decide(task.who, call, required),
		"no box":                            judge.Rules(nil).Decide(task.who, unboxed, task.in),
		"a call that runs later":            judge.Rules(nil).Decide(task.who, later, task.in),
		"a stranger speaks to the agent":    judge.Rules(nil).Decide(task.who, call, stranger),
		"a program that is no hosted agent": judge.Rules(nil).Decide(columns()["program"].who, call, task.in),
		"a room":                            judge.Rules(nil).Decide(task.who, calls["changes-a-machine"], judge.Setting{Where: identity.InRoom}),
	} {
		if v.Action == judge.Run || v.Need.Scene != nil {
			t.Errorf("%s: %s, and a standing rule may answer: %v; want a person asked, or a no", name, words[v.Action], v.Need.Scene != nil)
		}
	}
}
