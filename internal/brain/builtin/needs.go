package builtin

import (
	"encoding/json"
	"strings"

	"parley/internal/brain/tool"
)

// needs are what a command wants besides what every box has: a person is asked for exactly
// that, and the yes is for this one box.
type needs struct {
	Read  []string `json:"read"`
	Write []string `json:"write"`
	Hosts []string `json:"hosts"`
}

const needsSchema = `"needs":{"type":"object","additionalProperties":false,
			"description":"what the command needs beyond the workspace, the system's programs and hosts that are allowed; a person is asked for exactly this",
			"properties":{
			"read":{"type":"array","maxItems":16,"items":{"type":"string","minLength":1,"maxLength":4096},"description":"absolute paths to read"},
			"write":{"type":"array","maxItems":16,"items":{"type":"string","minLength":1,"maxLength":4096},"description":"absolute paths of folders to change"},
			"hosts":{"type":"array","maxItems":16,"items":{"type":"string","minLength":1,"maxLength":253},"description":"names of hosts to connect to"}}}`

func (n needs) empty() bool { return len(n.Read)+len(n.Write)+len(n.Hosts) == 0 }

func needsOf(call tool.Call) needs {
	var args struct {
		Needs needs `json:"needs"`
	}
	if call.Name != "shell" || json.Unmarshal(call.Arguments, &args) != nil {
		return needs{}
	}
	return args.Needs
}

// NeedsOf says in words what a command needs besides its box; empty if nothing.
func NeedsOf(call tool.Call) string {
	n := needsOf(call)
	var parts []string
	for _, one := range []struct {
		verb string
		list []string
	}{{"read ", n.Read}, {"change ", n.Write}, {"connect to ", n.Hosts}} {
		if len(one.list) > 0 {
			parts = append(parts, one.verb+strings.Join(one.list, ", "))
		}
	}
	return strings.Join(parts, " and ")
}
