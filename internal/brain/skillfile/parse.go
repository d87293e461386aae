package skillfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// frontMatter is the YAML at the head of a skill. Unknown keys are other people's.
type frontMatter struct {
	Name          string            `yaml:"name"`
	Description   string            `yaml:"description"`
	License       string            `yaml:"license"`
	Compatibility any               `yaml:"compatibility"`
	Metadata      map[string]scalar `yaml:"metadata"`
	AllowedTools  words             `yaml:"allowed-tools"`
	Tags          words             `yaml:"tags"`
	Version       scalar            `yaml:"version"`
	Public        bool              `yaml:"public"`
}

// scalar takes any plain value as the text it was written as: 1.10 stays 1.10.
type scalar string

// UnmarshalYAML keeps the text; nested values become YAML again.
func (s *scalar) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*s = scalar(n.Value)
		return nil
	}
	raw, err := yaml.Marshal(n)
	*s = scalar(strings.TrimSpace(string(raw)))
	return err
}

// words takes a list, or one text with commas or blanks between.
type words []string

// UnmarshalYAML accepts both forms.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		var list []scalar
		if err := n.Decode(&list); err != nil {
			return err
		}
		for _, s := range list {
			*w = append(*w, string(s))
		}
		return nil
	}
	var text string
	if err := n.Decode(&text); err != nil {
		return err
	}
	*w = split(text)
	return nil
}

// split cuts at commas and blanks outside of parentheses: "Bash(git add), Read".
func split(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
	})
}

// Parse reads a skill's file. The name is that of its folder or file; a name in
// the front matter must be the same.
func Parse(name string, data []byte) (Skill, error) {
	s := Skill{Name: name}
	if !ValidName(name) {
		return s, fmt.Errorf("%w: %q: want lower-case letters, digits, - and _, at most 64", ErrName, name)
	}
	if len(data) > MaxFile {
		return s, fmt.Errorf("%w: more than %d bytes", ErrTooBig, MaxFile)
	}
	head, body, err := cut(data)
	if err != nil {
		return s, err
	}
	var f frontMatter
	if err := yaml.Unmarshal(head, &f); err != nil {
		return s, fmt.Errorf("%w: %w", ErrFront, err)
	}
	if f.Name != "" && f.Name != name {
		return s, fmt.Errorf("%w: the front matter says %q, the folder or file %q", ErrName, f.Name, name)
	}
	s.fill(f, body)
	if strings.TrimSpace(s.Body) == "" {
		return s, ErrEmpty
	}
	return s, nil
}

func (s *Skill) fill(f frontMatter, body string) {
	s.Body = body
	s.Description = clip(f.Description, MaxDescription)
	if s.Description == "" {
		s.Description = clip(firstLine(body), MaxDescription)
	}
	s.License, s.Version, s.Public = f.License, string(f.Version), f.Public
	s.AllowedTools, s.Tags = f.AllowedTools, f.Tags
	switch c := f.Compatibility.(type) {
	case nil:
	case string:
		s.Compatibility = c
	default:
		if raw, err := yaml.Marshal(c); err == nil {
			s.Compatibility = strings.TrimSpace(string(raw))
		}
	}
	for k, v := range f.Metadata {
		if s.Metadata == nil {
			s.Metadata = map[string]string{}
		}
		s.Metadata[k] = string(v)
	}
}

// cut parts the front matter from the body. A file without one is all body.
func cut(data []byte) (head []byte, body string, err error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !utf8.Valid(data) {
		return nil, "", fmt.Errorf("%w: not UTF-8", ErrRead)
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return nil, strings.TrimSpace(string(data)) + "\n", nil
	}
	head, rest, ok = closing(rest)
	switch {
	case !ok:
		return nil, "", fmt.Errorf("%w: the closing --- is missing", ErrFront)
	case len(head) > MaxFront:
		return nil, "", fmt.Errorf("%w: longer than %d bytes", ErrFront, MaxFront)
	}
	return head, strings.TrimSpace(string(rest)) + "\n", nil
}

// closing finds the line that ends the front matter.
func closing(data []byte) (head, rest []byte, ok bool) {
	for at := 0; at <= len(data); {
		line, _, more := bytes.Cut(data[at:], []byte("\n"))
		if string(bytes.TrimRight(line, " \t")) == "---" {
			end := min(at+len(line)+1, len(data))
			return data[:at], data[end:], true
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return nil, nil, false
}

func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "# ")); line != "" {
			return line
		}
	}
	return ""
}

// clip makes one line of at most n runes.
func clip(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
