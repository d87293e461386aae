package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
)

// whole is a complete hub behind a socket.
type whole struct {
	*rig
	dir string
}

func newWhole(t *testing.T) *whole {
	t.Helper()
	conf := must(config.Load(config.Sources{Data: t.TempDir() + "/data"}))(t)
	h := must(hub.Open(t.Context(), conf, hub.Options{Version: "test"}))(t)
	server := httptest.NewServer(h.Handler())
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); h.Close() })
	token := must(hub.Folder(conf.Data).OwnerToken())(t)
	return &whole{rig: &rig{t: t, server: server, token: token}, dir: conf.Data}
}

func TestAHubOffersEveryPart(t *testing.T) {
	w := newWhole(t)
	all := names(t, w.connect("/mcp?tools=all", standalone, options{}))
	for path, tools := range map[string][2]string{
		"agents": {"ask", "agent_ask"}, "tasks": {"task_submit", "task_submit"}, "fleet": {"list_agents", "list_agents"},
		"room": {"join", "room_join"}, "place": {"place_send", "place_send"},
	} {
		own := names(t, w.connect("/mcp/"+path, standalone, options{}))
		if !slices.Contains(own, tools[0]) || !slices.Contains(all, tools[1]) {
			t.Errorf("%s: own path %v, /mcp %v", path, own, all)
		}
	}
	for _, name := range all {
		for _, word := range []string{"trust", "forget", "peer_", "approve_"} {
			if strings.Contains(name, word) {
				t.Errorf("%s is for people", name)
			}
		}
	}
	res, _ := w.send(http.MethodGet, "/mcp/nothing", "", nil)
	if res.StatusCode == http.StatusOK && strings.Contains(res.Header.Get("Content-Type"), "json") {
		t.Errorf("a part that is not there: %s", res.Status)
	}
}

func TestAgentsAreAskedAndRemember(t *testing.T) {
	w := newWhole(t)
	for _, revision := range bothKinds {
		s := w.connect("/mcp/agents", revision, options{})
		agents, _ := structured(t, s, "list", nil)["agents"].([]any)
		if !slices.ContainsFunc(agents, func(a any) bool { return a.(map[string]any)["name"] == "parley" }) {
			t.Errorf("agents %v", agents)
		}
		thread := "t" + strings.ReplaceAll(revision, "-", "")
		reply := structured(t, s, "ask", map[string]any{"agent": "parley", "thread": thread, "message": "/say The lighthouse is green."})
		if reply["reply"] != "The lighthouse is green." || reply["agent"] != "parley" || reply["run"] == "" {
			t.Errorf("reply %v", reply)
		}
		said, _ := structured(t, s, "history", map[string]any{"agent": "parley", "thread": thread})["messages"].([]any)
		if len(said) != 2 {
			t.Errorf("history %v", said)
		}
		if hits, _ := structured(t, s, "search", map[string]any{"query": "lighthouse"})["hits"].([]any); len(hits) == 0 {
			t.Error("nothing is found of what was said")
		}
		if list, _ := structured(t, s, "conversations", nil)["conversations"].([]any); len(list) == 0 {
			t.Error("no conversation is listed")
		}
		works(t, s, "cancel", map[string]any{"agent": "parley", "thread": thread}, `{"cancelled":false}`)
		fails(t, s, "ask", map[string]any{"agent": "nobody", "message": "hi"}, "agent_not_found: ")
		fails(t, s, "ask", map[string]any{"agent": "parley", "message": "/fail 500 out of order"}, "")
		fails(t, s, "history", map[string]any{"agent": "kibitzer", "thread": "none"}, "not_found: ")
	}
}

