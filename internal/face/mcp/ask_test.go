package mcp_test

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	facemcp "parley.internal/internal/face/mcp"
)

// person answers what a client shows.
func person(action string, shown chan<- string) sdk.ClientOptions {
	return sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		shown <- req.Params.Message
		return &sdk.ElicitResult{Action: action, Content: map[string]any{}}, nil
	}}
}

func TestAPersonIsAskedInTheirClient(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	for _, revision := range bothKinds {
		shown := make(chan string, 10)
		yes := r.connect("/mcp/probe", revision, options{client: person("accept", shown)})
		works(t, yes, "confirm", map[string]any{"text": "go"}, `{"did":"go"}`)
		if text := <-shown; text != "Really go?" {
			t.Errorf("shown %q", text)
		}
		<-p.ran
		for _, no := range []string{"decline", "cancel"} {
			fails(t, r.connect("/mcp/probe", revision, options{client: person(no, shown)}), "confirm", map[string]any{"text": "go"}, "denied: the person said no")
			<-shown
		}
		fails(t, r.connect("/mcp/probe", revision, options{}), "confirm", map[string]any{"text": "go"}, "denied: nobody can be asked")
	}
	if len(p.ran) > 0 {
		t.Error("it ran without a yes")
	}
}

// byHand is a client that answers questions itself, or does not.
func byHand(r *rig, token string) *sdk.ClientSession { return byHandAt(r, "/mcp/probe", token) }

func byHandAt(r *rig, path, token string) *sdk.ClientSession {
	return r.connect(path, standalone, options{token: token, client: sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	}})
}

func answerTo(t *testing.T, s *sdk.ClientSession, text, state, action string) *sdk.CallToolResult {
	t.Helper()
	return must(s.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "confirm", Arguments: map[string]any{"text": text}, RequestState: state,
		InputResponses: sdk.InputResponseMap{"approval": &sdk.ElicitResult{Action: action}},
	}))(t)
}

// An answer is good for the question it answers, once, and for nothing else.
func TestAnAnswerCountsOnceAndForItsQuestionOnly(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	s := byHand(r, r.token)
	asked := must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: "confirm", Arguments: map[string]any{"text": "harmless"}}))(t)
	if !asked.NeedsInput() || asked.RequestState == "" {
		t.Fatalf("not asked: %+v", asked)
	}
	state := asked.RequestState
	body, tag, _ := strings.Cut(state, ".")
	refused := func(what string, result *sdk.CallToolResult) {
		t.Helper()
		if !result.IsError || !strings.HasPrefix(textOf(result), "bad_args: the answer does not belong") {
			t.Errorf("%s: %s; want result.IsError, strings.HasPrefix(textOf(result), \"bad_args: the answer does not belong\")", what, textOf(result))
		}
	}
	refused("other arguments", answerTo(t, s, "evil", state, "accept"))
	refused("changed state", answerTo(t, s, "harmless", body+"x."+tag, "accept"))
	refused("changed tag", answerTo(t, s, "harmless", body+"."+strings.Repeat("A", len(tag)), "accept"))
	refused("no tag", answerTo(t, s, "harmless", body, "accept"))
	refused("garbage", answerTo(t, s, "harmless", "%%%.%%%", "accept"))
	refused("another token", answerTo(t, byHand(r, r.newToken("owner", "talk").Secret), "harmless", state, "accept"))
	if len(p.ran) > 0 {
		t.Fatal("it ran")
	}
	if result := answerTo(t, s, "harmless", state, "accept"); result.IsError || <-p.ran != "harmless" {
		t.Errorf("a good answer: %s", textOf(result))
	}
	refused("the same answer again", answerTo(t, s, "harmless", state, "accept"))
	// An accept that nobody asked for is asked about.
	unasked := answerTo(t, s, "evil", "", "accept")
	if !unasked.NeedsInput() {
		t.Errorf("an unasked yes counted: %s", textOf(unasked))
	}
	if result := answerTo(t, s, "evil", unasked.RequestState, "decline"); !result.IsError {
		t.Error("a no counted as a yes")
	}
	if len(p.ran) > 0 {
		t.Error("it ran without a yes")
	}
}

func TestEveryQuestionIsItsOwn(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	s := byHand(r, r.token)
	seen := map[string]bool{}
	for range 20 {
		asked := must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: "confirm", Arguments: map[string]any{"text": "x"}}))(t)
		seen[asked.RequestState] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d different questions of 20", len(seen))
	}
}
