package brain

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxAgentFile bounds an agent's file; a prompt of a megabyte fits no window.
const maxAgentFile = 1 << 20

const fence = "---"

// ParseAgent reads an agent's file: YAML between two lines of three dashes, then
// the prompt. Every mistake is an error that names its line.
func ParseAgent(name string, file []byte) (*Agent, error) {
	if !ValidAgentName(name) {
		return nil, fmt.Errorf("%w %q: want a-z, 0-9, _ and -, at most 64, a letter or digit first", ErrAgentName, name)
	}
	if len(file) > maxAgentFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxAgentFile)
	}
	if !utf8.Valid(file) {
		return nil, errors.New("the file is not UTF-8 text")
	}
	front, body, err := splitFront(file)
	if err != nil {
		return nil, err
	}
	a := newAgent(name)
	if err := a.readFront(front); err != nil {
		return nil, err
	}
	a.Prompt = promptOf(body)
	if a.Description == "" {
		a.Description = headline(a.Prompt)
	}
	return a, nil
}

// splitFront cuts a file into the YAML and the body, both exactly as they are. A
// file that does not begin with a fence is all body.
func splitFront(file []byte) (front, body string, err error) {
	text := strings.TrimPrefix(string(file), "\uFEFF")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != fence {
		return "", text, nil
	}
	for at := 0; at <= len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t\r") == fence {
			body = ""
			if more {
				body = rest[at+len(line)+1:]
			}
			return rest[:at], body, nil
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", "", errors.New("line 1: the front matter is not closed by a line of three dashes")
}

// promptOf is the body without the blank lines around it.
func promptOf(body string) string {
	return strings.Trim(strings.ReplaceAll(body, "\r\n", "\n"), "\n")
}

// headline is the first line with words, without the marks of a heading.
func headline(prompt string) string {
	for line := range strings.Lines(prompt) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return line
		}
	}
	return ""
}

// frontMapping reads the YAML into a mapping; nil when there is nothing in it.
func frontMapping(front string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	m := doc.Content[0]
	if m.Kind != yaml.MappingNode {
		return nil, errors.New("the front matter is not a list of keys and values")
	}
	return m, nil
}

func (a *Agent) readFront(front string) error {
	m, err := frontMapping(front)
	if err != nil || m == nil {
		return err
	}
	return eachKey(m, "", func(key string, value *yaml.Node) error {
		read, known := agentKeys[key]
		if !known {
			return unknownKey(key, keyOrder)
		}
		if isNull(value) {
			return nil
		}
		return read(a, value)
	})
}

// isNull tells a key without a value, which means the default.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// eachKey calls fn for every key, and puts the line and the key before its error.
func eachKey(m *yaml.Node, within string, fn func(key string, value *yaml.Node) error) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		name := within + key.Value
		if seen[key.Value] {
			return fmt.Errorf("line %d: %s is given twice", key.Line+1, name)
		}
		seen[key.Value] = true
		if err := fn(key.Value, value); err != nil {
			if _, ok := errors.AsType[*unknownKeyError](err); ok {
				return fmt.Errorf("line %d: %w", key.Line+1, err)
			}
			if nested := new(nestedError); errors.As(err, &nested) {
				return nested.error
			}
			return fmt.Errorf("line %d: %s: %w", key.Line+1, name, err)
		}
	}
	return nil
}

// nestedError already says where it is.
type nestedError struct{ error }

// editFront sets and removes keys of a file's front matter and leaves everything
// else, comments and the body included, as it is. A nil prompt keeps the body.
func editFront(file []byte, changes []change, prompt *string) ([]byte, error) {
	front, body, err := splitFront(file)
	if err != nil {
		return nil, err
	}
	m, err := frontMapping(front)
	if err != nil {
		return nil, err
	}
	if m == nil {
		m = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	for _, c := range changes {
		if err := setKey(m, c); err != nil {
			return nil, err
		}
	}
	if prompt != nil {
		body = "\n" + strings.Trim(*prompt, "\n") + "\n"
	}
	return joinFront(m, body)
}

func joinFront(m *yaml.Node, body string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(fence + "\n")
	if len(m.Content) > 0 {
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		if err := enc.Encode(m); err != nil {
			return nil, err
		}
		if err := enc.Close(); err != nil {
			return nil, err
		}
	}
	b.WriteString(fence + "\n" + body)
	return b.Bytes(), nil
}

// change is one key of an edit; a nil value removes the key.
type change struct {
	key   string
	value any
}

func setKey(m *yaml.Node, c change) error {
	at := -1
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == c.key {
			at = i
		}
	}
	if c.value == nil {
		if at >= 0 {
			m.Content = append(m.Content[:at], m.Content[at+2:]...)
		}
		return nil
	}
	value := new(yaml.Node)
	if err := value.Encode(c.value); err != nil {
		return fmt.Errorf("%s: %w", c.key, err)
	}
	if value.Kind == yaml.SequenceNode {
		value.Style = yaml.FlowStyle
	}
	if at >= 0 {
		value.LineComment = m.Content[at+1].LineComment
		m.Content[at+1] = value
		return nil
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.key}, value)
	return nil
}
