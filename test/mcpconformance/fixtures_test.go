//nolint:staticcheck // sampling, roots and logging are on their way out of the protocol, and still in the suite
package mcpconformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A red dot and a silent moment.
var (
	picture = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence = decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decode(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// options is what a server of the suite can do besides tools.
func options(_ string, o *sdk.ServerOptions) {
	o.Capabilities = nil // the library's own idea: all of them
	o.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
		return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
	}
	o.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
	o.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
}

// extend registers what the suite looks for.
func extend(_ string, server *sdk.Server) {
	for name, run := range plainTools(server) {
		server.AddTool(&sdk.Tool{Name: name, Description: "for the conformance suite", InputSchema: json.RawMessage(`{"type":"object"}`)}, run)
	}
	for name, run := range askingTools() {
		server.AddTool(&sdk.Tool{Name: name, Description: "asks the client first", InputSchema: json.RawMessage(`{"type":"object"}`)}, run)
	}
	server.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", Description: "a schema with everything", InputSchema: json.RawMessage(everySchemaWord)}, says("called"))
	server.AddTool(&sdk.Tool{Name: "test_x_mcp_header", Description: "an argument that is also a header", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`)}, says("called"))
	addResources(server)
	addPrompts(server)
}

const everySchemaWord = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"}, "email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]}, "else": {"required": ["email"]},
	"additionalProperties": false
}`

func text(format string, args ...any) sdk.Content {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

func result(content ...sdk.Content) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: content}, nil
}

func says(format string, args ...any) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return result(text(format, args...))
	}
}

func gives(content ...sdk.Content) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return result(content...) }
}

func embedded(uri string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "words in a resource"}}
}

func plainTools(server *sdk.Server) map[string]sdk.ToolHandler {
	image := &sdk.ImageContent{Data: picture, MIMEType: "image/png"}
	return map[string]sdk.ToolHandler{
		"test_simple_text":            says("This is a simple text response for testing."),
		"test_image_content":          gives(image),
		"test_audio_content":          gives(&sdk.AudioContent{Data: silence, MIMEType: "audio/wav"}),
		"test_embedded_resource":      gives(embedded("test://embedded-resource")),
		"test_multiple_content_types": gives(text("words"), image, embedded("test://in-between")),
		"test_tool_with_logging":      logging,
		"test_tool_with_progress":     progressing,
		"test_error_handling": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{text("this fails on purpose")}}, nil
		},
		"test_missing_capability":    needsSampling,
		"test_streaming_elicitation": says("no request on this stream"),
		"test_logging_tool": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return result(text("logged: %v", log(ctx, req, "a line")))
		},
		"test_reconnection": reconnecting,
		"test_trigger_tool_change": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			server.AddTool(&sdk.Tool{Name: "passing", Description: "comes and goes", InputSchema: json.RawMessage(`{"type":"object"}`)}, says("here"))
			return result(text("changed"))
		},
		"test_trigger_prompt_change": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			server.AddPrompt(&sdk.Prompt{Name: "passing", Description: "comes and goes"}, prompt(text("here")))
			return result(text("changed"))
		},
	}
}

func log(ctx context.Context, req *sdk.CallToolRequest, line string) error {
	return req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line})
}

func logging(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	for _, line := range []string{"begins", "goes on", "ends"} {
		if err := log(ctx, req, line); err != nil {
			return nil, err
		}
	}
	return result(text("logged"))
}

func progressing(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for _, done := range []float64{0, 50, 100} {
		if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
			return nil, err
		}
	}
	return result(text("%v", token))
}

// reconnecting drops the stream, so that the client must come back for the rest.
func reconnecting(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
	}
	<-time.After(100 * time.Millisecond) // what the suite measures: a result that is ready only after the client left
	return result(text("still here"))
}

func needsSampling(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
		return result(text("sampling is there"))
	}
	data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "needs sampling", Data: data}
}

func addResources(server *sdk.Server) {
	server.AddResource(&sdk.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"}, resource("text/plain", "words", nil))
	server.AddResource(&sdk.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"}, resource("image/png", "", picture))
	server.AddResource(&sdk.Resource{Name: "watched-resource", URI: "test://watched-resource", MIMEType: "text/plain"}, resource("text/plain", "words", nil))
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id, ok := strings.CutSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			if !ok {
				return nil, errors.New("not of this template")
			}
			words := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: words}}}, nil
		})
}

func resource(kind, words string, blob []byte) sdk.ResourceHandler {
	return func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: kind, Text: words, Blob: blob}}}, nil
	}
}

func addPrompts(server *sdk.Server) {
	argument := func(name string) *sdk.PromptArgument { return &sdk.PromptArgument{Name: name, Required: true} }
	server.AddPrompt(&sdk.Prompt{Name: "test_simple_prompt", Description: "simple"}, prompt(text("This is a simple prompt for testing.")))
	server.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_image", Description: "with an image"}, prompt(&sdk.ImageContent{Data: picture, MIMEType: "image/png"}, text("Look at it.")))
	server.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_arguments", Description: "with arguments", Arguments: []*sdk.PromptArgument{argument("arg1"), argument("arg2")}},
		func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return prompt(text("arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"]))(ctx, req)
		})
	server.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_embedded_resource", Description: "with a resource", Arguments: []*sdk.PromptArgument{argument("resourceUri")}},
		func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return prompt(embedded(req.Params.Arguments["resourceUri"]), text("Read it."))(ctx, req)
		})
	server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "asks the client first"}, askingPrompt)
}

func prompt(content ...sdk.Content) sdk.PromptHandler {
	return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		out := &sdk.GetPromptResult{}
		for _, c := range content {
			out.Messages = append(out.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return out, nil
	}
}
