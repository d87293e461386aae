//go:build linux

package growth_test

import (
	"errors"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"parley.internal/client/agentfirst"
	"parley.internal/client/viber"
	agentwire "parley.internal/protocol/agentfirst"
	boardwire "parley.internal/protocol/viber"
)

// guarded are requests that one scope, or admin, opens.
var guarded = []struct {
	method, path, scope string
	body                any
}{
	{"GET", "/api/audit?limit=1", "audit:read", nil},
	{"GET", "/api/tokens", "device:manage", nil},
	{"GET", "/api/people", "status:read", nil},
	{"GET", "/metrics", "status:read", nil},
	{"GET", "/api/fleet/calls?limit=1", "fleet:read", nil},
	{"GET", "/api/rooms", "rooms", nil},
	{"GET", "/api/place/queues", "place", nil},
	{"GET", "/api/terminals", "terminal:read", nil},
	{"GET", "/api/approvals", "approval:read", nil},
	{"GET", "/api/tasks", "task:read", nil},
	{"GET", "/api/spend", "agents:manage", nil},
	{"GET", "/api/agents/" + shared + "/file", "agents:manage", nil},
	{"PUT", "/api/agents/" + shared, "agents:manage", map[string]any{"description": "d"}},
	{"DELETE", "/api/fleet/policy/rules/0", "fleet:admin", nil},
	{"POST", "/api/fleet/policy/rules", "fleet:admin", map[string]any{"nonsense": 1}},
	{"GET", "/api/cluster", "admin", nil},
	{"GET", "/debug/pprof/cmdline", "admin", nil},
	{"POST", "/api/people", "admin", map[string]any{"name": "*"}},
	{"POST", "/api/audit/acknowledge-cut", "admin", map[string]any{}},
	{"POST", "/api/audit/witness", "audit:witness", map[string]any{}},
}

// outcome is what a probe got, and what it may have; there says that there was something to try.
type outcome struct {
	got, may, there bool
	detail          string
}

type probe func(r *run, c *credential) outcome

var probes = map[string]probe{
	"a guarded request":            guardedRequest,
	"a machine":                    seeMachine,
	"somebody's conversation":      readConversation,
	"somebody's words":             searchWords,
	"the list of conversations":    listConversations,
	"speaking as somebody else":    speakAs,
	"somebody's task":              readTask,
	"stopping somebody's task":     stopTask,
	"agents, models, tool servers": manageAgents,
	"the secret of the owner":      rotateOwner,
	"a rule that spares questions": makeRule,
	"the questions of somebody":    readQuestion,
	"a terminal on the hub":        openTerminal,
	"a token with more":            mintMore,
	"being asked less by an agent": unask,
	"somebody's room":              manageRoom,
	"somebody's schedule":          touchPlan,
	"somebody's artifact":          readArtifact,
	"somebody's file":              readFile,
}

// nobodys are the probes that only those try who may not.
var nobodys = []string{"the secret of the owner", "stopping somebody's task", "the questions of somebody", "somebody's file"}

func guardedRequest(r *run, c *credential) outcome {
	g := guarded[rapid.IntRange(0, len(guarded)-1).Draw(r.t, "request")]
	a := r.rest(c, g.method, g.path, g.body)
	return outcome{got: a.in() || a.status == 404, may: c.may(g.scope), there: true, detail: g.method + " " + g.path}
}

func seeMachine(r *run, c *credential) outcome {
	m := r.draw("machine", machines...)
	a := r.rest(c, "GET", "/api/machines/"+m, nil)
	return outcome{got: a.in(), may: c.may("fleet:read") && c.reaches(m), there: true, detail: m}
}

func readConversation(r *run, c *credential) outcome {
	if len(r.said) == 0 {
		return outcome{}
	}
	s := rapid.SampledFrom(r.said).Draw(r.t, "conversation")
	out := outcome{may: c.mayTalkAs(s.by), there: true, detail: s.by.name}
	if c.kind != "page" && r.draw("way", "REST", "wire") == "wire" {
		client := r.talk(c)
		if client == nil {
			return out
		}
		ctx, cancel := r.ctx()
		defer cancel()
		_, err := client.GetConversationHistory(ctx, &agentwire.GetConversationHistory{FilePath: agentwire.Handle(s.id)})
		out.got = err == nil
		return out
	}
	end := r.draw("what", "", "/messages", "/tools", "/archives", "/export")
	out.got = r.rest(c, "GET", "/api/conversations/"+s.id+end, nil).in()
	return out
}

