package board_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"parley.internal/internal/identity"
)

// events are the frames of a task that carry a number.
func (c *client) events(task string) []frame {
	var all []frame
	for _, f := range c.seen {
		if f.text("task_id") == task && f.get("seq") != nil {
			all = append(all, f)
		}
	}
	return all
}

// inOrder checks that the numbers go up without a hole and that nothing follows the end.
func inOrder(t testing.TB, events []frame) {
	t.Helper()
	var last int64
	ended := false
	for _, f := range events {
		from := f.number("seq")
		if n := f.number("from_seq"); n != 0 {
			from = n
		}
		if from != last+1 || ended {
			t.Errorf("event %d after %d, ended %v: %s", from, last, ended, f)
		}
		last = f.number("seq")
		ended = f.Type == "task:completed" || f.Type == "task:stopped" || f.Type == "task:error"
	}
	if !ended {
		t.Error("no end")
	}
}

func joinText(events []frame) string {
	var text string
	for _, f := range events {
		text += f.text("text")
	}
	return text
}

func TestATaskRunsFromStartedToOneEnd(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	key := uuid.NewString()
	id := c.send("task:submit", obj{"idempotency_key": key, "goal": "/say Hello wide world.\n/tool file_list {}\n/say Done", "messages": []any{}, "options": obj{"stream_deltas": true}})
	first := c.next() // nothing comes before it
	if first.Type != "task:started" || first.ReplyTo != id || first.number("seq") != 1 || first.text("idempotency_key") != key || first.text("agent") != "parley" ||
		first.text("effective_mode") != "agent_decides" || first.number("attempt") != 1 {
		t.Fatalf("%s", first)
	}
	task := first.text("task_id")
	done := c.await("task:completed")
	c.await("status:agent")
	c.alive()
	events := c.events(task)
	inOrder(t, events)
	if text := joinText(events); text != done.text("result.text") || text != "Hello wide world.Done" {
		t.Errorf("%q, %s", text, done)
	}
	for _, f := range events[1:] {
		if f.ReplyTo != "" {
			t.Errorf("%s", f)
		}
	}
}

func TestTheStateOfTheAgentFollowsItsCause(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	task := c.submit("/tool shell {\"command\":\"touch x\"}\n/say done", nil)
	c.ask("approval:response", obj{"approval_id": c.await("approval:required").text("approval_id"), "approved": true})
	c.until(func(f frame) bool { return f.Type == "status:agent" && f.text("status") == "idle" })
	var order []string
	for _, f := range c.seen {
		switch f.Type {
		case "status:agent":
			if f.text("agent_id") != "parley" || f.text("status") != "idle" && f.text("current_task_id") != task {
				t.Errorf("%s", f)
			}
			order = append(order, f.text("status"))
		case "task:started", "approval:required", "approval:resolved", "task:completed":
			order = append(order, f.Type)
		}
	}
	want := []string{"task:started", "running", "approval:required", "paused", "approval:resolved", "running", "task:completed", "idle"}
	if d := cmp.Diff(want, order); d != "" {
		t.Error(d)
	}
}

func TestWithoutDeltasTheRestIsTheSame(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	goal := "/say One two.\n/tool file_list {}\n/say three"
	with := c.submit(goal, nil)
	a := c.await("task:completed")
	without := c.submit(goal, obj{"stream_deltas": false})
	b := c.await("task:completed")
	if a.text("result.text") != b.text("result.text") {
		t.Errorf("%q and %q", a.text("result.text"), b.text("result.text"))
	}
	kinds := func(task string) (list []string) {
		for _, f := range c.events(task) {
			if f.Type != "task:delta" {
				list = append(list, f.Type)
			}
		}
		return list
	}
	if d := cmp.Diff(kinds(with), kinds(without)); d != "" {
		t.Error(d)
	}
	inOrder(t, c.events(without))
	for _, f := range c.events(without) {
		if f.Type == "task:delta" {
			t.Errorf("%s", f)
		}
	}
}

