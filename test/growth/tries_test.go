//go:build linux

package growth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"pgregory.net/rapid"

	"parley.internal/client/viber"
	agentwire "parley.internal/protocol/agentfirst"
)

// try is an attempt to change something: by a command on a machine, where a rule of the hub
// wants somebody else's word about one of two, by one of the hub's own shell in a task, or
// by a file, which a rule wants two people to agree to.
type try struct {
	by      *credential
	tool    string // shell_exec, powershell_exec, shell, file_write
	machine string // of those that run on one
	way     string
	mode    string // what a task was asked to be
	screen  bool   // a board submitted the task
	// unasking says that its agent does so when nothing else is said.
	unasking bool
	word     string // in what it does, and nowhere else
	task     string
	// question is what is asked now, and bound that a rule wants the word of somebody else
	// than who asked: what a delegate wants is asked about twice, for its person first. yes is
	// who may and said yes, where there is a rule to what it asks.
	question string
	bound    bool
	yes      map[*person]bool
	// ended says that whoever waited has an answer, whatever it is.
	ended atomic.Bool
}

// GoString is how a drawn one is shown in a failure.
func (y *try) GoString() string { return y.word + " by " + y.by.String() + " by way of " + y.way }

// permitted is the law: who may do it unasked, or was told yes.
func (y *try) permitted() bool {
	switch y.tool {
	case "file_write":
		return y.by.scopes["task:submit"] && len(y.yes) >= 2
	case "shell":
		unattended := y.mode == "always_execute" || y.mode == "" && y.unasking
		return y.by.scopes["task:submit"] && (len(y.yes) > 0 || unattended && y.by.scopes["task:unattended"])
	}
	unasked := y.by.scopes["fleet:unattended"] || y.way == "REST" && y.by.inPerson()
	return y.might() && (len(y.yes) > 0 || unasked && !y.ruled())
}

// ruled says whether a rule wants the word of somebody else, whoever it is that asks.
func (y *try) ruled() bool { return y.tool == "powershell_exec" }

// might says whether it could be done at all, if somebody said yes.
func (y *try) might() bool { return y.by.scopes["fleet:call"] && y.by.reaches(y.machine) }

// mayNotAnswer is the law, and says in words whom it keeps from answering: a person's own
// questions or for an admin everybody's, nobody over MCP, nobody who asked where a rule
// wants somebody else, about machines only what the answerer could do, and no program
// itself, with whatever it made. A board is its person's screen, except about machines.
func (y *try) mayNotAnswer(c *credential, way string) string {
	switch {
	case way == "mcp":
		return "over MCP a model would answer"
	case !c.mayUse(y.by.person, "approval:respond"):
		return "the question is not theirs to answer"
	case y.machine != "" && !y.might():
		return "" // whoever asked may not use the machine: it is refused whatever they say
	case y.bound && c.person == y.by.person:
		return "a rule wants the word of somebody else than who asked"
	case y.machine != "" && !(c.may("fleet:call") && c.reaches(y.machine)):
		return "they could not do it themselves"
	case (y.machine != "" || !y.screen) && sameProgram(c, y.by):
		return "the same program asked"
	}
	return ""
}

// happened reports whether the script ran.
func (r *run) happened(y *try) bool {
	switch y.tool {
	case "shell_exec", "powershell_exec":
		return r.did(y.word)
	case "file_write":
		return r.wrote(y.word + ".txt")
	}
	a := r.rest(r.root, "GET", "/api/tasks/"+y.task+"/events", nil)
	return strings.Contains(string(a.body), "ran-"+y.word)
}

// wrote reports whether there is a file of this name in somebody's workspace.
func (r *run) wrote(name string) bool {
	found, err := filepath.Glob(filepath.Join(r.Path("workspaces"), "*", name))
	return err == nil && len(found) > 0
}

// script does something that shows, with a word that is not in the script as a whole. Its
// first line is what the other of the two tools wants of one for a shell.
func (y *try) script() string { return "#!/bin/sh\nprintf 'r%s-" + y.word + "' an" }

