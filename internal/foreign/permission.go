package foreign

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"parley.internal/internal/brain/tool"
	"parley.internal/protocol/acp"
)

// toolStart is asked about before a program starts outside a box.
const toolStart = "agent_start"

// kinds are the tool calls that an agent asks permission for, as tools of its task. Looking
// is harmless in the box; nobody knows what the rest does.
var kinds = map[string]tool.Class{
	acp.KindRead: tool.ReadOnly, acp.KindSearch: tool.ReadOnly, acp.KindThink: tool.ReadOnly,
	acp.KindEdit: tool.Sensitive, acp.KindDelete: tool.Sensitive, acp.KindMove: tool.Sensitive,
	acp.KindExecute: tool.Sensitive, acp.KindFetch: tool.Sensitive, acp.KindOther: tool.Sensitive,
}

// toolOf is the tool's name for a kind; a kind of later versions is another.
func toolOf(kind string) string {
	if _, known := kinds[kind]; !known {
		kind = acp.KindOther
	}
	return "agent_" + kind
}

// Tools are the permission requests as tools. They do nothing: the agent does it, once it may.
func (s *session) Tools() []*tool.Tool {
	allowed := func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: `{"allowed":true}`}, nil
	}
	list := []*tool.Tool{
		{Name: "shell", Class: tool.Sensitive, Run: allowed, Schema: json.RawMessage(`{"type":"object","required":["command"],"additionalProperties":false,"properties":{"command":{"type":"string","minLength":1},"cwd":{"type":"string"}}}`)},
		{Name: toolStart, Class: tool.Sensitive, Unboxed: true, Run: allowed},
	}
	for kind, class := range kinds {
		if !s.o.Sandbox.Boxed() {
			class = tool.Sensitive // what it reads is anything
		}
		list = append(list, &tool.Tool{Name: toolOf(kind), Class: class, Run: allowed})
	}
	slices.SortFunc(list, func(a, b *tool.Tool) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// shownCall is what a person is shown of a tool call: all of it.
type shownCall struct {
	Title   string          `json:"title,omitempty"`
	Files   []string        `json:"files,omitempty"`
	Changes []shownChange   `json:"changes,omitempty"`
	Text    string          `json:"text,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
}

// shownChange is what becomes of a file.
type shownChange struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new"`
}

// permission is the call that a permission request stands for: a command is one of the shell,
// so that whatever is said about commands holds for it.
func (s *session) permission(r *request) (name string, args any, err error) {
	p, err := acp.Read[acp.PermissionRequest](r.message.Params)
	if err != nil {
		return "", nil, err
	}
	r.options = p.Options
	about := p.ToolCall.ToolCall
	if d := s.deeds[about.ID]; d != nil { // the request may say only what is new
		d.merge(&about, p.ToolCall.Content)
		about, p.ToolCall.Content = d.call, d.content
	}
	if command, dir, ok := commandOf(about); ok {
		if dir == "" {
			return "shell", map[string]string{"command": command}, nil
		}
		return "shell", map[string]string{"command": command, "cwd": dir}, nil
	}
	return toolOf(about.Tool), shown(about, p.ToolCall.Content), nil
}

// beside are members of a command's input that change nothing of what it does.
var beside = []string{"command", "cwd", "workdir", "directory", "description", "timeout", "is_background", "run_in_background", "call_id", "turn_id"}

// commandOf is the command that a call runs, if that is all that its input says.
func commandOf(c acp.ToolCall) (command, dir string, ok bool) {
	var in map[string]json.RawMessage
	if c.Tool != acp.KindExecute || json.Unmarshal(c.Input, &in) != nil {
		return "", "", false
	}
	for name := range in {
		if !slices.Contains(beside, name) {
			return "", "", false
		}
	}
	for _, name := range []string{"cwd", "workdir", "directory"} {
		if raw, there := in[name]; there && json.Unmarshal(raw, &dir) != nil {
			return "", "", false
		}
	}
	if json.Unmarshal(in["command"], &command) != nil {
		var words []string
		if json.Unmarshal(in["command"], &words) != nil {
			return "", "", false
		}
		command = commandOfWords(words)
	}
	return command, dir, strings.TrimSpace(command) != ""
}

// commandOfWords is a command that came as a list of words; a shell that is given a script is the script.
func commandOfWords(words []string) string {
	if len(words) == 3 && strings.HasSuffix(words[0], "sh") && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	line := make([]string, len(words))
	for i, word := range words {
		line[i] = quoted(word)
	}
	return strings.Join(line, " ")
}

// shown is a tool call as people see it.
func shown(c acp.ToolCall, content []acp.ToolContent) shownCall {
	out := shownCall{Title: c.Title}
	if json.Valid(c.Input) {
		out.Input = json.RawMessage(c.Input)
	}
	for _, l := range c.Locations {
		out.Files = append(out.Files, l.Path)
	}
	var text []string
	for _, part := range content {
		switch {
		case part.Type == "diff":
			out.Changes = append(out.Changes, shownChange{Path: part.Path, Old: part.Old, New: part.New})
		case part.Content != nil && part.Content.Text != "":
			text = append(text, part.Content.Text)
		}
	}
	out.Text = strings.Join(text, "\n")
	return out
}

// choose is the option that a decision stands for. A yes is a yes to this once: an agent that
// would ask nobody from now on is not told so, and one that offers nothing less gets no yes.
func choose(options []acp.Option, res result) acp.Outcome {
	want := []string{acp.AllowOnce}
	switch {
	case res.OK:
	case res.Error.Type == "cancelled" || res.Error.Type == "superseded":
		want = nil
	default:
		want = []string{acp.RejectOnce, acp.RejectAlways}
	}
	for _, kind := range want {
		for _, o := range options {
			if o.Kind == kind {
				return acp.Outcome{Outcome: acp.OutcomeSelected, Option: o.ID}
			}
		}
	}
	if res.OK {
		return choose(options, result{}) // a no, if there is one
	}
	return acp.Outcome{Outcome: acp.OutcomeCancelled}
}
