package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// beginning stands in where a history does not start with a person: the API
// wants the first word to be theirs.
const beginning = "(the conversation goes on from earlier messages)"

// messages lays the neutral history out as the API wants it: alternating sides,
// each message a list of blocks, injected texts leading the latest user message.
func messages(in []model.Message) []sdk.MessageParam {
	msgs := modelhttp.Repair(in, model.CleanID)
	var l layout
	var injected []string
	for _, m := range msgs {
		if m.Injected {
			injected = append(injected, m.Text)
		}
	}
	latest := modelhttp.Latest(msgs)
	for i, m := range msgs {
		if i == latest {
			l.turn = len(l.blocks)
			l.texts(injected...)
		}
		l.message(m)
	}
	if latest < 0 {
		l.turn = len(l.blocks)
		l.texts(injected...)
	}
	return l.build()
}

// layout is the flat list of blocks with the side each belongs to. Cache marks
// are easier set here than in the nested form.
type layout struct {
	blocks []block
	turn   int // where the current turn begins
}

type block struct {
	role sdk.MessageParamRole
	sdk.ContentBlockParamUnion
}

func (l *layout) add(role sdk.MessageParamRole, b sdk.ContentBlockParamUnion) {
	l.blocks = append(l.blocks, block{role, b})
}

// texts adds blocks of the user's side; the API refuses blank ones.
func (l *layout) texts(texts ...string) {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			l.add(sdk.MessageParamRoleUser, sdk.NewTextBlock(t))
		}
	}
}

func (l *layout) message(m model.Message) {
	switch {
	case m.Injected: // placed already
	case m.Role == model.Assistant:
		l.assistant(m)
	case m.Role == model.Tool:
		l.add(sdk.MessageParamRoleUser, result(m))
	default:
		for _, f := range m.Files {
			if f.Data != nil {
				l.add(sdk.MessageParamRoleUser, fileBlock(f))
			}
		}
		l.texts(m.Words())
	}
}

// fileBlock is a file as the API takes it: pictures and PDFs.
func fileBlock(f model.File) sdk.ContentBlockParamUnion {
	data := base64.StdEncoding.EncodeToString(f.Data)
	if f.Type == "application/pdf" {
		b := sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: data})
		b.OfDocument.Title = param.NewOpt(f.Name)
		return b
	}
	return sdk.NewImageBlockBase64(f.Type, data)
}

func (l *layout) assistant(m model.Message) {
	var out []sdk.ContentBlockParamUnion
	if strings.TrimSpace(m.Text) != "" {
		out = append(out, sdk.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		out = append(out, sdk.NewToolUseBlock(c.ID, input(c.Arguments), c.Name))
	}
	if len(out) == 0 {
		return
	}
	for _, b := range append(remembered(m), out...) {
		l.add(sdk.MessageParamRoleAssistant, b)
	}
}

// build marks what to cache and folds neighbours of one side together.
func (l *layout) build() []sdk.MessageParam {
	l.mark(l.turn - 1)
	l.mark(len(l.blocks) - 1)
	var out []sdk.MessageParam
	if len(l.blocks) > 0 && l.blocks[0].role != sdk.MessageParamRoleUser {
		out = append(out, sdk.NewUserMessage(sdk.NewTextBlock(beginning)))
	}
	for _, b := range l.blocks {
		if n := len(out); n > 0 && out[n-1].Role == b.role {
			out[n-1].Content = append(out[n-1].Content, b.ContentBlockParamUnion)
			continue
		}
		out = append(out, sdk.MessageParam{Role: b.role, Content: []sdk.ContentBlockParamUnion{b.ContentBlockParamUnion}})
	}
	return out
}

// mark sets a cache mark at block i or the nearest one before it that can carry
// one (reasoning cannot).
func (l *layout) mark(i int) {
	for ; i >= 0; i-- {
		if c := l.blocks[i].GetCacheControl(); c != nil {
			*c = sdk.NewCacheControlEphemeralParam()
			return
		}
	}
}

func result(m model.Message) sdk.ContentBlockParamUnion {
	b := sdk.NewToolResultBlock(m.CallID, m.Text, m.IsError)
	if strings.TrimSpace(m.Text) == "" {
		b.OfToolResult.Content = nil
	}
	return b
}

// input is a call's arguments as the object the API insists on.
func input(arguments string) any {
	var obj map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &obj) == nil && obj != nil {
		return json.RawMessage(arguments)
	}
	if strings.TrimSpace(arguments) == "" {
		return struct{}{}
	}
	return map[string]string{"invalid_arguments": arguments}
}
