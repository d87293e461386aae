package board_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
)

func TestAnApprovalShowsTheCallAndRunsExactlyIt(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	task := c.submit("/tool shell {\"command\":\"echo yes > made\"}\n/result", nil)
	f := c.await("approval:required")
	if f.text("task_id") != task || f.text("tool_call.name") != "shell" || f.text("tool_call.id") == "" || f.text("requested_by") == "" || f.text("created_at") == "" ||
		f.number("seq") == 0 || f.number("timeout_ms") > 604_800_000 || f.number("timeout_ms") < 604_700_000 || !cmp.Equal(f.get("tool_call.arguments"), any(obj{"command": "echo yes > made"})) {
		t.Errorf("%s", f)
	}
	// Nothing in an answer changes what runs.
	resolved := c.ask("approval:response", obj{"approval_id": f.text("approval_id"), "approved": true, "tool_call": obj{"arguments": obj{"command": "rm -rf /"}}})
	if resolved.text("outcome") != "approved" || resolved.text("by") != "person:owner" || resolved.text("resolved_at") == "" {
		t.Errorf("%s", resolved)
	}
	c.await("task:completed")
	if got := string(must(os.ReadFile(filepath.Join(h.workspace, "made")))(t)); got != "yes\n" {
		t.Errorf("%q; want \"yes\\n\"", got)
	}
}

func TestARejectionReachesTheModelAndALateAnswerGetsTheRecord(t *testing.T) {
	h := newHub(t)
	c, late := h.connect(h.token), h.connect(h.token)
	c.submit("/tool shell {\"command\":\"touch x\"}\n/result", nil)
	id := c.await("approval:required").text("approval_id")
	first := c.ask("approval:response", obj{"approval_id": id, "approved": false, "reason": "not today"})
	if first.text("outcome") != "rejected" || first.text("reason") != "not today" {
		t.Errorf("%s; want first.text(\"outcome\") to be \"rejected\", first.text(\"reason\") to be \"not today\"", first)
	}
	done := c.await("task:completed")
	if want := `{"ok":false,"error":{"type":"rejected","message":"not today"}}`; done.text("result.text") != want {
		t.Errorf("%s; want done.text(\"result.text\") to be %v", done, want)
	}
	record := late.ask("approval:response", obj{"approval_id": id, "approved": true})
	if record.Type != "approval:resolved" || record.text("outcome") != "rejected" || record.text("reason") != "not today" {
		t.Errorf("%s", record)
	}
	wantError(t, late.ask("approval:response", obj{"approval_id": "none", "approved": true}), "protocol_error", "approval_not_found")
	wantError(t, late.ask("approval:response", obj{"approval_id": id}), "protocol_error", "bad_payload")
}

// Of many answers at once one counts, and everybody is told the same.
func TestOppositeAnswersAtOnceDecideOnce(t *testing.T) {
	h := newHub(t)
	owner := h.connect(h.token)
	owner.submit("/tool shell {\"command\":\"touch x\"}\n/result", nil)
	id := owner.await("approval:required").text("approval_id")
	clients := make([]*client, 6)
	for i := range clients {
		clients[i] = h.connect(h.token)
	}
	outcomes := make([]string, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			outcomes[i] = c.ask("approval:response", obj{"approval_id": id, "approved": i%2 == 0}).text("outcome")
		})
	}
	wg.Wait()
	said := owner.await("approval:resolved").text("outcome")
	for i, o := range outcomes {
		if o != said {
			t.Errorf("client %d heard %q, the owner %q", i, o, said)
		}
	}
}

func TestWithoutTheScopeNobodyAnswers(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	c.submit("/tool shell {\"command\":\"touch x\"}", nil)
	id := c.await("approval:required").text("approval_id")
	reader := h.connect(h.newToken("", "approval:read", "task:read").Secret)
	if f := reader.await("approval:required"); f.text("approval_id") != id {
		t.Errorf("%s; want f.text(\"approval_id\") to be %v", f, id)
	}
	f := reader.ask("approval:response", obj{"approval_id": id, "approved": true})
	wantError(t, f, "auth_failed", "insufficient_scope")
	if !cmp.Equal(f.get("details.required"), any([]any{"approval:respond"})) {
		t.Errorf("%s; want cmp.Equal(f.get(\"details.required\"), any([]any{\"approval:respond\"}))", f)
	}
	if list := c.ask("approval:list", obj{}); len(list.get("approvals").([]any)) != 1 {
		t.Errorf("%s; want len(list.get(\"approvals\").([]any)) to be 1", list)
	}
}

