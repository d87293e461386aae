package judge_test

import (
	"strings"
	"testing"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
)

// The whole policy at a glance: what a call does, and who wants it. A cell with a slash
// has what happens before the run read words of strangers, and after.
//
//	in person: a person on a page of theirs        program: a token, a script, an MCP client
//	talk:      an agent in a conversation          stranger: an agent that others speak to, or in a room
//	task:      an agent with a task                named: whoever was given fleet:unattended by name
//	spared:    a task whose agent's file has auto_approve for it
const wholeTable = `
                          hub  in-person  program  named  talk     stranger  task     spared
reads                     run  run        run      run    run      run       run      run
reads-a-new-host          run  run        run      run    run/ask  run/ask   run/ask  run/ask
notes-about-the-sender    run  run        run      run    run      run       run      run
writes-in-its-folder      run  run        run      run    run      ask       run      run
changes-at-a-tool-server  run  run        run      run    run/ask  ask       ask      run/ask
leaves-the-box            run  run        ask      ask    ask      no        ask      run/ask
runs-a-program            run  run        ask      ask    ask      no        ask      run/ask
runs-a-listed-program     run  run        ask      ask    ask      no        run      run
shows-a-machine           run  run        run      run    ask      ask       ask      ask
changes-a-machine         run  run        ask      run    ask      ask       ask      ask
speaks-to-others          run  run        run      run    ask      no        ask      run/ask
spends-beyond-its-budget  run  run        ask      ask    no       no        ask      ask
`

var calls = map[string]judge.Call{
	"reads":                    {Class: judge.Reads, Label: judge.ReadOnly},
	"reads-a-new-host":         {Class: judge.Fetches, Label: judge.ReadOnly},
	"notes-about-the-sender":   {Class: judge.Notes, Label: judge.Mutating},
	"writes-in-its-folder":     {Class: judge.Writes, Label: judge.Mutating},
	"changes-at-a-tool-server": {Class: judge.Serves, Label: judge.Mutating},
	"leaves-the-box":           {Class: judge.Leaves, Label: judge.Sensitive},
	"runs-a-program":           {Class: judge.Runs, Label: judge.Sensitive},
	"runs-a-listed-program":    {Class: judge.Runs, Label: judge.Sensitive, Harmless: true},
	"shows-a-machine":          {Class: judge.Shows, Label: judge.Sensitive},
	"changes-a-machine":        {Class: judge.Changes, Label: judge.Mutating},
	"speaks-to-others":         {Class: judge.Speaks, Label: judge.Mutating},
	"spends-beyond-its-budget": {Class: judge.Spends, Label: judge.Sensitive},
}

type whoWhere struct {
	who identity.Actor
	in  judge.Setting
}

func columns() map[string]whoWhere {
	token := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "a", Name: "alice"}, Scopes: identity.Expand(identity.Admin)}
	page, named := token, token
	page.InPerson = true
	named.Scopes = identity.Expand(identity.Admin, identity.FleetUnattended)
	agent := func(where identity.Where) identity.Actor { return page.ForAgent("parley", where, "run") }
	return map[string]whoWhere{
		"hub":       {identity.Hub(), judge.Setting{Where: identity.AtHub}},
		"in-person": {page, judge.Setting{Where: identity.AtPage}},
		"program":   {token, judge.Setting{Where: identity.AtAPI}},
		"named":     {named, judge.Setting{Where: identity.AtMCP}},
		"talk":      {agent(identity.InConversation), judge.Setting{Where: identity.InConversation}},
		"stranger":  {agent(identity.InRoom), judge.Setting{Where: identity.InRoom, Stranger: true}},
		"task":      {agent(identity.InTask), judge.Setting{Where: identity.InTask}},
		"spared":    {agent(identity.InTask), judge.Setting{Where: identity.InTask, Spared: []string{"it"}}},
	}
}

func eachCell(t *testing.T, check func(name string, call judge.Call, c whoWhere, want string)) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(wholeTable), "\n")
	heads := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		call := calls[cells[0]]
		call.Tool, call.Why = "it", "because"
		for i, head := range heads {
			check(cells[0]+", "+head, call, columns()[head], cells[i+1])
		}
	}
}

var words = map[judge.Action]string{judge.Run: "run", judge.Ask: "ask", judge.Refuse: "no"}

