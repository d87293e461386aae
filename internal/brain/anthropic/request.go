package anthropic

import (
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"parley.internal/internal/brain/model"
)

// params builds the body of one call.
func (p *Provider) params(req model.Request) sdk.MessageNewParams {
	out := sdk.MessageNewParams{
		Model:     req.Model,
		MaxTokens: int64(p.maxOutput(req)),
		Messages:  messages(req.Messages),
		Tools:     tools(req.Tools),
	}
	if strings.TrimSpace(req.System) != "" {
		out.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	think(&out, req)
	if req.Temperature != nil && param.IsOmitted(out.Thinking) { // thinking fixes the temperature
		out.Temperature = param.NewOpt(*req.Temperature)
	}
	return out
}

func (p *Provider) maxOutput(req model.Request) int {
	switch {
	case req.MaxOutput > 0:
		return req.MaxOutput
	case p.opts.MaxOutput > 0:
		return p.opts.MaxOutput
	case oldest.MatchString(req.Model):
		return 4096
	case old.MatchString(req.Model):
		return 8192
	default:
		return 32000 // the smallest limit among the models since
	}
}

// The generations that differ in what they accept.
var (
	oldest   = regexp.MustCompile(`claude-(2|instant|3-(opus|sonnet|haiku))`)
	old      = regexp.MustCompile(`claude-3-5-`)
	budgeted = regexp.MustCompile(`claude-(3-7-|(opus|sonnet|haiku)-4-([015]\b|20))`)
)

// budgets are tokens to think with, for models that want a number.
var budgets = map[string]int64{"low": 2048, "medium": 8192, "high": 16384}

const minBudget = 1024 // the API's lower limit

// think asks for reasoning the way the model's generation wants it: a budget up
// to 4.5, an effort since.
func think(out *sdk.MessageNewParams, req model.Request) {
	budget, ok := budgets[req.Thinking]
	if !ok || oldest.MatchString(req.Model) || old.MatchString(req.Model) {
		return
	}
	if !budgeted.MatchString(req.Model) {
		out.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		out.OutputConfig.Effort = sdk.OutputConfigEffort(req.Thinking)
		return
	}
	// the budget comes out of max_tokens and must leave room for an answer
	budget = min(budget, out.MaxTokens/2)
	if budget < minBudget || unsigned(req.Messages) {
		return
	}
	out.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
}

// unsigned reports a tool round in progress whose calls were made without
// signed reasoning; with a budget the API then refuses to think.
func unsigned(msgs []model.Message) bool {
	for i := len(msgs) - 1; i >= 0 && (msgs[i].Role != model.User || msgs[i].Injected); i-- {
		if len(msgs[i].Calls) > 0 && msgs[i].ReasoningSignature == "" {
			return true
		}
	}
	return false
}

// tools describes the tools; the last carries the cache mark for all of them.
func tools(specs []model.ToolSpec) []sdk.ToolUnionParam {
	var out []sdk.ToolUnionParam
	for _, s := range specs {
		t := &sdk.ToolParam{Name: s.Name, InputSchema: schema(s.Schema)}
		if s.Description != "" {
			t.Description = param.NewOpt(s.Description)
		}
		out = append(out, sdk.ToolUnionParam{OfTool: t})
	}
	if n := len(out); n > 0 {
		out[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return out
}

// schema keeps a tool's JSON schema as it is; anything but an object becomes the
// empty one.
func schema(raw json.RawMessage) sdk.ToolInputSchemaParam {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields)
	out := sdk.ToolInputSchemaParam{Properties: struct{}{}, ExtraFields: map[string]any{}}
	for k, v := range fields {
		switch k {
		case "type":
		case "properties":
			out.Properties = v
		case "required":
			_ = json.Unmarshal(v, &out.Required)
		default:
			out.ExtraFields[k] = v
		}
	}
	return out
}
