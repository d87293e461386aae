package mmp

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"golang.org/x/text/unicode/norm"
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
}

// maxFindings keeps a hostile text from burying the page; maxPerRule keeps one
// rule from burying the others.
const (
	maxFindings = 200
	maxPerRule  = 20
)

//go:embed scan_rules.json
var scanRules []byte

// Scanner looks for what a text might try on the agent that reads it. It only
// warns: no rule set is complete, which is why a person approves.
type Scanner struct{ rules []scanRule }

type scanRule struct {
	ID       string   `json:"id"`
	Family   string   `json:"family"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Pattern  string   `json:"pattern"`
	// Raw rules see the text as it is; the others see it without invisible
	// characters and with look-alike forms folded, so that neither hides a phrase.
	Raw bool `json:"raw"`
	re  *regexp.Regexp
}

// NewScanner loads the rules that come with the program.
func NewScanner() (*Scanner, error) { return LoadScanner(scanRules) }

// LoadScanner loads other rules of the same form.
func LoadScanner(file []byte) (*Scanner, error) {
	var doc struct {
		Rules []scanRule `json:"rules"`
	}
	if err := Decode(file, &doc); err != nil {
		return nil, fmt.Errorf("scan rules: %w", err)
	}
	for i := range doc.Rules {
		r := &doc.Rules[i]
		if !slices.Contains([]Severity{Note, Warn, Danger}, r.Severity) || r.ID == "" {
			return nil, fmt.Errorf("scan rules: rule %d: no id or severity", i+1)
		}
		var err error
		if r.re, err = regexp.Compile(r.Pattern); err != nil {
			return nil, fmt.Errorf("scan rules: %s: %w", r.ID, err)
		}
	}
	return &Scanner{rules: doc.Rules}, nil
}

// Families lists the families of the loaded rules, each once.
func (s *Scanner) Families() []string {
	var out []string
	for _, r := range s.rules {
		if !slices.Contains(out, r.Family) {
			out = append(out, r.Family)
		}
	}
	return out
}

// Scan finds what the rules find, ordered by line.
func (s *Scanner) Scan(text string) []Finding {
	raw, folded := newScanText(text), newScanText(fold(text))
	findings := []Finding{}
	for _, r := range s.rules {
		in := folded
		if r.Raw {
			in = raw
		}
		findings = append(findings, r.scan(in)...)
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

// scan reports each line once.
func (r *scanRule) scan(in scanText) []Finding {
	var out []Finding
	last := 0
	for _, at := range r.re.FindAllStringIndex(in.text, maxPerRule*10) {
		line := in.line(at[0])
		if line == last || len(out) == maxPerRule {
			continue
		}
		last = line
		out = append(out, Finding{
			Rule: r.ID, Family: r.Family, Severity: r.Severity, Line: line, Text: r.Text, Excerpt: excerpt(in.text[at[0]:at[1]]),
		})
	}
	return out
}

// scanText finds the line of an offset.
type scanText struct {
	text   string
	breaks []int
}

func newScanText(text string) scanText {
	t := scanText{text: text}
	for i := range len(text) {
		if text[i] == '\n' {
			t.breaks = append(t.breaks, i)
		}
	}
	return t
}

func (t scanText) line(offset int) int { return sort.SearchInts(t.breaks, offset) + 1 }

// fold removes what cannot be seen and unifies what looks alike. Line breaks stay
// where they are.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
}

func invisible(r rune) bool {
	switch {
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F,
		r == 0xFEFF, r == 0x00AD, r == 0x180E, r == 0x034F, r >= 0xE0000 && r <= 0xE007F, r >= 0xFE00 && r <= 0xFE0F:
		return true
	}
	return false
}

// excerpt shows a match so that nothing in it acts on a screen.
func excerpt(s string) string {
	var b strings.Builder
	for _, r := range clip(s, 80) {
		if r < 0x20 || r == 0x7F || invisible(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