func searchWords(r *run, c *credential) outcome {
	if len(r.said) == 0 {
		return outcome{}
	}
	s := rapid.SampledFrom(r.said).Draw(r.t, "words")
	out := outcome{may: c.mayTalkAs(s.by), there: true, detail: s.by.name}
	var text string
	if r.draw("way", "REST", "mcp") == "REST" || c.kind == "page" {
		text = string(r.rest(c, "GET", "/api/conversations/search?q="+s.word, nil).body)
	} else {
		ctx, cancel := r.ctx()
		defer cancel()
		text, _ = r.mcp(ctx, c, "agent_search", map[string]any{"query": s.word})
	}
	out.got = strings.Contains(text, "snippet") && strings.Contains(text, s.word)
	return out
}

func listConversations(r *run, c *credential) outcome {
	a := r.rest(c, "GET", "/api/conversations", nil)
	for _, s := range r.said {
		if strings.Contains(string(a.body), s.id) && !c.mayTalkAs(s.by) {
			return outcome{got: true, there: true, detail: s.by.name}
		}
	}
	return outcome{got: a.in(), may: a.in(), there: true}
}

func speakAs(r *run, c *credential) outcome {
	p := rapid.SampledFrom(append(r.people, r.root.person)).Draw(r.t, "as")
	if c.kind == "page" {
		return outcome{}
	}
	out := outcome{may: c.mayTalkAs(p), there: true, detail: p.name}
	wire := r.talk(c)
	if wire == nil {
		return out
	}
	ctx, cancel := r.ctx()
	defer cancel()
	_, err := wire.Send(ctx, &agentwire.Turn{Agent: "parley", Thread: "as", Content: "/say hello", Sender: &p.sender})
	out.got = err == nil
	return out
}

func readTask(r *run, c *credential) outcome {
	if len(r.handed) == 0 {
		return outcome{}
	}
	h := rapid.SampledFrom(r.handed).Draw(r.t, "task")
	out := outcome{may: c.mayUse(h.by, "task:read"), there: true, detail: h.by.name}
	ctx, cancel := r.ctx()
	defer cancel()
	switch r.draw("way", "REST", "events", "list", "mcp", "wire") {
	case "REST":
		out.got = r.rest(c, "GET", "/api/tasks/"+h.id, nil).in()
	case "events":
		out.got = r.rest(c, "GET", "/api/tasks/"+h.id+"/events", nil).in()
	case "list":
		out.got = strings.Contains(string(r.rest(c, "GET", "/api/tasks", nil).body), h.id)
	case "mcp":
		if c.kind == "page" {
			return outcome{}
		}
		_, err := r.mcp(ctx, c, "task_events", map[string]any{"task_id": h.id})
		out.got = err == nil
	case "wire":
		if c.kind == "page" {
			return outcome{}
		}
		if client := r.board(viber.Options{Token: c.secret}); client != nil {
			_, err := client.Follow(ctx, h.id, 0)
			out.got = err == nil
		}
	}
	return out
}

// stopTask tries to stop a task that waits, or to tell it something.
func stopTask(r *run, c *credential) outcome {
	for _, y := range r.tries {
		if y.task == "" || y.question == "" || c.mayUse(y.by.person, "task:control") {
			continue
		}
		out := outcome{there: true, detail: y.by.String()}
		path := "/api/tasks/" + y.task
		switch r.draw("way", "stop", "message", "mcp") {
		case "stop":
			out.got = r.rest(c, "POST", path+"/stop", map[string]any{"task_id": y.task}).in()
		case "message":
			message := map[string]any{"role": "user", "content": "/say x"}
			out.got = r.rest(c, "POST", path+"/messages", map[string]any{"task_id": y.task, "message": message, "injection_mode": "steer"}).in()
		case "mcp":
			if c.kind == "page" {
				return outcome{}
			}
			ctx, cancel := r.ctx()
			defer cancel()
			_, err := r.mcp(ctx, c, "task_stop", map[string]any{"task_id": y.task})
			out.got = err == nil
		}
		return out
	}
	return outcome{}
}

