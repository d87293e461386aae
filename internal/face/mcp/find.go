package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	exp "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools by which the others are found and called.
const (
	findPart = "find"
	findTool = "find_tools"
	useTool  = "use_tool"
)

// mostFound is how many tools one search describes.
const mostFound = 8

// finding is how a model reaches the tools that /mcp does not list.
func (p *path) finding() Toolset {
	return Toolset{Name: findPart, Tools: []Tool{
		{
			Name: findTool, Title: "Find tools", Hints: Hints{ReadOnly: true, Idempotent: true}, Common: true, Run: Handle(p.find),
			Input: Object(Optional("query", Text("what you want to do, in a few words; left out, the names of all tools are listed", 0, 400))),
			Description: "Find more tools of this hub: machines (files, processes, services, packages, network, screen), tasks, conversations, rooms, " +
				"other agents and their skills. Tells each tool's name, what it does and its arguments; call it with " + useTool + ".",
			Output: Answer(Required("tools", Kind("array", "the tools that fit best, with their schemas")), Optional("names", Kind("object", "names of all tools, by part"))),
		},
		{
			Name: useTool, Title: "Use a tool that was found", Hints: Hints{Destructive: true, OpenWorld: true}, Common: true, Audited: true, Run: neverRun,
			Input:       Object(Required("name", Text("name of the tool, from "+findTool, 1, 128)), Optional("arguments", &jsonschema.Schema{Type: "object", Description: "its arguments, by its schema"})),
			Description: "Call a tool that " + findTool + " named, with its arguments. It needs the same rights and asks the same questions as when it is called by its own name.",
		},
	}}
}

// neverRun stands for a tool whose calls became calls of others; see unwrap.
func neverRun(context.Context, *Call) (Result, error) {
	return Result{}, Errorf("bad_args", "%s cannot call itself", useTool)
}

// unwrap turns a call of use_tool into the call it asks for, before anything else sees
// it: scopes, questions to people and the trail know the tool that runs and no other.
func (p *path) unwrap(params *sdk.CallToolParamsRaw) error {
	if p.name != "" || params.Name != useTool {
		return nil
	}
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := exp.Unmarshal(params.Arguments, &in, exp.RejectUnknownMembers(true)); err != nil || in.Name == "" {
		return Errorf("bad_args", "%s takes the name of a tool and its arguments, an object", useTool)
	}
	params.Name, params.Arguments = in.Name, in.Arguments
	return nil
}

type findArgs struct {
	Query string `json:"query"`
}

// foundTool is a tool as a model needs it to make a call.
type foundTool struct {
	Name        string `json:"name"`
	Part        string `json:"part"`
	Description string `json:"description"`
	Changes     bool   `json:"changes_something"`
	Input       any    `json:"input_schema"`
}

// find describes the tools that fit the words best; without any it names them all.
func (p *path) find(_ context.Context, c *Call, in findArgs) (Result, error) {
	usable := slices.DeleteFunc(slices.Collect(maps.Values(p.tools)), func(e entry) bool {
		return e.part == findPart || !e.usable(c, c.Session != nil)
	})
	slices.SortFunc(usable, func(a, b entry) int { return strings.Compare(a.listed, b.listed) })
	fits := best(usable, in.Query)
	found := []foundTool{}
	for _, e := range fits {
		shown := e.describe(c.Session != nil)
		found = append(found, foundTool{e.listed, e.part, e.Description, !e.Hints.ReadOnly, shown.InputSchema})
	}
	out := map[string]any{"tools": found}
	if len(found) == 0 {
		names := map[string][]string{}
		for _, e := range usable {
			names[e.part] = append(names[e.part], e.listed)
		}
		out["names"] = names
	}
	return Result{Value: out}, nil
}

// best are the tools that have most of the words, in their names before all.
func best(all []entry, query string) []entry {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	score := func(e entry) (n int) {
		name, text := strings.ToLower(e.listed+" "+e.Title+" "+e.part), strings.ToLower(e.Description)
		for _, w := range words {
			switch {
			case len(w) < 3: // "a", "on", "to"
			case strings.Contains(name, w):
				n += 3
			case strings.Contains(text, w):
				n++
			}
		}
		return n
	}
	fits := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return score(e) == 0 })
	slices.SortStableFunc(fits, func(a, b entry) int { return score(b) - score(a) })
	return fits[:min(len(fits), mostFound)]
}