// What waits comes again after a reconnection: the same question, less time.
func TestWhatWaitsComesAgainRightAfterTheGrant(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	c.submit("/tool shell {\"command\":\"touch x\"}\n/and shell {\"command\":\"touch y\"}", nil)
	a, b := c.await("approval:required"), c.await("approval:required")
	check(t, c.ws.CloseNow())
	again := h.connect(h.token)
	for i, want := range []frame{a, b} {
		f := again.next()
		if f.Type != "approval:required" || f.text("approval_id") != want.text("approval_id") || f.number("seq") != want.number("seq") || f.number("timeout_ms") > want.number("timeout_ms") {
			t.Errorf("%d: %s, want %s", i, f, want)
		}
	}
	again.ask("approval:response", obj{"approval_id": b.text("approval_id"), "approved": false})
	third := h.connect(h.token)
	if f := third.next(); f.text("approval_id") != a.text("approval_id") {
		t.Errorf("%s", f)
	}
	list := third.ask("approval:list", obj{})
	if open := list.get("approvals").([]any); len(open) != 1 || open[0].(obj)["approval_id"] != a.text("approval_id") {
		t.Errorf("%s", list)
	}
	blind := h.connect(h.newToken("", "task:read").Secret)
	blind.alive()
	for _, f := range blind.seen {
		if f.Type == "approval:required" {
			t.Errorf("%s; want f.Type not to be \"approval:required\"", f)
		}
	}
}

func TestStoppingCancelsWhatWaits(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	task := c.submit("/tool shell {\"command\":\"touch made\"}", nil)
	id := c.await("approval:required").text("approval_id")
	c.send("task:stop", obj{"task_id": task})
	if f := c.await("approval:resolved"); f.text("outcome") != "cancelled" || f.text("approval_id") != id {
		t.Errorf("%s; want f.text(\"outcome\") to be \"cancelled\", f.text(\"approval_id\") to be %v", f, id)
	}
	c.await("task:stopped")
	if f := c.ask("approval:response", obj{"approval_id": id, "approved": true}); f.text("outcome") != "cancelled" {
		t.Errorf("%s; want f.text(\"outcome\") to be \"cancelled\"", f)
	}
	if _, err := os.Stat(filepath.Join(h.workspace, "made")); err == nil {
		t.Error("it ran")
	}
}

func TestQuestionsAreAnswered(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	c.submit("/tool ask_user {\"questions\":[{\"question\":\"Which?\",\"options\":[{\"label\":\"red\"},{\"label\":\"blue\"}]}]}\n/result", nil)
	f := c.await("approval:required")
	if f.text("tool_call.name") != "ask_user" {
		t.Fatalf("%s; want f.text(\"tool_call.name\") to be \"ask_user\"", f)
	}
	c.ask("approval:response", obj{"approval_id": f.text("approval_id"), "approved": true, "answers": []string{"blue"}})
	if done := c.await("task:completed"); done.text("result.text") != `{"ok":true,"output":{"answers":["blue"]}}` {
		t.Errorf("%s; want done.text(\"result.text\") to be \"{\"ok\":true,\"output\":{\"answers\":[\"blue\"]}}\"", done)
	}
}

// The inbox is one: what asks without a task, and what is answered elsewhere, is
// on every board.
func TestTheInboxIsOne(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	c.alive()
	pending := must(h.inbox.Ask(t.Context(), approval.Request{Principal: h.owner.ID, Kind: approval.KindTool, Tool: "reboot", RequestedBy: "agent:x", Timeout: time.Minute}))(t)
	f := c.await("approval:required")
	if f.text("approval_id") != pending.ID() || f.text("tool_call.name") != "reboot" {
		t.Fatalf("%s", f)
	}
	// Answered over REST, by the same rules.
	must(h.inbox.Answer(t.Context(), identity.Local(h.owner), pending.ID(), approval.Answer{Approved: true}))(t)
	if f := c.await("approval:resolved"); f.text("outcome") != "approved" || f.text("approval_id") != pending.ID() {
		t.Errorf("%s", f)
	}
	second := must(h.inbox.Ask(t.Context(), approval.Request{Principal: h.owner.ID, Kind: approval.KindTool, Tool: "reboot", RequestedBy: "agent:x", Timeout: time.Minute}))(t)
	c.await("approval:required")
	if f := c.ask("approval:response", obj{"approval_id": second.ID(), "approved": false}); f.text("outcome") != "rejected" {
		t.Errorf("%s; want f.text(\"outcome\") to be \"rejected\"", f)
	}
	outcome := must(second.Wait(t.Context()))(t)
	if outcome.State != approval.StateRejected {
		t.Errorf("%+v; want outcome.State to be %v", outcome, approval.StateRejected)
	}
}

// Somebody who may answer is there, or is not.
func TestTheFaceKnowsWhoIsThereToAnswer(t *testing.T) {
	h := newHub(t)
	if h.face.Attended(h.owner.ID) {
		t.Error("nobody is there")
	}
	reader := h.connect(h.newToken("", "approval:read").Secret)
	reader.alive()
	if h.face.Attended(h.owner.ID) {
		t.Error("one who only reads does not count")
	}
	c := h.connect(h.token)
	c.alive()
	if !h.face.Attended(h.owner.ID) {
		t.Error("the owner is there")
	}
	check(t, c.ws.CloseNow())
	eventually(t, "the owner has left", func() bool { return !h.face.Attended(h.owner.ID) })
}
