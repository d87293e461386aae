package scan

import (
	"fmt"
	"slices"
	"sort"
)

// Severity is how much a finding should worry a person.
type Severity string

// The severities. Each danger is acknowledged one by one before approval.
const (
	Note   Severity = "note"
	Warn   Severity = "warn"
	Danger Severity = "danger"
)

// Finding is one thing a person should look at before approving a text.
type Finding struct {
	Rule     string   `json:"rule"`
	Family   string   `json:"family"`
	Severity Severity `json:"severity"`
	Line     int      `json:"line"`
	Text     string   `json:"text"`
	Excerpt  string   `json:"excerpt"`
	// More is how many lines further down the same rule found, beyond what is listed.
	More int `json:"more,omitempty"`
}

// String says where it is and what it is.
func (f Finding) String() string {
	more := ""
	if f.More > 0 {
		more = fmt.Sprintf(", and %d more lines like it", f.More)
	}
	return fmt.Sprintf("Line %d: %s%s (%s)", f.Line, f.Text, more, f.Excerpt)
}

// maxFindings keeps a hostile text from burying the page; maxPerRule keeps one
// rule from burying the others.
const (
	maxFindings = 200
	maxPerRule  = 20
)

// Scanner looks for what a text might try on the agent that reads it, and for what
// it keeps from the person who reads it first. It only warns: no set of rules is
// complete, which is why a person approves.
type Scanner struct{ finders []finder }

// finder finds one sort of thing.
type finder interface {
	family() string
	find(texts) []Finding
}

// texts is one text in the forms that finders look at.
type texts struct {
	// raw is as it came. folded is without what is invisible and with look-alikes
	// unified, so that neither hides a phrase; markup is raw with its code blanked. The
	// lines of all three are the same.
	raw, folded, markup lines
}

// New loads the rules that come with the program.
func New() (*Scanner, error) {
	s, err := load(rulesFile)
	if err != nil {
		return nil, err
	}
	phrases, err := loadPhrases(languagesFile)
	if err != nil {
		return nil, err
	}
	s.finders = append(s.finders, phrases...)
	s.finders = append(s.finders, characters()...)
	s.finders = append(s.finders, words{})
	return s, nil
}

// Scan finds what there is, ordered by line.
func (s *Scanner) Scan(text string) []Finding {
	in := texts{raw: newLines(text), folded: newLines(fold(text)), markup: newLines(markup(text))}
	findings := []Finding{}
	for _, f := range s.finders {
		findings = append(findings, f.find(in)...)
	}
	sort.SliceStable(findings, func(i, j int) bool { return findings[i].Line < findings[j].Line })
	return trim(findings)
}

// trim drops the least worrying findings first.
func trim(findings []Finding) []Finding {
	for _, severity := range []Severity{Note, Warn, Danger} {
		for i := len(findings) - 1; i >= 0 && len(findings) > maxFindings; i-- {
			if findings[i].Severity == severity {
				findings = slices.Delete(findings, i, i+1)
			}
		}
	}
	return findings
}