func TestTheSameKeyIsTheSameTask(t *testing.T) {
	h := newHub(t)
	a, b := h.connect(h.token), h.connect(h.token)
	body := func(goal string) obj {
		return obj{"idempotency_key": "k1", "goal": goal, "messages": []any{}, "options": obj{"stream_deltas": true}}
	}
	const goal = "/tool shell {\"command\":\"touch x\"}\n/say end"
	task := a.ask("task:submit", body(goal)).text("task_id")
	asked := a.await("approval:required").text("approval_id")
	// In progress: the sender alone is told, and follows from then on.
	dup := b.ask("task:submit", body(goal))
	if dup.Type != "task:error" || dup.text("error.type") != "already_running" || dup.text("task_id") != task || dup.get("final") != false ||
		dup.get("error.recoverable") != true || dup.text("idempotency_key") != "k1" || dup.get("seq") != nil {
		t.Errorf("%s", dup)
	}
	wantError(t, b.ask("task:submit", body("/say other")), "protocol_error", "idempotency_conflict")
	a.ask("approval:response", obj{"approval_id": asked, "approved": true})
	endA, endB := a.await("task:completed"), b.await("task:completed")
	if string(endA.Payload) != string(endB.Payload) {
		t.Errorf("%s and %s", endA, endB)
	}
	if !strings.Contains(joinText(b.events(task)), "end") {
		t.Error("the second submitter did not follow")
	}
	for _, f := range a.seen {
		if f.Type == "task:error" {
			t.Errorf("the first was disturbed: %s", f)
		}
	}
	// Ended: the same end again, and nothing runs.
	again := b.ask("task:submit", body(goal))
	if again.Type != "task:started" || again.text("task_id") != task || again.get("replayed") != true {
		t.Errorf("%s", again)
	}
	if end := b.next(); string(end.Payload) != string(endA.Payload) {
		t.Errorf("%s", end)
	}
	// Somebody else's key is another key.
	bob := h.connect(h.newToken("bob", "*").Secret)
	if f := bob.ask("task:submit", body("/say bob")); f.Type != "task:started" || f.text("task_id") == task {
		t.Errorf("%s", f)
	}
	// Without a key the envelope's id is the key.
	id := uuid.NewString()
	a.sendAs(id, "task:submit", obj{"goal": "/say x", "messages": []any{}})
	first := a.until(func(f frame) bool { return f.ReplyTo == id })
	if first.text("idempotency_key") != id {
		t.Errorf("%s", first)
	}
	a.until(func(f frame) bool { return f.Type == "task:completed" && f.text("task_id") == first.text("task_id") })
	a.sendAs(id, "task:submit", obj{"goal": "/say x", "messages": []any{}})
	if f := a.until(func(f frame) bool { return f.ReplyTo == id }); f.get("replayed") != true {
		t.Errorf("%s", f)
	}
}

func TestWhatCannotBeSubmittedSaysWhy(t *testing.T) {
	h := newHub(t)
	for _, tt := range []struct {
		change obj
		reason string
	}{
		{obj{"goal": "  "}, "missing_goal"},
		{obj{"options": obj{"mode": "yolo"}}, "bad_mode"},
		{obj{"options": obj{"timeout_ms": -5}}, "bad_option"},
		{obj{"options": obj{"max_tokens": "many"}}, "bad_option"},
		{obj{"options": obj{"agent": "nobody"}}, "unknown_agent"},
		{obj{"artifacts": []any{obj{"id": "a", "ref": "../../etc/passwd"}}}, "bad_artifact"},
		{obj{"artifacts": []any{obj{"id": "a", "ref": "javascript:alert(1)"}}}, "bad_artifact"},
	} {
		c := h.connect(h.token)
		payload := obj{"goal": "/say x", "messages": []any{}, "idempotency_key": "k"}
		maps.Copy(payload, tt.change)
		wantError(t, c.ask("task:submit", payload), "protocol_error", tt.reason)
	}
	c := h.connect(h.token)
	if f := c.ask("task:submit", obj{"goal": "/say x", "messages": []any{}, "idempotency_key": "k"}); f.Type != "task:started" || f.number("attempt") != 1 {
		t.Errorf("the key was used up: %s", f)
	}
}

func TestStopping(t *testing.T) {
	h := newHub(t)
	c, other := h.connect(h.token), h.connect(h.token)
	task := c.submit("/say so far\n/sleep 600000", nil)
	c.await("task:delta")
	first := c.ask("task:stop", obj{"task_id": task, "reason": "enough"})
	if first.Type != "task:stopped" || !strings.HasPrefix("so far", first.text("partial_result.text")) || first.text("reason") != "enough" || first.number("seq") == 0 {
		t.Errorf("%s", first)
	}
	c.alive()
	inOrder(t, c.events(task))
	if seen := other.await("task:stopped"); seen.ReplyTo != "" || string(seen.Payload) != string(first.Payload) {
		t.Errorf("%s", seen)
	}
	// Again: the same, for the sender only.
	again := other.ask("task:stop", obj{"task_id": task})
	if string(again.Payload) != string(first.Payload) {
		t.Errorf("%s", again)
	}
	done := c.submit("/say x", nil)
	c.await("task:completed")
	late := c.ask("task:stop", obj{"task_id": done})
	if late.Type != "task:error" || late.text("error.type") != "task_not_found" || late.text("details.reason") != "task_finished" || late.get("final") != false {
		t.Errorf("%s", late)
	}
	none := c.ask("task:stop", obj{"task_id": "nope"})
	if none.text("error.type") != "task_not_found" || none.text("task_id") != "nope" || none.get("final") != false {
		t.Errorf("%s", none)
	}
	// One who may stop and not look is answered too.
	third := c.submit("/sleep 600000", nil)
	blind := h.connect(h.newToken("", "task:control").Secret)
	if f := blind.ask("task:stop", obj{"task_id": third}); f.Type != "task:stopped" {
		t.Errorf("%s", f)
	}
}

