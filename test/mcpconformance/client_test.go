package mcpconformance

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

// seen is what the client told; see client.mjs.
type seen struct {
	Tools                                       []string
	Found, Used, Direct, Asked, Elicited, Shown string
	Unknown                                     int
}

// The official SDK's client at a whole hub: it finds tools that are not listed, waits for a
// person at the hub and asks its own, and is told of what the hub does not know.
func TestTheOfficialClientFindsUsesAndWaits(t *testing.T) {
	node := suite(t)[0]
	h := hubtest.Start(t, hubtest.Config{})
	said := jsontext.Value(`{"stdout":"a<b\n","stderr":"","exit_code":0}`)
	m := hubtest.Enrol(t, h, "pc-1", func(context.Context, *kenny.Request) (jsontext.Value, error) { return said, nil })
	defer m.Connect(t, h)()
	cmd := exec.CommandContext(t.Context(), node, "client.mjs", h.URL+"/mcp", h.Token("*"), "pc-1")
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	approved := approveOne(t, h)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the client: %v\n%s\n%s", err, &out, &wrong)
	}
	var got seen
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if len(got.Tools) > 24 || !slices.Contains(got.Tools, "find_tools") || !slices.Contains(got.Tools, "use_tool") {
		t.Errorf("%d tools are listed, want 24 or fewer, with find_tools and use_tool: %v", len(got.Tools), got.Tools)
	}
	if !strings.Contains(got.Found, "list_agents") {
		t.Errorf("find_tools did not find the list of machines: %s", got.Found)
	}
	if !strings.Contains(got.Used, "pc-1") || got.Used != got.Direct {
		t.Errorf("use_tool answers %s, the tool by its own name %s; want the same, with the machine", got.Used, got.Direct)
	}
	if got.Unknown != -32601 {
		t.Errorf("an unknown method is answered by %d, want -32601", got.Unknown)
	}
	if !strings.Contains(approved, "by the inbox") || !strings.Contains(got.Asked, "a<b") {
		t.Errorf("approved was %s, and the call was answered %s; want what ran, unescaped", approved, got.Asked)
	}
	if !strings.Contains(got.Shown, "by the client") || !strings.Contains(got.Elicited, "a<b") {
		t.Errorf("the client's person was shown %q and the call answered %s; want the command and what ran", got.Shown, got.Elicited)
	}
}

// approveOne says yes to the first question in the inbox, and what it was about.
func approveOne(t *testing.T, h *hubtest.Hub) (arguments string) {
	t.Helper()
	hubtest.Eventually(t, "a call waits in the inbox", func() bool {
		list, err := hubapi.Call(t.Context(), h.Client(), rest.ListApprovals, rest.ApprovalQuery{State: "pending"})
		if err != nil || len(list.Approvals) == 0 {
			return false
		}
		arguments = string(list.Approvals[0].Arguments)
		_, err = hubapi.Call(t.Context(), h.Client(), rest.AnswerApproval, rest.ApprovalAnswer{ID: list.Approvals[0].ID, Body: rest.Answer{Approved: true}})
		check(t, err)
		return true
	})
	return arguments
}