// CallMachine changes a machine, one way or another.
func (r *run) CallMachine(*rapid.T) {
	by := r.usable("by")
	ways := []string{"REST", "mcp", "task"}
	if by.kind != "page" {
		ways = append(ways, "talk", "delegate")
	}
	r.begin(&try{by: by, tool: r.draw("tool", "shell_exec", "powershell_exec"), machine: r.draw("machine", machines...), way: r.draw("way", ways...)})
}

// HandOverWork has a task run a command on the hub, or write a file.
func (r *run) HandOverWork(*rapid.T) {
	r.begin(&try{
		by: r.usable("by"), tool: r.draw("tool", "shell", "file_write"), way: "task",
		mode: r.draw("mode", "", "agent_decides", "always_execute"), unasking: r.unasking,
	})
}

// begin starts a try and waits until it is decided, or waits for somebody.
func (r *run) begin(y *try) {
	y.word, y.yes = fmt.Sprintf("stork%dx", r.next()), map[*person]bool{}
	if !r.start(y) {
		y.ended.Store(true)
	}
	r.tries = append(r.tries, y)
	r.eventually("a try of "+y.by.String()+" by "+y.way+" runs, asks or is refused", func() bool {
		return r.asks(y) || y.ended.Load() || r.over(y)
	})
	r.onlyWhatIsPermitted(y)
	if y.question != "" && rapid.Bool().Draw(r.t, "answered at once") {
		r.answer(y)
	}
	r.tally("changing something by "+y.way, r.happened(y))
}

// over reports whether a task has ended.
func (r *run) over(y *try) bool {
	if y.task == "" {
		return false
	}
	var is struct{ Status string }
	r.decode(r.rest(r.root, "GET", "/api/tasks/"+y.task, nil), &is)
	return is.Status == "completed" || is.Status == "failed" || is.Status == "stopped"
}

// start reports whether something goes on that has not ended yet.
func (r *run) start(y *try) bool {
	args := map[string]any{"script": y.script()}
	switch y.way {
	case "REST":
		body := map[string]any{"tool": y.tool, "args": args, "approval_wait_s": 0}
		return r.rest(y.by, "POST", "/api/machines/"+y.machine+"/calls", body).status == 202
	case "task":
		y.task, y.screen = r.submit(y.by, y.words(), map[string]string{"shell": shared, "shell_exec": operator, "powershell_exec": operator, "file_write": writer}[y.tool], y.mode)
		return y.task != ""
	}
	args["agent_id"] = y.machine
	ctx, cancel := context.WithCancel(r.world.t.Context())
	done := make(chan struct{})
	r.cleanup = append(r.cleanup, func() { cancel(); <-done })
	if y.way == "mcp" {
		go func() {
			defer close(done)
			_, _ = r.mcp(ctx, y.by, y.tool, args)
			y.ended.Store(true)
		}()
		return true
	}
	client := r.talk(y.by)
	if client == nil {
		close(done)
		return false
	}
	agent, words := operator, y.words()
	if y.way == "delegate" {
		agent, words = boss, delegated(operator, words)
	}
	go func() {
		defer close(done)
		_, _ = client.Send(ctx, &agentwire.Turn{Agent: agent, Thread: y.word, Content: words})
		y.ended.Store(true)
	}()
	return true
}

// words make the offline model use the tool.
func (y *try) words() string {
	args := map[string]any{"agent_id": y.machine, "script": y.script()}
	switch y.tool {
	case "shell":
		args = map[string]any{"command": y.script()}
	case "file_write":
		args = map[string]any{"path": y.word + ".txt", "content": "x"}
	}
	raw, _ := json.Marshal(args) // strings only
	return "/tool " + y.tool + " " + string(raw) + "\n/result"
}

// delegated makes the offline model hand words on to another agent.
func delegated(agent, words string) string {
	raw, _ := json.Marshal(map[string]any{"tasks": []any{map[string]string{"agent": agent, "message": words}}}) // strings only
	return "/tool delegate " + string(raw) + "\n/result"
}