func TestTheWholeTable(t *testing.T) {
	eachCell(t, func(name string, call judge.Call, c whoWhere, want string) {
		fresh, tainted, split := strings.Cut(want, "/")
		if !split {
			tainted = fresh
		}
		for is, want := range map[bool]string{false: fresh, true: tainted} {
			c.in.Tainted = is
			v := judge.Rules(nil).Decide(c.who, call, c.in)
			if words[v.Action] != want || (v.Reason == "") != (v.Action == judge.Run) {
				t.Errorf("%s, after words of strangers %v: %s %q, want %s", name, is, words[v.Action], v.Reason, want)
			}
		}
	})
}

// Without a box a command has the rights of the hub itself: whoever was given tasks that do not
// ask, and nothing else, read owner.token with one.
func TestAProgramWithoutABoxAsksInEveryMode(t *testing.T) {
	call := calls["runs-a-listed-program"]
	call.Tool, call.Why, call.Unboxed = "it", "because", true
	for _, mode := range []judge.Mode{judge.AgentDecides, judge.AlwaysAsk, judge.AlwaysExecute} {
		for head, want := range map[string]judge.Action{"task": judge.Ask, "spared": judge.Ask, "talk": judge.Ask, "program": judge.Ask, "stranger": judge.Refuse} {
			c := columns()[head]
			c.in.Mode = mode
			if v := judge.Rules(nil).Decide(c.who, call, c.in); v.Action != want || v.Need.Scene != nil {
				t.Errorf("%s in mode %q: %s, a standing rule may answer: %v; want %s by a person", head, mode, words[v.Action], v.Need.Scene != nil, words[want])
			}
		}
	}
}

// A task that need not ask runs what it wants, and still asks before it spends more than
// it was given: a budget that the task itself could raise would be none.
func TestATaskThatNeedNotAskStillAsksForMoney(t *testing.T) {
	c := columns()["task"]
	c.in.Mode = judge.AlwaysExecute
	for name, want := range map[string]judge.Action{"spends-beyond-its-budget": judge.Ask, "speaks-to-others": judge.Run, "runs-a-program": judge.Run} {
		call := calls[name]
		call.Why = "because"
		if v := judge.Rules(nil).Decide(c.who, call, c.in); v.Action != want {
			t.Errorf("%s in a task that need not ask: %s, want %s", name, words[v.Action], words[want])
		}
	}
}

// A rule of the hub binds whoever comes, a person in person too, in every mode; only
// what never runs is stronger, and what the hub carries out was asked about before.
func TestARuleBindsInEveryModeAndOnEverySurface(t *testing.T) {
	need := judge.Need{Quorum: 2, Policy: approval.Policy{NotAsker: true}}
	rules := judge.Rules{{Tools: []string{"other"}}, {Tools: []string{"i*"}, Need: need}}
	eachCell(t, func(name string, call judge.Call, c whoWhere, want string) {
		for _, mode := range []judge.Mode{judge.AgentDecides, judge.AlwaysAsk, judge.AlwaysExecute} {
			c.in.Mode = mode
			v := rules.Decide(c.who, call, c.in)
			switch {
			case want == "no" && v.Action != judge.Refuse:
				t.Errorf("%s, mode %q: %s; a rule must not open what never runs", name, mode, words[v.Action])
			case c.in.Where == identity.AtHub && v.Action != judge.Run:
				t.Errorf("%s: %s; what somebody agreed to was not carried out", name, words[v.Action])
			case want != "no" && c.in.Where != identity.AtHub && (v.Action != judge.Ask || v.Need.Quorum != 2 || !v.Need.Bound()):
				t.Errorf("%s, mode %q: %s %+v; the rule wants two people", name, mode, words[v.Action], v.Need)
			}
		}
	})
}

// A rule without tools and class is about whatever changes something.
func TestARuleAboutEverythingSparesReading(t *testing.T) {
	rules := judge.Rules{{Need: judge.Need{Quorum: 1}}}
	c := columns()["in-person"]
	for name, want := range map[string]judge.Action{"reads": judge.Run, "writes-in-its-folder": judge.Ask, "shows-a-machine": judge.Ask, "changes-a-machine": judge.Ask} {
		if v := rules.Decide(c.who, calls[name], c.in); v.Action != want {
			t.Errorf("%s: %s, want %s", name, words[v.Action], words[want])
		}
	}
}

// Once somebody said yes in a run, the like of it is shown again without asking; a
// change never is.
func TestAYesHoldsForWhatIsShownAndNotForWhatChanges(t *testing.T) {
	c := columns()["task"]
	for name, want := range map[string]judge.Action{"shows-a-machine": judge.Run, "changes-a-machine": judge.Ask} {
		call := calls[name]
		call.Agreed = true
		if v := judge.Rules(nil).Decide(c.who, call, c.in); v.Action != want {
			t.Errorf("%s after a yes: %s, want %s", name, words[v.Action], words[want])
		}
	}
}