func TestSpeakingToATask(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	task := c.submit("/tool shell {\"command\":\"touch x\"}\n/say first", nil)
	asked := c.await("approval:required").text("approval_id")
	say := func(text, mode string) frame {
		payload := obj{"task_id": task, "message": obj{"role": "user", "content": text}}
		if mode != "" {
			payload["injection_mode"] = mode
		}
		return c.ask("task:message", payload)
	}
	ack := say("/say second", "")
	if ack.Type != "task:message_ack" || ack.text("disposition") != "queued" || ack.number("position") != 1 || ack.text("message_id") == "" || ack.get("seq") != nil {
		t.Errorf("%s", ack)
	}
	if f := say("/say third", "collect"); f.text("disposition") != "collecting" {
		t.Errorf("%s", f)
	}
	// The same envelope twice is one message.
	id := uuid.NewString()
	payload := obj{"task_id": task, "message": obj{"role": "user", "content": "/say once"}, "injection_mode": "followup"}
	var answers [2]string
	for i := range answers {
		c.sendAs(id, "task:message", payload)
		answers[i] = string(c.until(func(f frame) bool { return f.ReplyTo == id }).Payload)
	}
	if answers[0] != answers[1] {
		t.Errorf("%s and %s", answers[0], answers[1])
	}
	c.ask("approval:response", obj{"approval_id": asked, "approved": true})
	done := c.await("task:completed")
	if done.text("result.text") != "third" || done.number("turns") != 4 {
		t.Errorf("%s", done)
	}
	var got []string
	for _, f := range c.events(task) {
		if f.Type == "task:user_message" {
			got = append(got, f.text("message.content"))
		}
	}
	if d := cmp.Diff([]string{"/say second", "/say once", "/say third"}, got); d != "" {
		t.Error(d)
	}
	late := say("/say late", "")
	if late.text("error.type") != "task_not_found" || late.text("details.reason") != "task_finished" || late.text("error.suggestion") == "" {
		t.Errorf("%s", late)
	}
}

// Whoever comes back after an event gets all that follows, once, and live.
func TestComingBackGivesEverythingOnce(t *testing.T) {
	h := newHub(t)
	const goal = "/pace 2\n/chunks 100\n/say " + "word " + "\n/say abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz\n/tool file_list {}\n/say zyxwvutsrqponmlkjihgfedcba9876543210"
	c := h.connect(h.token)
	task := c.submit(goal, nil)
	var text string
	last := int64(1) // the start
	for {
		// Read a few, then lose the connection without a word.
		done := false
		for n := 0; n < 12 && !done; {
			f := c.next()
			if f.text("task_id") != task || f.get("seq") == nil {
				continue
			}
			from := f.number("seq")
			if m := f.number("from_seq"); m != 0 {
				from = m
			}
			if from != last+1 {
				t.Fatalf("event %d after %d", from, last)
			}
			last = f.number("seq")
			text += f.text("text")
			n++
			if done = f.Type == "task:completed"; done && f.text("result.text") != text {
				t.Errorf("%q, result %q", text, f.text("result.text"))
			}
		}
		if done {
			break
		}
		check(t, c.ws.CloseNow())
		c = h.connect(h.token)
		snapshot := c.ask("task:resume", obj{"task_id": task, "after_seq": last})
		if snapshot.Type != "task:snapshot" || snapshot.get("gap") != false || snapshot.number("last_seq") < last || !strings.HasPrefix(snapshot.text("text"), text) {
			t.Fatalf("%s, so far %q", snapshot, text)
		}
	}
}