// manageAgents tries what would make the hub start programs, or agents ask less.
func manageAgents(r *run, c *credential) outcome {
	out := outcome{may: c.may("agents:manage"), there: true}
	spy := map[string]any{"name": fmt.Sprintf("spy-%d", r.next()), "prompt": "p", "tools": []string{"shell"}, "auto_approve": []string{"shell"}, "workspace": "/"}
	ways := []string{"REST"}
	if c.kind != "page" {
		ways = append(ways, "create_agent", "set_local_mcps", "set_provider")
	}
	out.detail = r.draw("way", ways...)
	if out.detail == "REST" {
		out.got = r.rest(c, "POST", "/api/agents", spy).in()
		r.rest(r.root, "DELETE", "/api/agents/"+spy["name"].(string), nil)
		return out
	}
	client := r.talk(c)
	if client == nil {
		return out
	}
	ctx, cancel := r.ctx()
	defer cancel()
	var err error
	switch out.detail {
	case "create_agent":
		_, err = client.CreateAgent(ctx, spy["name"].(string), `{"tools":["shell"],"auto_approve":["shell"],"mode":"always_execute"}`)
		r.rest(r.root, "DELETE", "/api/agents/"+spy["name"].(string), nil)
	case "set_local_mcps":
		err = client.SetLocalMcps(ctx, []*agentwire.McpInfo{})
	case "set_provider":
		_, err = client.SetProvider(ctx, "growth", `{"kind":"nonsense"}`)
	}
	out.got = !errors.Is(err, agentfirst.ErrForbidden) // whether it made sense is another matter
	return out
}

// makeRule tries what would spare an agent its questions: only a person in person may.
func makeRule(r *run, c *credential) outcome {
	a := r.rest(c, "POST", "/api/rules", map[string]any{"agent": shared, "command": "touch …", "uses": 1})
	if a.in() {
		var made struct{ ID string }
		r.decode(a, &made)
		r.rest(r.root, "DELETE", "/api/rules/"+made.ID, nil)
	}
	return outcome{got: a.in(), may: c.may("approval:respond") && c.program() == nil, there: true, detail: string(a.body)}
}

func rotateOwner(r *run, c *credential) outcome {
	a := r.rest(c, "POST", "/api/tokens/"+r.root.id+"/rotate", map[string]any{})
	return outcome{got: a.in(), may: false, there: true, detail: string(a.body)}
}

func readQuestion(r *run, c *credential) outcome {
	for _, y := range r.tries {
		if y.question == "" || c.mayUse(y.by.person, "approval:read") {
			continue
		}
		a := r.rest(c, "GET", "/api/approvals/"+y.question, nil)
		return outcome{got: a.in(), there: true, detail: y.by.String()}
	}
	return outcome{}
}

func openTerminal(r *run, c *credential) outcome {
	if c.kind == "page" {
		return outcome{}
	}
	out := outcome{may: c.may("terminal:create"), there: true}
	client := r.board(viber.Options{Token: c.secret})
	if client == nil {
		return out
	}
	ctx, cancel := r.ctx()
	defer cancel()
	made, err := client.OpenTerminal(ctx, &boardwire.TerminalCreate{Command: "/bin/true"})
	if out.got = err == nil; out.got {
		_, _ = client.CloseTerminal(ctx, made.ID)
	}
	return out
}

// mintMore asks for everything there is, for ever; what comes is looked at by mint.
func mintMore(r *run, c *credential) outcome {
	made := r.mint(c, c.person, append([]string{"*"}, byName...), "876000h")
	return outcome{got: made != nil, may: c.may("device:manage"), there: true}
}

// unask has somebody change the agent that everybody's tasks go to.
func unask(r *run, c *credential) outcome {
	a := r.rest(c, "PUT", "/api/agents/"+shared, map[string]any{"mode": "always_execute"})
	r.unasking = r.unasking || a.status/100 == 2
	return outcome{got: a.in(), may: c.may("agents:manage"), there: true}
}
