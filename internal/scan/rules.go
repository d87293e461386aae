package scan

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

//go:embed rules.json
var rulesFile []byte

// rule finds what a regular expression matches.
type rule struct {
	ID       string   `json:"id"`
	Of       string   `json:"family"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Pattern  string   `json:"pattern"`
	// Raw rules look at the text as it is, Markup rules at the same without code, the
	// others at the folded one.
	Raw    bool `json:"raw"`
	Markup bool `json:"markup"`
	re     *regexp.Regexp
}

// load reads rules.
func load(file []byte) (*Scanner, error) {
	var doc struct {
		Rules []*rule `json:"rules"`
	}
	if err := json.Unmarshal(file, &doc); err != nil {
		return nil, fmt.Errorf("scan rules: %w", err)
	}
	s := &Scanner{}
	for i, r := range doc.Rules {
		if !slices.Contains([]Severity{Note, Warn, Danger}, r.Severity) || r.ID == "" {
			return nil, fmt.Errorf("scan rules: rule %d: no id or severity", i+1)
		}
		var err error
		if r.re, err = regexp.Compile(r.Pattern); err != nil {
			return nil, fmt.Errorf("scan rules: %s: %w", r.ID, err)
		}
		s.finders = append(s.finders, r)
	}
	return s, nil
}

func (r *rule) family() string { return r.Of }

func (r *rule) find(in texts) []Finding {
	text := in.folded
	switch {
	case r.Raw:
		text = in.raw
	case r.Markup:
		text = in.markup
	}
	found := collector{sample: Finding{Rule: r.ID, Family: r.Of, Severity: r.Severity, Text: r.Text}, in: text}
	for _, at := range r.re.FindAllStringIndex(text.text, -1) {
		found.add(at[0], at[1])
	}
	return found.list
}