func TestResumingSaysWhatItCannot(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	task := c.submit("/say hello there", nil)
	end := c.await("task:completed")
	c.ask("task:resume", obj{"task_id": task, "after_seq": 1})
	if again := c.await("task:completed"); string(again.Payload) != string(end.Payload) {
		t.Errorf("%s", again)
	}
	if f := c.ask("task:resume", obj{"task_id": task, "after_seq": end.number("seq")}); f.text("status") != "completed" || f.text("text") != "hello there" {
		t.Errorf("%s", f)
	}
	wantError(t, c.ask("task:resume", obj{"task_id": task, "after_seq": end.number("seq") + 1}), "protocol_error", "bad_cursor")
	wantError(t, c.ask("task:resume", obj{"task_id": task, "after_seq": -1}), "protocol_error", "bad_cursor")
	if f := c.ask("task:resume", obj{"task_id": "nope"}); f.text("error.type") != "task_not_found" || f.get("final") != false {
		t.Errorf("%s", f)
	}
}

// A second resume takes the place of the first, and unsubscribing ends it.
func TestASecondResumeTakesThePlaceOfTheFirst(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	task := c.submit("/pace 1\n/chunks 200\n/say "+strings.Repeat("abcdefgh", 50)+"\n/sleep 600000", nil)
	c.await("task:delta")
	for range 5 {
		c.ask("task:resume", obj{"task_id": task, "after_seq": 0})
	}
	mark := len(c.seen)
	c.until(func(f frame) bool { return f.Type == "task:delta" })
	c.ask("task:unsubscribe", obj{"task_id": task})
	var last int64
	for _, f := range c.seen[mark:] {
		if f.get("seq") == nil || f.Type == "task:snapshot" {
			continue
		}
		from := f.number("seq")
		if n := f.number("from_seq"); n != 0 {
			from = n
		}
		if from != last+1 {
			t.Fatalf("event %d after %d", from, last)
		}
		last = f.number("seq")
	}
	mark = len(c.seen)
	other := h.connect(h.token)
	other.ask("task:stop", obj{"task_id": task})
	// Its life cycle still comes, as to every other connection of the person.
	c.await("task:stopped")
	for _, f := range c.seen[mark:] {
		if f.Type == "task:delta" {
			t.Errorf("after unsubscribing: %s", f)
		}
	}
}

func TestTwoFollowersSeeOneOrder(t *testing.T) {
	h := newHub(t)
	a, b := h.connect(h.token), h.connect(h.token)
	task := a.submit("/pace 1\n/say one two three four\n/tool file_list {}\n/and file_list {}\n/say five six", nil)
	b.ask("task:resume", obj{"task_id": task})
	b.seen = nil // before the resume it was told the life cycle: the start, and on a busy machine the end, too
	a.await("task:completed")
	b.await("task:completed")
	inOrder(t, a.events(task))
	mine := b.events(task)
	inOrder(t, mine)
	if joinText(a.events(task)) != joinText(mine) {
		t.Errorf("%q and %q", joinText(a.events(task)), joinText(mine))
	}
}

func TestAnotherTabSeesTheLifeCycleOnly(t *testing.T) {
	h := newHub(t)
	tab, a := h.connect(h.token), h.connect(h.token)
	blind := h.connect(h.newToken("", "task:submit").Secret)
	task := a.submit("/say one\n/tool shell {\"command\":\"touch x\"}\n/say two", nil)
	asked := tab.await("approval:required").text("approval_id")
	resolved := tab.ask("approval:response", obj{"approval_id": asked, "approved": true})
	if resolved.Type != "approval:resolved" || resolved.text("outcome") != "approved" || resolved.number("seq") == 0 {
		t.Errorf("%s", resolved)
	}
	tab.await("task:completed")
	tab.alive()
	var kinds []string
	for _, f := range tab.seen {
		if f.text("task_id") == task {
			kinds = append(kinds, f.Type)
		}
	}
	if d := cmp.Diff([]string{"task:started", "approval:required", "approval:resolved", "task:completed"}, kinds); d != "" {
		t.Error(d)
	}
	blind.alive()
	for _, f := range blind.seen {
		if f.text("task_id") != "" || f.Type == "status:agent" {
			t.Errorf("without task:read: %s", f)
		}
	}
	// But its own task it follows, approvals excepted.
	own := blind.submit("/say mine\n/tool shell {\"command\":\"touch y\"}\n/say more", nil)
	tab.ask("approval:response", obj{"approval_id": tab.await("approval:required").text("approval_id"), "approved": false, "reason": "no"})
	blind.await("task:completed")
	inOrder(t, blind.events(own))
	for _, f := range blind.events(own) {
		if strings.HasPrefix(f.Type, "approval:") {
			t.Errorf("%s", f)
		}
	}
}

