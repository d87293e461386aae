package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// params builds the body of one call.
func (p *Provider) params(req model.Request) sdk.ChatCompletionNewParams {
	out := sdk.ChatCompletionNewParams{
		Model:         req.Model,
		Messages:      p.messages(req),
		Tools:         tools(req.Tools),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	limit := req.MaxOutput
	if limit == 0 {
		limit = p.opts.MaxOutput
	}
	switch {
	case limit > 0 && p.own:
		out.MaxCompletionTokens = param.NewOpt(int64(limit))
	case limit > 0: // the name every compatible server knows
		out.MaxTokens = param.NewOpt(int64(limit))
	}
	if req.Temperature != nil {
		out.Temperature = param.NewOpt(*req.Temperature)
	}
	switch req.Thinking {
	case "low", "medium", "high":
		out.ReasoningEffort = shared.ReasoningEffort(req.Thinking)
	}
	return out
}

func (p *Provider) messages(req model.Request) []sdk.ChatCompletionMessageParamUnion {
	msgs := modelhttp.Repair(req.Messages, nil)
	system := []string{}
	if strings.TrimSpace(req.System) != "" {
		system = append(system, req.System)
	}
	if p.opts.SystemFirst {
		kept := msgs[:0:0]
		for _, m := range msgs {
			if m.Injected || m.Role == model.System {
				system = append(system, m.Text)
				continue
			}
			kept = append(kept, m)
		}
		msgs = kept
	}
	var out []sdk.ChatCompletionMessageParamUnion
	if len(system) > 0 {
		out = append(out, sdk.SystemMessage(strings.Join(system, "\n\n")))
	}
	for _, m := range msgs {
		out = append(out, p.message(m))
	}
	return out
}

func (p *Provider) message(m model.Message) sdk.ChatCompletionMessageParamUnion {
	switch {
	case m.Injected, m.Role == model.System:
		return sdk.SystemMessage(m.Text)
	case m.Role == model.Assistant:
		return p.assistant(m)
	case m.Role == model.Tool:
		return sdk.ToolMessage(m.Text, m.CallID)
	default:
		return said(m)
	}
}

// said is what a person said, with the files that go along.
func said(m model.Message) sdk.ChatCompletionMessageParamUnion {
	var parts []sdk.ChatCompletionContentPartUnionParam
	if text := m.Words(); text != "" {
		parts = append(parts, sdk.TextContentPart(text))
	}
	words := len(parts)
	for _, f := range m.Files {
		if f.Data != nil {
			parts = append(parts, filePart(f))
		}
	}
	if len(parts) == words {
		return sdk.UserMessage(m.Words())
	}
	return sdk.UserMessage(parts)
}

// filePart is a file as the API takes it: by its type.
func filePart(f model.File) sdk.ChatCompletionContentPartUnionParam {
	data := base64.StdEncoding.EncodeToString(f.Data)
	address := "data:" + f.Type + ";base64," + data
	switch {
	case strings.HasPrefix(f.Type, "image/"):
		return sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: address})
	case f.Type == "audio/wav":
		return sdk.InputAudioContentPart(sdk.ChatCompletionContentPartInputAudioInputAudioParam{Data: data, Format: "wav"})
	case f.Type == "audio/mpeg":
		return sdk.InputAudioContentPart(sdk.ChatCompletionContentPartInputAudioInputAudioParam{Data: data, Format: "mp3"})
	}
	return sdk.FileContentPart(sdk.ChatCompletionContentPartFileFileParam{FileData: param.NewOpt(address), Filename: param.NewOpt(f.Name)})
}

func (p *Provider) assistant(m model.Message) sdk.ChatCompletionMessageParamUnion {
	a := &sdk.ChatCompletionAssistantMessageParam{}
	if m.Text != "" || len(m.Calls) == 0 {
		a.Content.OfString = param.NewOpt(m.Text)
	}
	for _, c := range m.Calls {
		f := sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments(c.Arguments)}
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{ID: c.ID, Function: f},
		})
	}
	if p.opts.SendReasoning && m.Reasoning != "" {
		a.SetExtraFields(map[string]any{"reasoning_content": m.Reasoning})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: a}
}

// arguments are sent back as the model wrote them, unless it wrote no JSON:
// several servers parse them to fill a template and fail on anything else.
func arguments(text string) string {
	if json.Valid([]byte(text)) {
		return text
	}
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	quoted, err := json.Marshal(map[string]string{"invalid_arguments": text})
	if err != nil {
		return "{}"
	}
	return string(quoted)
}

func tools(specs []model.ToolSpec) []sdk.ChatCompletionToolUnionParam {
	var out []sdk.ChatCompletionToolUnionParam
	for _, s := range specs {
		f := shared.FunctionDefinitionParam{Name: s.Name}
		if s.Description != "" {
			f.Description = param.NewOpt(s.Description)
		}
		// what is no object leaves the tool without parameters
		_ = json.Unmarshal(s.Schema, &f.Parameters)
		out = append(out, sdk.ChatCompletionFunctionTool(f))
	}
	return out
}
