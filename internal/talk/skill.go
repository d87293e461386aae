package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"parley.internal/internal/brain/offline"
	"parley.internal/internal/brain/tool"
)

// expand makes a message "/NAME rest" into the skill's body and the rest, if the
// agent has that skill. A script of the offline model is never a skill.
func (r *running) expand(text string) string {
	if s, rest, ok := r.skillIn(text); ok {
		return skillText(s) + rest
	}
	return text
}

func (r *running) skillIn(text string) (s Skill, rest string, ok bool) {
	if r.guest() {
		return s, "", false
	}
	name, ok := strings.CutPrefix(text, "/")
	if !ok {
		return s, "", false
	}
	if i := strings.IndexAny(name, " \t\r\n"); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	if line, _, _ := strings.Cut(text, "\n"); name == "" || offline.IsDirective(line) || !r.agent.HasSkill(name) {
		return s, "", false
	}
	if s, ok = r.c.t.d.Skills.Get(name); ok && !s.For(r.agent) {
		return Skill{}, "", false
	}
	if ok {
		rest = strings.TrimSpace(rest)
		if rest != "" {
			rest = "\n\n" + rest
		}
	}
	return s, rest, ok
}

func skillText(s Skill) string {
	return fmt.Sprintf("<skill name=%q>\n%s\n</skill>", s.Name, strings.TrimSpace(s.Body))
}

// skillIndex tells which skills there are; loading one is the skill tool's.
func (r *running) skillIndex() string {
	var b strings.Builder
	for _, s := range r.c.t.d.Skills.List() {
		if s.For(r.agent) {
			fmt.Fprintf(&b, "\n- %s: %s", s.Name, s.Description)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Skills you can load with the skill tool:" + b.String()
}

func (r *running) skillTool() *tool.Tool {
	return &tool.Tool{
		Name: toolSkill, Class: tool.ReadOnly,
		Description: "Load a skill: instructions for a kind of work, by name.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`),
		Run: func(_ context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[struct{ Name string }](call)
			if err != nil {
				return tool.Result{}, err
			}
			s, ok := r.c.t.d.Skills.Get(args.Name)
			if !ok || !s.For(r.agent) {
				return tool.Result{}, tool.Errorf(tool.NotFound, "there is no skill %q; %s", args.Name, orNone(r.skillIndex()))
			}
			r.narrow.use(s)
			return tool.Result{Text: skillText(s)}, nil
		},
	}
}

func orNone(s string) string {
	if s == "" {
		return "you have no skills"
	}
	return s
}