// An admin sees another person's task once it asks to, and nothing before.
func TestAnAdminFollowsAnothersTaskWhenItAsks(t *testing.T) {
	h := newHub(t)
	admin, bob := h.connect(h.token, "admin"), h.connect(h.newToken("bob", "*").Secret)
	task := bob.submit("/say hi\n/sleep 600000", nil)
	bob.await("task:delta")
	admin.alive()
	for _, f := range admin.seen {
		if f.text("task_id") == task {
			t.Errorf("%s", f)
		}
	}
	if f := admin.ask("task:resume", obj{"task_id": task}); f.text("status") != "running" {
		t.Errorf("%s", f)
	}
	if f := admin.ask("task:stop", obj{"task_id": task}); f.Type != "task:stopped" {
		t.Errorf("%s", f)
	}
	if !strings.Contains(fmt.Sprint(admin.types()), "task:delta") {
		t.Error("the admin got no deltas")
	}
}

func TestEightStreamsOnOneSocket(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	want := map[string]string{}
	for i := range 8 {
		text := strings.Repeat(fmt.Sprintf("task%d ", i), 40) + "end"
		want[c.submit("/chunks 60\n/pace 1\n/say "+text, nil)] = text
	}
	ended := func() (n int) {
		for _, f := range c.seen {
			if f.Type == "task:completed" {
				n++
			}
		}
		return n
	}
	for ended() < 8 {
		c.next()
	}
	for task, text := range want {
		inOrder(t, c.events(task))
		if got := joinText(c.events(task)); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

func TestTasksAreListed(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	var ids []string
	for i := range 5 {
		ids = append(ids, c.submit(fmt.Sprintf("/say %d", i), nil))
		c.await("task:completed")
	}
	page := c.ask("task:list", obj{"limit": 2})
	tasks := page.get("tasks").([]any)
	if len(tasks) != 2 || tasks[0].(obj)["task_id"] != ids[4] || tasks[0].(obj)["status"] != "completed" || page.text("next_cursor") == "" {
		t.Fatalf("%s", page)
	}
	rest := c.ask("task:list", obj{"limit": 10, "cursor": page.text("next_cursor")})
	if n := len(rest.get("tasks").([]any)); n != 3 || rest.get("next_cursor") != nil {
		t.Errorf("%s", rest)
	}
	if f := c.ask("task:list", obj{"status": "running"}); len(f.get("tasks").([]any)) != 0 {
		t.Errorf("%s", f)
	}
	wantError(t, c.ask("task:list", obj{"limit": 201}), "protocol_error", "bad_payload")
	wantError(t, c.ask("task:list", obj{"status": "sleeping"}), "protocol_error", "bad_payload")
}

// Nothing but what waits, and life cycles, comes between the grant and the first request.
func TestAQuietClientIsToldLittle(t *testing.T) {
	h := newHub(t)
	quiet, busy := h.connect(h.token), h.connect(h.token)
	task := busy.submit("/tool shell {\"command\":\"touch x\"}", nil)
	busy.ask("approval:response", obj{"approval_id": busy.await("approval:required").text("approval_id"), "approved": true})
	busy.until(func(f frame) bool { return f.Type == "status:agent" && f.text("status") == "idle" })
	quiet.await("task:completed")
	for _, f := range quiet.seen[2:] {
		switch f.Type {
		case "task:started", "task:completed", "approval:required", "approval:resolved":
		default:
			t.Errorf("%s", f)
		}
		if f.text("task_id") != task {
			t.Errorf("%s", f)
		}
	}
}

func TestRevokingATokenRefusesWhatItStillWantedToSay(t *testing.T) {
	h := newHub(t)
	token := h.newToken("", "task:*")
	a, b := h.connect(h.token), h.connect(token.Secret)
	task := a.submit("/tool shell {\"command\":\"touch x\"}\n/say first", nil)
	asked := a.await("approval:required").text("approval_id")
	if f := b.ask("task:message", obj{"task_id": task, "message": obj{"role": "user", "content": "/say never"}, "injection_mode": "followup"}); f.Type != "task:message_ack" {
		t.Fatalf("%s", f)
	}
	check(t, h.people.Revoke(t.Context(), identity.Local(h.owner), token.ID))
	b.closed()
	a.ask("approval:response", obj{"approval_id": asked, "approved": true})
	if done := a.await("task:completed"); done.text("result.text") != "first" {
		t.Errorf("%s", done)
	}
}
