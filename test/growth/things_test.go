//go:build linux

package growth_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"parley.internal/client/viber"
	agentwire "parley.internal/protocol/agentfirst"
	boardwire "parley.internal/protocol/viber"
)

// said is a conversation with a word in it that only its sender should find.
type said struct {
	by       *person
	word, id string
}

// handed is a task with a word in it.
type handed struct {
	by       *person
	word, id string
}

// Say holds a conversation, over the wire or over MCP.
func (r *run) Say(t *rapid.T) {
	by, word := r.usable("by"), fmt.Sprintf("walrus%dx", r.next())
	ctx, cancel := r.ctx()
	defer cancel()
	if by.kind != "page" && r.draw("way", "wire", "mcp") == "wire" {
		client := r.talk(by)
		if client == nil {
			return
		}
		if _, err := client.Send(ctx, &agentwire.Turn{Agent: "parley", Content: "/say " + word}); err != nil {
			return
		}
	} else if _, err := r.mcp(ctx, by, "agent_ask", map[string]any{"agent": "parley", "message": "/say " + word}); err != nil {
		return
	}
	if !by.may("talk") {
		t.Fatalf("%s held a conversation without talk", by)
	}
	var list struct{ Conversations []struct{ ID, Agent string } }
	r.decode(r.rest(r.root, "GET", "/api/conversations?agent=parley&sender="+by.person.sender, nil), &list)
	if len(list.Conversations) == 0 {
		t.Fatalf("what %s said is nowhere", by)
	}
	r.said = append(r.said, &said{by: by.person, word: word, id: list.Conversations[0].ID})
}

// submit hands a task over and gives its id, empty if the hub will not have it, and
// whether a board did.
func (r *run) submit(by *credential, goal, agent, mode string) (id string, screen bool) {
	ways := []string{"REST"}
	if by.kind != "page" {
		ways = append(ways, "wire", "mcp")
	}
	ctx, cancel := r.ctx()
	defer cancel()
	args, options := map[string]any{"goal": goal, "agent": agent}, map[string]any{"agent": agent}
	if mode != "" {
		args["mode"], options["mode"] = mode, mode
	}
	switch r.draw("way", ways...) {
	case "REST":
		a := r.rest(by, "POST", "/api/tasks", map[string]any{"goal": goal, "messages": []any{}, "options": options})
		if a.status/100 != 2 {
			return "", false
		}
		var made struct {
			ID string `json:"task_id"`
		}
		r.decode(a, &made)
		return made.ID, false
	case "wire":
		client := r.board(viber.Options{Token: by.secret})
		if client == nil {
			return "", false
		}
		task, err := client.Submit(ctx, &boardwire.TaskSubmit{Goal: goal, Messages: []boardwire.ChatMessage{}, Options: &boardwire.TaskOptions{Agent: agent, Mode: boardwire.Mode(mode)}})
		if err != nil {
			return "", false
		}
		return task.ID(), true
	}
	text, err := r.mcp(ctx, by, "task_submit", args)
	if err != nil {
		return "", false
	}
	_, rest, _ := strings.Cut(text, `\"task_id\":\"`)
	if id, _, _ = strings.Cut(rest, `\"`); id == "" {
		r.t.Fatalf("a task without an id: %s", text)
	}
	return id, false
}

// HandOver submits a task that says something.
func (r *run) HandOver(t *rapid.T) {
	by, word := r.usable("by"), fmt.Sprintf("heron%dx", r.next())
	id, _ := r.submit(by, "/say "+word, "parley", "")
	if id == "" {
		return
	}
	if !by.may("task:submit") {
		t.Fatalf("%s submitted a task without task:submit", by)
	}
	r.handed = append(r.handed, &handed{by: by.person, word: word, id: id})
}

// Name tries to add a person whose name would be more than a name.
func (r *run) Name(t *rapid.T) {
	by, name := r.usable("by"), r.draw("name", "*", "a*", "user", "USER", "owner", "admin", "hub", "a:b", "talk:sender:*", "al\u200bice", "", " ")
	if rapid.Bool().Draw(t, "the owner does") {
		by = r.root // nobody may, whatever they hold
	}
	a := r.rest(by, "POST", "/api/people", map[string]any{"name": name})
	if a.status/100 == 2 {
		t.Fatalf("%s added a person called %q: %s", by, name, a.body)
	}
}