// asks finds the question that shows the word of a try, and reports whether there is one.
func (r *run) asks(y *try) bool {
	var list struct {
		Approvals []struct {
			ID        string
			Arguments json.RawMessage
			NotAsker  bool `json:"not_asker"`
		}
	}
	r.decode(r.rest(r.root, "GET", "/api/approvals", nil), &list)
	for _, q := range list.Approvals {
		if strings.Contains(string(q.Arguments), y.word) {
			y.question, y.bound = q.ID, q.NotAsker
			return true
		}
	}
	return false
}

func (r *run) onlyWhatIsPermitted(y *try) {
	r.t.Helper()
	if r.happened(y) && !y.permitted() {
		r.t.Fatalf("%s used %s by %s on %q, mode %q, and nobody who could said yes\nit holds %v", y.by, y.tool, y.way, y.machine, y.mode, y.by.scopes)
	}
}

// Answer has somebody say yes or no to a question, whosever it is.
func (r *run) Answer(t *rapid.T) {
	var open []*try
	for _, y := range r.tries {
		if y.question != "" {
			open = append(open, y)
		}
	}
	if len(open) == 0 {
		return
	}
	r.answer(rapid.SampledFrom(open).Draw(t, "question"))
}

func (r *run) answer(y *try) {
	c, yes, way := r.whoAnswers(y), rapid.Bool().Draw(r.t, "yes"), "REST"
	if c.kind != "page" {
		way = r.draw("way", "REST", "mcp", "wire")
	}
	r.say(c, way, y, yes)
	var now struct{ Outcome string }
	r.decode(r.rest(r.root, "GET", "/api/approvals/"+y.question, nil), &now)
	why := y.mayNotAnswer(c, way)
	if yes && why == "" && y.bound == y.ruled() {
		y.yes[c.person] = true
	}
	r.tally("answering over "+way, now.Outcome != "pending")
	if now.Outcome == "pending" {
		return
	}
	if why != "" && (now.Outcome == "approved" || now.Outcome == "rejected") {
		r.t.Fatalf("%s answered over %s what %s asked by %s: %s, but %s\nit holds %v", c, way, y.by, y.way, now.Outcome, why, c.scopes)
	}
	y.question = ""
	// What came with a credential that has ended does not run.
	if now.Outcome == "approved" && !y.by.dead && (y.permitted() || y.bound != y.ruled()) {
		r.eventually(fmt.Sprintf("what was approved runs, ends or is asked about once more: %#v with %s", y, y.tool), func() bool {
			return r.happened(y) || y.ended.Load() || r.over(y) || r.asks(y)
		})
	}
	r.onlyWhatIsPermitted(y)
}

// whoAnswers is anybody, the owner, or, so that this is tried often, whoever asked, with
// this or another credential of theirs.
func (r *run) whoAnswers(y *try) *credential {
	switch r.draw("who answers", "anybody", "the owner", "the asker", "the asker's person") {
	case "the owner":
		return r.root
	case "the asker":
		if !y.by.dead {
			return y.by
		}
	case "the asker's person":
		own := slices.DeleteFunc(slices.Clone(r.there), func(c *credential) bool { return c.dead || c.kind == "passkey" || c.person != y.by.person })
		if len(own) > 0 {
			return rapid.SampledFrom(own).Draw(r.t, "by")
		}
	}
	return r.usable("by")
}

func (r *run) say(c *credential, way string, y *try, yes bool) {
	ctx, cancel := r.ctx()
	defer cancel()
	switch way {
	case "REST":
		r.rest(c, "POST", "/api/approvals/"+y.question, map[string]any{"approved": yes})
	case "mcp":
		_, _ = r.mcp(ctx, c, "approval_respond", map[string]any{"approval_id": y.question, "approved": yes})
	case "wire":
		client := r.board(viber.Options{Token: c.secret})
		if client == nil {
			return
		}
		if yes {
			_, _ = client.Approve(ctx, y.question)
		} else {
			_, _ = client.Reject(ctx, y.question, "no")
		}
	}
}
