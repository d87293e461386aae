package mcp_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/fleet"
	"parley.internal/internal/identity"
)

var script = map[string]any{"agent_id": "pc-1", "script": "echo hi"}

const printed = `{"stdout":"hi\n","stderr":"","exit_code":0}`

// Item 31 of the fleet's list.
func TestChangesAreAskedInTheClient(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	for _, revision := range bothKinds {
		shown := make(chan string, 10)
		yes := p.connect("/mcp/fleet", revision, options{client: person("accept", shown)})
		works(t, yes, "shell_exec", script, printed)
		if req := <-m.calls; req.Tool != "shell_exec" {
			t.Errorf("ran %s", req.Tool)
		}
		if text := <-shown; !strings.Contains(text, "pc-1") || !strings.Contains(text, "shell_exec") || !strings.Contains(text, "echo hi") {
			t.Errorf("shown: %q", text)
		}
		for _, answer := range []string{"decline", "cancel"} {
			fails(t, p.connect("/mcp/fleet", revision, options{client: person(answer, shown)}), "shell_exec", script, "denied: ")
			<-shown
		}
		m.idle(t)
		// Looking needs no asking.
		structured(t, yes, "fs_disk_usage", map[string]any{"agent_id": "pc-1"})
		<-m.calls
		if len(shown) > 0 {
			t.Error("asked although it only looks")
		}
	}
	if waiting := must(p.inbox.List(t.Context(), approval.Filter{}))(t); len(waiting) > 0 {
		t.Errorf("the inbox has %d questions that were asked in the client", len(waiting))
	}
}

// A question in a client was cut after 4,000 characters, and the script ran to its end.
func TestAScriptThatAClientMightCutIsAskedInTheInbox(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	long := strings.Repeat("echo harmless\n", 400) + "touch /srv/late"
	for _, revision := range bothKinds {
		asked := make(chan string, 10)
		result := later(p.connect("/mcp/fleet", revision, options{client: person("accept", asked)}), "shell_exec", map[string]any{"agent_id": "pc-1", "script": long})
		item := p.pending()
		if !strings.Contains(string(item.Arguments), "touch /srv/late") {
			t.Errorf("%s: the inbox does not show the end of the script", revision)
		}
		m.idle(t)
		must(p.inbox.Answer(t.Context(), identity.Local(p.owner), item.ID, approval.Answer{}))(t)
		if got := <-result; !strings.HasPrefix(textOf(got), "denied: ") || len(asked) > 0 {
			t.Errorf("%s: a yes in the client counted for a text it was not asked about: %s", revision, textOf(got))
		}
	}
	m.idle(t)
}

// Escapes, carriage returns and direction marks made a client show another script than
// the one that ran, and only the script was shown of all arguments.
func TestAQuestionInAClientShowsAllThatRunsWithNothingHidden(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	p.enrol("pc-1", true)
	for _, revision := range bothKinds {
		asked := make(chan string, 10)
		fails(t, p.connect("/mcp/fleet", revision, options{client: person("decline", asked)}), "shell_exec",
			map[string]any{"agent_id": "pc-1", "script": "touch /srv/x\recho hi\x1b[2K\u202e\u200b", "timeout_s": 77}, "denied: ")
		text := <-asked
		for _, want := range []string{"touch /srv/x⟨U+000D⟩echo hi⟨U+001B⟩[2K⟨U+202E⟩⟨U+200B⟩", "timeout_s", "77"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the question does not show %q: %q", revision, want, text)
			}
		}
	}
}

// A yes for one script is none for another, and the refusal says so plainly.
func TestAYesBelongsToItsArguments(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	s := byHandAt(p.rig, "/mcp/fleet", p.token)
	asked := must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: "shell_exec", Arguments: script}))(t)
	other := &sdk.CallToolParams{
		Name: "shell_exec", Arguments: map[string]any{"agent_id": "pc-1", "script": "echo other"}, RequestState: asked.RequestState,
		InputResponses: sdk.InputResponseMap{"approval": &sdk.ElicitResult{Action: "accept"}},
	}
	if got := must(s.CallTool(t.Context(), other))(t); !got.IsError || !strings.HasPrefix(textOf(got), "bad_args: the answer does not belong") {
		t.Errorf("%s; want got.IsError, strings.HasPrefix(textOf(got), \"bad_args: the answer does not belong\")", textOf(got))
	}
	m.idle(t)
}

