package builtin

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain/tool"
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

// SceneOf is what a call would do besides what its arguments say, for standing rules.
func SceneOf(t *tool.Tool, call tool.Call) approval.Scene {
	n := needsOf(call)
	scene := approval.Scene{Read: n.Read, Write: n.Write, Hosts: n.Hosts}
	if t.Reach != nil {
		scene.Hosts = append(scene.Hosts, t.Reach(call.Arguments))
	}
	if IsCommand(t.Name) {
		scene.Folder = folderOf(call)
	}
	return scene
}

// folderOf is where a command would run: a path in the workspace, where it is in there.
func folderOf(call tool.Call) string {
	var args struct {
		Cwd string `json:"cwd"`
	}
	_ = json.Unmarshal(call.Arguments, &args) // one without has none
	dir := args.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(call.Dir, dir)
	}
	if rel, err := filepath.Rel(call.Workspace, dir); err == nil && filepath.IsAbs(dir) && filepath.IsLocal(rel) {
		dir = rel
	}
	return filepath.ToSlash(filepath.Clean(dir))
}
