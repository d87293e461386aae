package scan

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

//go:embed languages.json
var languagesFile []byte

// phrase finds sentences by two of their words, the second soon after the first, in
// each language it knows. A pair is [language, first, second, unless]: the last one,
// beside the match, makes it the opposite.
type phrase struct {
	ID       string      `json:"id"`
	Of       string      `json:"family"`
	Severity Severity    `json:"severity"`
	Text     string      `json:"text"`
	Pairs    [][4]string `json:"pairs"`
	pairs    []pair
}

type pair struct{ both, unless *regexp.Regexp }

// between is how the two words may be apart: within a sentence, some words.
const between = `[^\n.!?。！？]{0,60}?`

// loadPhrases reads phrases.
func loadPhrases(file []byte) ([]finder, error) {
	var doc struct {
		Phrases []*phrase `json:"phrases"`
	}
	if err := json.Unmarshal(file, &doc); err != nil {
		return nil, fmt.Errorf("scan phrases: %w", err)
	}
	var out []finder
	for _, p := range doc.Phrases {
		for _, in := range p.Pairs {
			both, err := regexp.Compile(`(?i)` + in[1] + between + in[2])
			if err != nil {
				return nil, fmt.Errorf("scan phrases: %s in %s: %w", p.ID, in[0], err)
			}
			made := pair{both: both}
			if in[3] != "" {
				if made.unless, err = regexp.Compile(`(?i)` + in[3]); err != nil {
					return nil, fmt.Errorf("scan phrases: %s in %s: %w", p.ID, in[0], err)
				}
			}
			p.pairs = append(p.pairs, made)
		}
		out = append(out, p)
	}
	return out, nil
}

func (p *phrase) family() string { return p.Of }

func (p *phrase) find(in texts) []Finding {
	var found []Finding
	for _, pair := range p.pairs {
		c := collector{sample: Finding{Rule: p.ID, Family: p.Of, Severity: p.Severity, Text: p.Text}, in: in.folded}
		for _, at := range pair.both.FindAllStringIndex(in.folded.text, -1) {
			if !pair.opposite(in.folded.text, at[0], at[1]) {
				c.add(at[0], at[1])
			}
		}
		found = append(found, c.list...)
	}
	return found
}

// besideMatch is how far a "not" may stand from what it turns round, in bytes.
const besideMatch = 24

// opposite tells that a match says not to do it.
func (p pair) opposite(text string, start, end int) bool {
	if p.unless == nil {
		return false
	}
	first, last := max(start-besideMatch, 0), min(end+besideMatch, len(text))
	around := text[first:last]
	if i := strings.LastIndexByte(text[first:start], '\n'); i >= 0 {
		around = around[i+1:]
	}
	return p.unless.MatchString(around)
}