// pending is the one question that waits.
func (p *park) pending() approval.Item {
	p.t.Helper()
	var found []approval.Item
	eventually(p.t, "a question waits", func() bool {
		found = must(p.inbox.List(context.Background(), approval.Filter{Kind: approval.KindTool, States: []approval.State{approval.StatePending}}))(p.t)
		return len(found) == 1
	})
	return found[0]
}

// later calls a tool that is going to wait.
func later(s *sdk.ClientSession, name string, args any) <-chan *sdk.CallToolResult {
	out := make(chan *sdk.CallToolResult, 1)
	go func() {
		result, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			result = &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
		}
		out <- result
	}()
	return out
}

// Item 31 of the fleet's list.
func TestChangesAreAskedInTheInboxWhereTheClientCannotAsk(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	for _, revision := range bothKinds {
		s := p.connect("/mcp/fleet", revision, options{})
		for _, approved := range []bool{true, false} {
			result := later(s, "shell_exec", script)
			item := p.pending()
			if item.Tool != "shell_exec" || item.Target != "pc-1" || !strings.Contains(string(item.Arguments), "echo hi") {
				t.Errorf("asked: %+v", item.Request)
			}
			m.idle(t)
			must(p.inbox.Answer(t.Context(), identity.Local(p.owner), item.ID, approval.Answer{Approved: approved}))(t)
			if got := <-result; got.IsError == approved || !approved && !strings.HasPrefix(textOf(got), "denied: ") {
				t.Errorf("approved %v: %s", approved, textOf(got))
			}
			if approved {
				<-m.calls
			}
		}
		m.idle(t)
	}
}

// Item 31 of the fleet's list.
func TestACallThatWaitsTooLongIsLookedUpLater(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{Wait: time.Millisecond})
	m := p.enrol("pc-1", true)
	token := p.newToken("owner", "fleet", "approval:respond")
	for _, revision := range bothKinds {
		s := p.connect("/mcp/fleet", revision, options{token: token.Secret})
		waiting := <-later(s, "shell_exec", script)
		id, _ := waiting.Meta["parley/call_id"].(string)
		answer, _ := waiting.StructuredContent.(map[string]any)
		// Nothing failed, so that nothing invites a model to try again.
		if waiting.IsError || id == "" || answer["state"] != "asking" || answer["code"] != "approval_pending" || answer["call_id"] != id || !strings.Contains(textOf(waiting), "do not call it again") {
			t.Fatalf("a call that waits is answered %s, meta %v", textOf(waiting), waiting.Meta)
		}
		if status := structured(t, s, "call_status", map[string]any{"call_id": id}); status["state"] != "asking" {
			t.Errorf("status %v", status)
		}
		item := p.pending()
		// The token that asks does not answer itself.
		asker := must(p.people.Authenticate(t.Context(), token.Secret))(t)
		if _, err := p.inbox.Answer(t.Context(), asker, item.ID, approval.Answer{Approved: true}); err == nil {
			t.Error("the asking token approved its own call")
		}
		m.idle(t)
		must(p.inbox.Answer(t.Context(), identity.Local(p.owner), item.ID, approval.Answer{Approved: true}))(t)
		<-m.calls
		eventually(t, "the call is done", func() bool {
			return structured(t, s, "call_status", map[string]any{"call_id": id})["state"] == "done"
		})
		if status := structured(t, s, "call_status", map[string]any{"call_id": id}); keys(status["result"])[0] != "exit_code" {
			t.Errorf("status %v", status)
		}
	}
}

