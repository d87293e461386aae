package meeting

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrFrontMatter is a head of a document that cannot be read.
var ErrFrontMatter = errors.New("bad front matter")

const (
	maxFrontMatter = 16 << 10
	maxYAMLDepth   = 16
	maxYAMLList    = 256
)

// FrontMatter is the head of a Markdown document: plain values and lists of them.
// Anchors, aliases and tags are refused, since they are only useful to attack.
type FrontMatter struct {
	node *yaml.Node // a mapping, or nil for none
}

// SplitFrontMatter separates the head from the body. A document without a head has
// an empty one.
func SplitFrontMatter(doc string) (FrontMatter, string, error) {
	text := strings.TrimPrefix(doc, "\uFEFF")
	rest, found := cutLine(text, "---")
	if !found {
		return FrontMatter{}, doc, nil
	}
	for head := 0; head <= len(rest); {
		line, _, more := strings.Cut(rest[head:], "\n")
		if strings.TrimRight(line, " \t\r") == "---" {
			fm, err := parseFrontMatter(rest[:head])
			return fm, rest[min(head+len(line)+1, len(rest)):], err
		}
		if !more {
			break
		}
		head += len(line) + 1
	}
	return FrontMatter{}, doc, fmt.Errorf("%w: it does not end", ErrFrontMatter)
}

// cutLine takes a first line that is exactly mark, white space behind it aside.
func cutLine(text, mark string) (rest string, found bool) {
	line, rest, more := strings.Cut(text, "\n")
	return rest, more && strings.TrimRight(line, " \t\r") == mark
}

func parseFrontMatter(head string) (FrontMatter, error) {
	if len(head) > maxFrontMatter {
		return FrontMatter{}, fmt.Errorf("%w: longer than %d bytes", ErrFrontMatter, maxFrontMatter)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(head), &doc); err != nil {
		return FrontMatter{}, fmt.Errorf("%w: %w", ErrFrontMatter, err)
	}
	if doc.Kind == 0 {
		return FrontMatter{}, nil
	}
	node := doc.Content[0]
	if node.Kind != yaml.MappingNode {
		return FrontMatter{}, fmt.Errorf("%w: not a mapping", ErrFrontMatter)
	}
	return FrontMatter{node: node}, plainYAML(node, 0)
}

func plainYAML(n *yaml.Node, depth int) error {
	if depth > maxYAMLDepth {
		return fmt.Errorf("%w: nested too deep", ErrFrontMatter)
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return fmt.Errorf("%w: anchors, aliases and tags are not allowed", ErrFrontMatter)
	}
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if child.Kind != yaml.ScalarNode || seen[child.Value] {
				return fmt.Errorf("%w: line %d: a key that is no text or there twice", ErrFrontMatter, child.Line)
			}
			seen[child.Value] = true
		}
		if err := plainYAML(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (f FrontMatter) get(key string) *yaml.Node {
	if f.node == nil {
		return nil
	}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		if f.node.Content[i].Value == key {
			return f.node.Content[i+1]
		}
	}
	return nil
}

// Has tells whether a key is there with a value.
func (f FrontMatter) Has(key string) bool {
	n := f.get(key)
	return n != nil && n.Tag != "!!null"
}

// Text reads a plain value as text; empty for what is absent or no plain value.
func (f FrontMatter) Text(key string) string {
	if n := f.get(key); n != nil && n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return n.Value
	}
	return ""
}

// True tells whether a value is a plain true.
func (f FrontMatter) True(key string) bool {
	n := f.get(key)
	return n != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!bool" && strings.EqualFold(n.Value, "true")
}

// List reads a list of plain values; a single value is a list of one.
func (f FrontMatter) List(key string) ([]string, error) {
	n := f.get(key)
	switch {
	case n == nil || n.Tag == "!!null":
		return nil, nil
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}, nil
	case n.Kind != yaml.SequenceNode || len(n.Content) > maxYAMLList:
		return nil, fmt.Errorf("%w: %s is not a list", ErrFrontMatter, key)
	}
	out := make([]string, 0, len(n.Content))
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%w: %s holds more than plain values", ErrFrontMatter, key)
		}
		out = append(out, item.Value)
	}
	return out, nil
}

// Received is what is noted in the head of a skill that came from outside.
type Received struct {
	From         string `yaml:"received_from"`
	At           string `yaml:"received_at"`
	OriginalHash string `yaml:"original_hash"`
	Version      string `yaml:"exchange_protocol_version"`
}

type receivedProvenance struct {
	Origin   string   `yaml:"origin"`
	Chain    []string `yaml:"chain"`
	HopCount int      `yaml:"hop_count"`
}

// AnnotateReceived writes where a skill came from into its head. Whatever it
// claimed there itself under those names is replaced, and it is not public.
func AnnotateReceived(doc string, r Received, p Provenance) (string, error) {
	fm, body, err := SplitFrontMatter(doc)
	if err != nil {
		fm, body = FrontMatter{}, doc // an unreadable head is body, not a reason to lose the text
	}
	node := &yaml.Node{Kind: yaml.MappingNode}
	if fm.node != nil {
		node.Content = keep(fm.node.Content, "_received", "_provenance", "public")
	}
	for _, add := range []struct {
		key   string
		value any
	}{{"public", false}, {"_received", r}, {"_provenance", receivedProvenance{p.Origin, p.Chain, p.HopCount}}} {
		var value yaml.Node
		if err := value.Encode(add.value); err != nil {
			return "", err
		}
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: add.key}, &value)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(node), enc.Close()); err != nil {
		return "", err
	}
	return "---\n" + out.String() + "---\n" + body, nil
}

// keep drops the named keys of a mapping.
func keep(content []*yaml.Node, drop ...string) []*yaml.Node {
	var out []*yaml.Node
	for i := 0; i+1 < len(content); i += 2 {
		dropped := false
		for _, name := range drop {
			dropped = dropped || content[i].Value == name
		}
		if !dropped {
			out = append(out, content[i], content[i+1])
		}
	}
	return out
}
