package docs

import (
	"encoding/json"
	"html"
	"maps"
	"slices"
	"strings"
)

// document is what is shown of an OpenAPI description.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	ID          string      `json:"operationId"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Tags        []string    `json:"tags"`
	Parameters  []parameter `json:"parameters"`
	Body        struct {
		Content map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]media `json:"content"`
	} `json:"responses"`
	method, path string
}

type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
	Schema      schema `json:"schema"`
}

type media struct {
	Schema schema `json:"schema"`
}

type schema struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Required    []string          `json:"required"`
}

// describe makes a page of a description: every operation with what it takes and gives,
// by subject.
func describe(text []byte) (string, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return "", err
	}
	subjects := map[string][]operation{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			subject := "Others"
			if len(op.Tags) > 0 {
				subject = op.Tags[0]
			}
			subjects[subject] = append(subjects[subject], op)
		}
	}
	var b strings.Builder
	b.WriteString(`<h1>API</h1><p>Tokens are made by <code>parley token create</code> and sent as <code>Authorization: Bearer …</code>. For programs: <a href="/api/openapi.json">openapi.json</a>, <a href="/api/openapi.yaml">openapi.yaml</a>.</p>`)
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		b.WriteString("<h2>" + html.EscapeString(subject) + "</h2>")
		ops := subjects[subject]
		slices.SortFunc(ops, func(x, y operation) int { return strings.Compare(x.path+" "+x.method, y.path+" "+y.method) })
		for _, op := range ops {
			d.operation(&b, op)
		}
	}
	return b.String(), nil
}

func (d document) operation(b *strings.Builder, op operation) {
	b.WriteString(`<details id="` + html.EscapeString(op.ID) + `"><summary><code>` + html.EscapeString(op.method+" "+op.path) + "</code> " + html.EscapeString(op.Summary) + "</summary>")
	if op.Description != "" {
		b.WriteString("<p>" + html.EscapeString(op.Description) + "</p>")
	}
	if len(op.Parameters) > 0 {
		b.WriteString("<table><tr><th>parameter</th><th>in</th><th>type</th><th></th></tr>")
		for _, p := range op.Parameters {
			row(b, mark(p.Name, p.Required), p.In, d.kind(p.Schema), p.Description)
		}
		b.WriteString("</table>")
	}
	d.fields(b, "body", op.Body.Content)
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if strings.HasPrefix(status, "2") {
			d.fields(b, status, op.Responses[status].Content)
		}
	}
	b.WriteString("</details>")
}

// fields shows what an object has, one level deep.
func (d document) fields(b *strings.Builder, title string, content map[string]media) {
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		s := d.follow(content[kind].Schema)
		b.WriteString("<p>" + html.EscapeString(title+": "+kind+" "+d.kind(content[kind].Schema)) + "</p>")
		if len(s.Properties) == 0 {
			continue
		}
		b.WriteString("<table><tr><th>field</th><th>type</th><th></th></tr>")
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[name]
			row(b, mark(name, slices.Contains(s.Required, name)), d.kind(p), p.Description)
		}
		b.WriteString("</table>")
	}
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("<tr>")
	for _, c := range cells {
		b.WriteString("<td>" + html.EscapeString(c) + "</td>")
	}
	b.WriteString("</tr>")
}

func mark(name string, required bool) string {
	if required {
		return name + " *"
	}
	return name
}

const refs = "#/components/schemas/"

// follow goes from a reference to what it names, and from a list to what is in it.
func (d document) follow(s schema) schema {
	for range 8 { // more is a circle
		switch {
		case s.Ref != "":
			s = d.Components.Schemas[strings.TrimPrefix(s.Ref, refs)]
		case s.Items != nil:
			s = *s.Items
		default:
			return s
		}
	}
	return s
}

func (d document) kind(s schema) string {
	if s.Ref != "" {
		return strings.TrimPrefix(s.Ref, refs)
	}
	if s.Items != nil {
		return "list of " + d.kind(*s.Items)
	}
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		var names []string
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				names = append(names, name)
			}
		}
		return strings.Join(names, " or ")
	}
	return ""
}