// Item 31 of the fleet's list.
func TestWhatNobodyApprovesDoesNotRun(t *testing.T) {
	p := newPark(t, fleet.Limits{ApprovalWait: time.Millisecond}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	for _, revision := range bothKinds {
		fails(t, p.connect("/mcp/fleet", revision, options{}), "shell_exec", script, "approval_timeout: ")
	}
	m.idle(t)
}

// Item 31 of the fleet's list.
func TestAnUnattendedTokenIsNotAsked(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	token := p.newToken("owner", "fleet", "fleet:unattended").Secret
	for _, revision := range bothKinds {
		shown := make(chan string, 10)
		works(t, p.connect("/mcp/fleet", revision, options{token: token, client: person("decline", shown)}), "shell_exec", script, printed)
		<-m.calls
		if len(shown) > 0 {
			t.Error("asked all the same")
		}
	}
}

func TestAHubMayAskInTheInboxOnly(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{InboxOnly: true})
	m := p.enrol("pc-1", true)
	shown := make(chan string, 10)
	result := later(p.connect("/mcp/fleet", withSessions, options{client: person("accept", shown)}), "shell_exec", script)
	must(p.inbox.Answer(t.Context(), identity.Local(p.owner), p.pending().ID, approval.Answer{Approved: true}))(t)
	if got := <-result; got.IsError || len(shown) > 0 {
		t.Errorf("%s, shown %d", textOf(got), len(shown))
	}
	<-m.calls
}

// A model that gives up, or whose person hangs up, leaves nothing behind to approve.
func TestACancelledCallLeavesTheInbox(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	for _, revision := range bothKinds {
		s := p.connect("/mcp/fleet", revision, options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.CallTool(ctx, &sdk.CallToolParams{Name: "shell_exec", Arguments: script})
		}()
		p.pending()
		cancel()
		<-done
		eventually(t, "nothing waits any more", func() bool {
			return len(must(p.inbox.List(context.Background(), approval.Filter{Kind: approval.KindTool, States: []approval.State{approval.StatePending}}))(t)) == 0
		})
	}
	m.idle(t)
}

func TestAWaitingCallSaysThatItLives(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{Beat: time.Millisecond})
	m := p.enrol("pc-1", true)
	for _, revision := range bothKinds {
		heard := make(chan string, 1000)
		s := p.connect("/mcp/fleet", revision, options{client: sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) { heard <- n.Params.Message },
		}})
		params := &sdk.CallToolParams{Name: "shell_exec", Arguments: script}
		params.SetProgressToken("t")
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.CallTool(context.Background(), params)
		}()
		for range 3 {
			if text := <-heard; !strings.Contains(text, "shell_exec on pc-1") {
				t.Errorf("heard %q", text)
			}
		}
		must(p.inbox.Answer(t.Context(), identity.Local(p.owner), p.pending().ID, approval.Answer{Approved: true}))(t)
		<-m.calls
		<-done
	}
}

// A no in the client was in no record at all: the call never ran, and the inbox never saw the question.
func TestAPersonsAnswerInTheClientIsInTheTrailOnce(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	for _, revision := range bothKinds {
		before := len(p.trail.entries())
		for _, answer := range []string{"accept", "decline", "cancel"} {
			shown := make(chan string, 1)
			_, err := p.connect("/mcp/fleet", revision, options{client: person(answer, shown)}).CallTool(t.Context(), &sdk.CallToolParams{Name: "shell_exec", Arguments: script})
			check(t, err)
			<-shown
		}
		<-m.calls
		var got []string
		for _, e := range p.trail.entries()[before:] {
			if e.Action == audit.ApprovalElicited {
				got = append(got, e.Target+" "+e.Outcome+" "+e.Actor)
			}
		}
		want := []string{"shell_exec approved person:owner", "shell_exec rejected person:owner", "shell_exec cancelled person:owner"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the trail has %q, want each answer once: %q", revision, got, want)
		}
	}
}

// What a caller may not use at all never reaches the part that keeps its own record.
func TestARefusedToolIsInTheTrailWhoeverKeepsTheRecord(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	token := p.newToken("owner", "fleet:read")
	s := p.connect("/mcp/fleet", withSessions, options{token: token.Secret})
	fails(t, s, "shell_exec", script, "forbidden: ")
	m.idle(t)
	var got []audit.Entry
	for _, e := range p.trail.entries() {
		if e.Action == audit.MCPCall {
			got = append(got, e)
		}
	}
	if len(got) != 1 || got[0].Target != "shell_exec" || got[0].Outcome != "forbidden" || got[0].Detail["token"] != token.ID {
		t.Errorf("one entry about the refused call, got %+v", got)
	}
}
