package board_test

import (
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// A client that knows nothing but the base protocol: it looks at types and
// payloads, ignores what it does not know, and never uses an extension.
func TestAClientWrittenFromTheBaseAloneWorks(t *testing.T) {
	h := newHub(t)
	c := h.dial()
	if c.welcome.text("protocol_version") != "1" || c.welcome.text("challenge") == "" || c.welcome.text("daemon_version") == "" {
		t.Fatalf("%s", c.welcome)
	}
	c.send("connection:auth", obj{"device_id": "d1", "token": h.token, "role": "operator", "scopes": []string{"tasks", "approvals", "terminals"}})
	granted := c.await("connection:authenticated")
	if granted.text("session_id") == "" || granted.get("granted_scopes") == nil {
		t.Fatalf("%s; want granted.text(\"session_id\") not to be \"\", granted.get(\"granted_scopes\") not to be nil", granted)
	}
	c.send("ping", obj{})
	c.await("pong")
	c.send("health:ping", obj{"client_time": time.Now().UTC().Format(time.RFC3339)})
	if pong := c.await("health:pong"); pong.text("server_time") == "" || pong.get("latency_ms") == nil {
		t.Fatalf("%s; want pong.text(\"server_time\") not to be \"\", pong.get(\"latency_ms\") not to be nil", pong)
	}

	key := uuid.NewString()
	c.send("task:submit", obj{
		"idempotency_key": key, "goal": "/say Looking around.\n/tool shell {\"command\":\"touch made\"}\n/say Done.", "messages": []any{},
		"options": obj{"mode": "agent_decides", "stream_deltas": true},
	})
	started := c.await("task:started")
	task := started.text("task_id")
	if started.text("idempotency_key") != key || task == "" || started.text("started_at") == "" {
		t.Fatalf("%s; want started.text(\"idempotency_key\") to be %v, task not to be \"\", started.text(\"started_at\") not to be \"\"", started, key)
	}
	var text, arguments string
	var done frame
	for done.Type == "" {
		f := c.next()
		if id := f.text("task_id"); id != "" && id != task {
			t.Fatalf("another task: %s", f)
		}
		switch f.Type {
		case "task:delta":
			text += f.text("text")
			arguments += f.text("tool_call.arguments")
		case "approval:required":
			if f.text("tool_call.name") != "shell" || f.text("tool_call.arguments.command") != "touch made" || f.text("reason") == "" || f.number("timeout_ms") <= 0 {
				t.Errorf("%s", f)
			}
			c.send("approval:response", obj{"approval_id": f.text("approval_id"), "approved": true, "reason": "fine"})
		case "task:completed", "task:error", "task:stopped":
			done = f
		}
	}
	if done.Type != "task:completed" || done.text("result.text") != text || text != "Looking around.Done." || arguments != `{"command":"touch made"}` {
		t.Errorf("%s; text %q, arguments %q", done, text, arguments)
	}
	if done.number("usage.total_tokens") != done.number("usage.prompt_tokens")+done.number("usage.completion_tokens") {
		t.Errorf("%s", done)
	}

	c.send("task:submit", obj{
		"idempotency_key": uuid.NewString(), "goal": "/tool shell {\"command\":\"sleep 0.5\"}\n/say over", "messages": []any{},
		"options": obj{"stream_deltas": true},
	})
	second := c.await("task:started").text("task_id")
	c.until(func(f frame) bool { return f.text("delta_type") == "tool_call" })
	c.send("task:message", obj{"task_id": second, "message": obj{"role": "user", "content": "/say steered"}, "injection_mode": "steer"})
	if done := c.await("task:completed"); done.text("task_id") != second || done.text("result.text") != "over\nsteered" {
		t.Errorf("%s; want done.text(\"task_id\") to be %v, done.text(\"result.text\") to be \"over\\nsteered\"", done, second)
	}

	c.send("task:submit", obj{"idempotency_key": uuid.NewString(), "goal": "/say one\n/sleep 600000", "messages": []any{}, "options": obj{"stream_deltas": true}})
	third := c.await("task:started").text("task_id")
	c.await("task:delta")
	c.send("task:stop", obj{"task_id": third, "reason": "enough"})
	if stopped := c.await("task:stopped"); stopped.text("task_id") != third || stopped.text("partial_result.text") != "one" {
		t.Errorf("%s; want stopped.text(\"task_id\") to be %v, stopped.text(\"partial_result.text\") to be \"one\"", stopped, third)
	}

	c.send("terminal:list", obj{})
	if list := c.await("terminal:list_response"); list.get("terminals") == nil {
		t.Errorf("%s; want list.get(\"terminals\") not to be nil", list)
	}
	c.send("connection:close", obj{"reason": "done"})
	c.await("connection:goodbye")
	if code := c.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}
}

// Every frame of the hub has the base's envelope, and ids differ.
func TestEveryFrameHasTheEnvelopeOfTheBase(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	c.submit("/say hello there\n/tool file_list {}\n/say bye", nil)
	c.await("task:completed")
	c.ask("task:list", obj{})
	c.ask("terminal:attach", obj{"terminal_id": "none"})
	c.ask("nonsense", obj{})
	ids := map[string]bool{}
	for _, f := range c.seen {
		at, err := time.Parse("2006-01-02T15:04:05.000Z", f.Timestamp)
		if f.Type == "" || uuid.Validate(f.ID) != nil || ids[f.ID] || err != nil || time.Since(at).Abs() > time.Hour || f.Payload[0] != '{' {
			t.Errorf("%+v: %v", f, err)
		}
		ids[f.ID] = true
	}
}