func TestTasksAreHandedOverAndFollowed(t *testing.T) {
	w := newWhole(t)
	for _, revision := range bothKinds {
		s := w.connect("/mcp/tasks", revision, options{})
		done := structured(t, s, "task_submit", map[string]any{"goal": "/say It is done.", "idempotency_key": revision, "wait_s": 50})
		id, _ := done["task_id"].(string)
		if done["status"] != "completed" || !strings.Contains(done["text"].(string), "It is done.") {
			t.Errorf("task %v", done)
		}
		again := structured(t, s, "task_submit", map[string]any{"goal": "/say It is done.", "idempotency_key": revision})
		if again["task_id"] != id {
			t.Errorf("the same key made another task: %v", again)
		}
		fails(t, s, "task_submit", map[string]any{"goal": "/say something else", "idempotency_key": revision}, "conflict: ")
		if status := structured(t, s, "task_status", map[string]any{"task_id": id, "wait_s": 5}); status["status"] != "completed" {
			t.Errorf("status %v", status)
		}
		if tasks, _ := structured(t, s, "task_status", map[string]any{"status": "completed"})["tasks"].([]any); len(tasks) == 0 {
			t.Error("no task is listed")
		}
		first := structured(t, s, "task_events", map[string]any{"task_id": id, "limit": 1})
		if events, _ := first["events"].([]any); len(events) != 1 || first["more"] != true {
			t.Errorf("events %v", first)
		}
		rest := structured(t, s, "task_events", map[string]any{"task_id": id, "after": first["last_seq"]})
		if rest["more"] != false {
			t.Errorf("events %v", rest)
		}
		slow := structured(t, s, "task_submit", map[string]any{"goal": "/sleep 60000\n/say late"})
		slowID := slow["task_id"]
		if ack := structured(t, s, "task_message", map[string]any{"task_id": slowID, "text": "hurry"}); ack["message_id"] == nil {
			t.Errorf("ack %v", ack)
		}
		if stopped := structured(t, s, "task_stop", map[string]any{"task_id": slowID, "reason": "enough"}); stopped["status"] != "stopped" {
			t.Errorf("stopped %v", stopped)
		}
		fails(t, s, "task_message", map[string]any{"task_id": slowID, "text": "hello?"}, "finished: ")
		fails(t, s, "task_status", map[string]any{"task_id": "nothing"}, "not_found: ")
		fails(t, s, "task_stop", map[string]any{"task_id": "nothing"}, "not_found: ")
		if list, _ := structured(t, s, "approvals_list", nil)["approvals"].([]any); len(list) != 0 {
			t.Errorf("approvals %v", list)
		}
	}
}

// A model with its person's token answered what its person was asked, with a tool of ours.
func TestAModelSeesWhatWaitsAndAnswersNothing(t *testing.T) {
	w := newWhole(t)
	s := w.connect("/mcp/tasks", withSessions, options{})
	for _, tool := range must(s.ListTools(t.Context(), nil))(t).Tools {
		if strings.Contains(tool.Name, "respond") || strings.Contains(tool.Name, "approve") {
			t.Errorf("a model is offered %s", tool.Name)
		}
	}
	for _, approved := range []bool{true, false} {
		task := structured(t, s, "task_submit", map[string]any{"goal": "/tool shell {\"command\":\"echo hi > made\"}\n/result", "mode": "always_ask"})
		var waiting []any
		eventually(t, "the task asks", func() bool {
			waiting, _ = structured(t, s, "approvals_list", nil)["approvals"].([]any)
			return len(waiting) == 1
		})
		question, _ := waiting[0].(map[string]any)
		id, _ := question["approval_id"].(string)
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "approval_respond", Arguments: map[string]any{"approval_id": id, "approved": true}}); err == nil {
			t.Error("a model answered over MCP")
		}
		if code := w.answers(w.token, id, true); code != http.StatusForbidden {
			t.Errorf("the token that submitted the task over MCP answered over REST: %d", code)
		}
		if code := w.answers(w.another(), id, approved); code != http.StatusOK {
			t.Errorf("another token of the person cannot answer: %d", code)
		}
		if done := structured(t, s, "task_status", map[string]any{"task_id": task["task_id"], "wait_s": 50}); done["status"] != "completed" {
			t.Errorf("task %v", done)
		}
	}
}

// post sends JSON with a token.
func (w *whole) post(token, path, body string) *http.Response {
	w.t.Helper()
	req := must(http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.server.URL+path, strings.NewReader(body)))(w.t)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	return must(w.server.Client().Do(req))(w.t)
}

// answers says yes or no over REST.
func (w *whole) answers(token, id string, yes bool) int {
	w.t.Helper()
	resp := w.post(token, "/api/approvals/"+id, fmt.Sprintf(`{"approved":%t}`, yes))
	defer resp.Body.Close()
	return resp.StatusCode
}

// another is a second token of the owner's.
func (w *whole) another() string {
	w.t.Helper()
	resp := w.post(w.token, "/api/tokens", `{"name":"phone","scopes":["approvals"]}`)
	defer resp.Body.Close()
	var out struct{ Token string }
	check(w.t, json.NewDecoder(resp.Body).Decode(&out))
	return out.Token
}

