//nolint:staticcheck // sampling, roots and logging are on their way out of the protocol, and still in the suite
package mcpconformance

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// form is an elicitation with one property.
func form(message, property, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{property: map[string]any{"type": kind}}, "required": []string{property},
	}}
}

func sampling(words string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: words}}}}
}

// accepted is what a person filled in, nil if they did not.
func accepted(from sdk.InputResponseMap, name string) map[string]any {
	if r, ok := from[name].(*sdk.ElicitResult); ok && r.Action == "accept" {
		return r.Content
	}
	return nil
}

func sampled(from sdk.InputResponseMap, name string) (string, bool) {
	r, ok := from[name].(*sdk.CreateMessageWithToolsResult)
	if !ok || len(r.Content) == 0 {
		return "", false
	}
	words, _ := r.Content[0].(*sdk.TextContent)
	return words.Text, true
}

func ask(state string, questions sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: questions, RequestState: state}, nil
}

// seal and sealed stand in for what a real tool does to the state it hands out;
// face/mcp has its own, and its own tests.
const sealed = "sealed:"

func valid(state string) bool {
	return strings.HasPrefix(state, sealed) && !strings.HasSuffix(state, "-TAMPERED")
}

// askingTools need the client's help: in a session by a request to it, without
// one by a result that says what is missing.
func askingTools() map[string]sdk.ToolHandler {
	return map[string]sdk.ToolHandler{
		"test_sampling":                              askSampling,
		"test_elicitation":                           askForm(nil),
		"test_elicitation_sep1034_defaults":          askForm(defaults),
		"test_elicitation_sep1330_enums":             askForm(enums),
		"test_input_required_result_elicitation":     needName,
		"test_input_required_result_sampling":        needSampling,
		"test_input_required_result_list_roots":      needRoots,
		"test_input_required_result_request_state":   needConfirmation,
		"test_input_required_result_tampered_state":  needConfirmation,
		"test_input_required_result_multiple_inputs": needEverything,
		"test_input_required_result_multi_round":     needTwice,
		"test_input_required_result_capabilities":    needWhatIsThere,
	}
}

type words struct {
	Prompt  string `json:"prompt"`
	Message string `json:"message"`
}

func arguments(req *sdk.CallToolRequest) (in words) {
	_ = json.Unmarshal(req.Params.Arguments, &in)
	return in
}

func askSampling(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	answer, err := req.Session.CreateMessage(ctx, sampling(arguments(req).Prompt))
	if err != nil {
		return nil, err
	}
	said, _ := answer.Content.(*sdk.TextContent)
	return result(text("LLM response: %s", said.Text))
}

func askForm(schema any) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		question := form(arguments(req).Message, "username", "string")
		if schema != nil {
			question = &sdk.ElicitParams{Message: "Fill it in.", RequestedSchema: schema}
		}
		answer, err := req.Session.Elicit(ctx, question)
		if err != nil {
			return nil, err
		}
		return result(text("Elicitation result: action=%s, content=%v", answer.Action, answer.Content))
	}
}

var defaults = map[string]any{"type": "object", "properties": map[string]any{
	"name":     map[string]any{"type": "string", "default": "John Doe"},
	"age":      map[string]any{"type": "integer", "default": 30},
	"score":    map[string]any{"type": "number", "default": 95.5},
	"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
	"verified": map[string]any{"type": "boolean", "default": true},
}}

func titled(values ...string) (list []map[string]any) {
	for _, v := range values {
		list = append(list, map[string]any{"const": v, "title": "The " + v})
	}
	return list
}

var enums = map[string]any{"type": "object", "properties": map[string]any{
	"untitledSingle": map[string]any{"type": "string", "enum": []string{"option1", "option2", "option3"}},
	"titledSingle":   map[string]any{"type": "string", "oneOf": titled("value1", "value2", "value3")},
	"legacyEnum":     map[string]any{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"One", "Two", "Three"}},
	"untitledMulti":  map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": []string{"option1", "option2", "option3"}}},
	"titledMulti":    map[string]any{"type": "array", "items": map[string]any{"anyOf": titled("value1", "value2", "value3")}},
}}

func needName(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string); name != "" {
		return result(text("Hello, %s!", name))
	}
	return ask("", sdk.InputRequestMap{"user_name": form("What is your name?", "name", "string")})
}

func needSampling(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if said, ok := sampled(req.Params.InputResponses, "capital_question"); ok {
		return result(text("Sampling response: %s", said))
	}
	return ask("", sdk.InputRequestMap{"capital_question": sampling("What is the capital of France?")})
}

func needRoots(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if list, ok := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
		return result(text("%d root(s)", len(list.Roots)))
	}
	return ask("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}})
}

func needConfirmation(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if state := req.Params.RequestState; state != "" && !valid(state) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this state was not made here"}
	}
	if accepted(req.Params.InputResponses, "confirm") != nil && req.Params.RequestState != "" {
		return result(text("state-ok: confirmed"))
	}
	return ask(sealed+"confirm", sdk.InputRequestMap{"confirm": form("Sure?", "ok", "boolean")})
}

func needEverything(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string)
	greeting, greeted := sampled(req.Params.InputResponses, "greeting")
	roots, rooted := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult)
	if name != "" && greeted && rooted {
		return result(text("%s %s, %d root(s)", greeting, name, len(roots.Roots)))
	}
	return ask(sealed+"everything", sdk.InputRequestMap{
		"user_name": form("What is your name?", "name", "string"), "greeting": sampling("Greet."), "client_roots": &sdk.ListRootsParams{},
	})
}

func needTwice(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	name, second := strings.CutPrefix(req.Params.RequestState, sealed+"second:")
	switch {
	case req.Params.RequestState == "":
		return ask(sealed+"first", sdk.InputRequestMap{"step1": form("What is your name?", "name", "string")})
	case !second:
		name, _ := accepted(req.Params.InputResponses, "step1")["name"].(string)
		return ask(sealed+"second:"+name, sdk.InputRequestMap{"step2": form("And your colour?", "color", "string")})
	default:
		return result(text("%s likes %v", name, accepted(req.Params.InputResponses, "step2")["color"]))
	}
}

func needWhatIsThere(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	questions := sdk.InputRequestMap{}
	caps := req.ClientCapabilities()
	if caps != nil && caps.Elicitation != nil {
		questions["user_name"] = form("What is your name?", "name", "string")
	}
	if caps != nil && caps.Sampling != nil {
		questions["greeting"] = sampling("Greet.")
	}
	if len(req.Params.InputResponses) > 0 || len(questions) == 0 {
		return result(text("nothing to ask"))
	}
	return ask("", questions)
}

func askingPrompt(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	if filled := accepted(req.Params.InputResponses, "user_context"); filled != nil {
		return prompt(text("Context: %v", filled["context"]))(ctx, req)
	}
	return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": form("What is it about?", "context", "string")}}, nil
}
