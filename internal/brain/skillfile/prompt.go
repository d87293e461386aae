package skillfile

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"parley.internal/internal/brain/tool"
)

// indexLine is how much of a description the index shows, in runes.
const indexLine = 300

// Index is what a prompt says about an agent's skills: their names and what they
// are for. It is empty without skills, and the same for the same skills.
func Index(skills []Skill) string {
	var b strings.Builder
	for _, s := range skills {
		if s.Err != nil {
			continue
		}
		b.WriteString("- " + s.Name)
		if d := clip(s.Description, indexLine); d != "" {
			b.WriteString(": " + d)
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return ""
	}
	return "Skills you can load with the skill tool when a request calls for one:\n" + b.String()
}

// Expand turns a user's `/NAME rest` into the skill's text and the rest, if NAME
// is one of the agent's skills and no command of the offline model. Else the text
// stays as it is and the skill is nil.
func Expand(text string, skills []Skill) (string, *Skill) {
	name, rest, ok := slash(text)
	if !ok || Reserved(name) {
		return text, nil
	}
	s, ok := find(skills, name)
	if !ok {
		return text, nil
	}
	out := s.Tagged()
	if rest != "" {
		out += "\n\n" + rest
	}
	return out, &s
}

// slash parts "/name rest"; the name ends at the first white space.
func slash(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name = text
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		name, rest = text[:i], strings.TrimSpace(text[i:])
	}
	return name, rest, ValidName(name)
}

// ending is anything a reader might take for the end of a skill's text.
var ending = regexp.MustCompile(`(?i)<(\s*/\s*skill\b)`)

// Tagged is the body inside a tag that names the skill and that the body cannot
// close.
func (s Skill) Tagged() string {
	body := ending.ReplaceAllString(strings.TrimRight(s.Body, "\n"), "&lt;$1")
	return `<skill name="` + s.Name + "\">\n" + body + "\n</skill>"
}

// Tool makes the skill tool; skills gives those of the agent a call is made for.
func Tool(skills func(tool.Call) []Skill) *tool.Tool {
	return &tool.Tool{
		Name:        "skill",
		Description: "Load a skill by name: instructions for a kind of work. The names are in your prompt.",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":64}},
			"required":["name"],"additionalProperties":false}`),
		Class: tool.ReadOnly,
		Run: func(_ context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[struct {
				Name string `json:"name"`
			}](call)
			if err != nil {
				return tool.Result{}, err
			}
			mine := skills(call)
			s, ok := find(mine, args.Name)
			if !ok {
				return tool.Result{}, tool.Errorf(tool.NotFound, "there is no skill %q here; available: %s", args.Name, names(mine))
			}
			return tool.Result{Text: s.Tagged()}, nil
		},
	}
}

func names(skills []Skill) string {
	var out []string
	for _, s := range skills {
		if s.Err == nil {
			out = append(out, s.Name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