func TestAgentsMeetAtThePlace(t *testing.T) {
	w := newWhole(t)
	for _, revision := range bothKinds {
		s := w.connect("/mcp/place", revision, options{})
		if info := structured(t, s, "place_info", nil); info["name"] == "" || info["protocol_version"] == "" {
			t.Errorf("info %v", info)
		}
		posted := structured(t, s, "place_post", map[string]any{"type": "offer_skill", "skill_name": "Tea " + revision, "summary": "How to brew it", "tags": []string{"drink"}})
		if len(posted) == 0 {
			t.Error("nothing posted")
		}
		if found, _ := structured(t, s, "place_browse", map[string]any{"search": "Tea " + revision})["postings"].([]any); len(found) != 1 {
			t.Errorf("board %v", found)
		}
		got := structured(t, s, "place_receive", map[string]any{"as": "kibitzer"})
		kibitzer, _ := got["agent"].(string)
		sent := structured(t, s, "place_send", map[string]any{"to": kibitzer, "content": "Good morning"})
		received := structured(t, s, "place_receive", map[string]any{"as": "kibitzer", "wait_s": 30})
		messages, _ := received["messages"].([]any)
		if len(messages) != 1 {
			t.Fatalf("received %v", received)
		}
		if m, _ := messages[0].(map[string]any); m["content"] != "Good morning" || m["from"] != sent["from"] || m["signed"] != true {
			t.Errorf("message %v", m)
		}
		if key := structured(t, s, "place_keys", map[string]any{"agent_id": kibitzer}); key["public_key"] == nil {
			t.Errorf("key %v", key)
		}
		if agents, _ := structured(t, s, "place_agents", nil)["agents"].([]any); len(agents) != 2 {
			t.Errorf("agents %v", agents)
		}
		fails(t, s, "place_send", map[string]any{"to": "nobody", "content": "hi"}, "")
		fails(t, s, "place_post", map[string]any{"type": "sell_soul", "skill_name": "x"}, "bad_args: ")
		fails(t, s, "place_receive", map[string]any{"as": "../../etc/passwd"}, "agent_not_found: ")
	}
}

// A call that is asked for by nobody any more does not keep its agent working.
func TestACancelledQuestionIsCancelled(t *testing.T) {
	w := newWhole(t)
	s := w.connect("/mcp/agents", standalone, options{})
	heard := later(s, "ask", map[string]any{"agent": "parley", "message": "/sleep 60000\n/say late"})
	other := w.connect("/mcp/agents", withSessions, options{})
	eventually(t, "the turn runs and is cancelled", func() bool {
		return structured(t, other, "cancel", map[string]any{"agent": "parley"})["cancelled"] == true
	})
	if got := <-heard; !got.IsError && strings.Contains(textOf(got), "late") {
		t.Errorf("it went on: %s", textOf(got))
	}
}

func TestSkillsAndThreadsAreToolsOfThePlace(t *testing.T) {
	w := newWhole(t)
	for _, revision := range bothKinds {
		s := w.connect("/mcp/place", revision, options{})
		own := names(t, s)
		for _, name := range []string{
			"place_visit", "place_meet", "place_visits", "place_leave", "extension_list", "extension_propose", "skill_list", "skill_show", "skill_offer", "skill_request", "skill_accept", "skill_decline",
			"discussion_propose", "discussion_support", "discussion_oppose", "discussion_synthesize", "discussion_list",
			"negotiation_offer", "negotiation_counter", "negotiation_agree", "negotiation_withdraw",
		} {
			if !slices.Contains(own, name) {
				t.Errorf("%s is missing", name)
			}
		}
		if got := keys(structured(t, s, "skill_list", nil)); !slices.Equal(got, []string{"exchanges", "public", "received"}) {
			t.Errorf("skill_list: %v", got)
		}
		if threads, _ := structured(t, s, "discussion_list", nil)["threads"].([]any); threads == nil || len(threads) != 0 {
			t.Errorf("threads %v", threads)
		}
		fails(t, s, "skill_list", map[string]any{"as": "nobody"}, "agent_not_found: ")
		fails(t, s, "skill_show", map[string]any{"skill_id": "nothing"}, "not_found: ")
		fails(t, s, "skill_offer", map[string]any{"skill_id": "nothing", "to": "bob"}, "not_found: ")
		fails(t, s, "skill_accept", map[string]any{"exchange_id": "nothing"}, "not_found: ")
		fails(t, s, "skill_decline", map[string]any{"exchange_id": "nothing"}, "not_found: ")
		fails(t, s, "discussion_support", map[string]any{"thread": "nothing", "to": "bob", "reason": "good"}, "")
		fails(t, s, "negotiation_agree", map[string]any{"thread": "nothing", "to": "bob"}, "not_found: ")
		fails(t, s, "negotiation_offer", map[string]any{"to": "bob", "terms": "a text"}, "bad_args: ")
		fails(t, s, "place_visit", map[string]any{"url": "ftp://nowhere"}, "")
		fails(t, s, "place_meet", map[string]any{"url": "ftp://nowhere"}, "")
		if visits, _ := structured(t, s, "place_visits", nil)["visits"].([]any); visits == nil || len(visits) != 0 {
			t.Errorf("visits: %v", visits)
		}
		fails(t, s, "place_leave", map[string]any{"visit_id": "nothing"}, "not_found: ")
		if list, _ := structured(t, s, "extension_list", nil)["extensions"].([]any); list == nil || len(list) != 0 {
			t.Errorf("extensions: %v", list)
		}
		fails(t, s, "extension_propose", map[string]any{"name": "org.example.tea", "to": "bob"}, "not_found: ")
	}
}
