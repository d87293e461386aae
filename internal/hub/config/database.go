package config

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"parley.internal/internal/fit"
)

// WithDatabase is the text of a settings file with another database in it, or with
// none if db is empty; everything else stays, comments too.
func WithDatabase(text []byte, db string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%w: %s: %s", ErrInvalid, FileName, fit.OneLine(err.Error()))
	}
	if len(doc.Content) == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	values := doc.Content[0]
	if values.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%w: %s is no list of settings", ErrInvalid, FileName)
	}
	at := keyIndex(values, "db")
	switch {
	case at < 0 && db == "", at >= 0 && values.Content[at+1].Value == db:
		return text, nil
	case at < 0:
		values.Content = append(values.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "db"}, scalar(db))
	case db == "":
		values.Content = append(values.Content[:at], values.Content[at+2:]...)
	default:
		values.Content[at+1] = scalar(db)
	}
	if len(values.Content) == 0 {
		return nil, nil
	}
	return yaml.Marshal(&doc)
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func keyIndex(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}
