package meeting

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley.internal/protocol/mmp"
)

// Formats of skills. Only Markdown is taken by default.
const (
	FormatMarkdown    = "markdown"
	FormatFrontMatter = "yaml_frontmatter" // Markdown with a head
)

// FormatAllowed tells whether a format is taken; extra names what an operator
// added, for trusted peers only and as inert text.
func FormatAllowed(format string, extra ...string) bool {
	format = strings.ToLower(strings.TrimSpace(format))
	return format == FormatMarkdown || format == FormatFrontMatter || format != "" && slices.Contains(extra, format)
}

// SkillReason says why a skill was not taken.
type SkillReason string

// The reasons, in the order they are looked for.
const (
	SkillFormat       SkillReason = "format_not_accepted"
	SkillTooLarge     SkillReason = "too_large"
	SkillNotText      SkillReason = "not_text"
	SkillHashMissing  SkillReason = "hash_missing"
	SkillHashMismatch SkillReason = "hash_mismatch"
	SkillHopLimit     SkillReason = "hop_limit"
	SkillCapacity     SkillReason = "capacity_exceeded"
)

// Error makes a reason an error.
func (r SkillReason) Error() string { return r.Text() }

// Text is what a peer reads.
func (r SkillReason) Text() string {
	switch r {
	case SkillFormat:
		return "Skill format not accepted"
	case SkillTooLarge:
		return fmt.Sprintf("Skill exceeds maximum size (%d bytes)", mmp.MaxSkill)
	case SkillNotText:
		return "Skill content is not text"
	case SkillHashMissing:
		return "Content hash is missing"
	case SkillHashMismatch:
		return TextHashMismatch
	case SkillHopLimit:
		return "Skill passed through too many agents"
	case SkillCapacity:
		return "No room for more skills at the moment"
	}
	return string(r)
}

// SkillCheck is what is known about a skill that arrived.
type SkillCheck struct {
	Format       string
	ExtraFormats []string
	Content      string
	ContentHash  string
	OfferedHash  string // counts only when it is a hash at all
	Provenance   *Provenance
	Sender, Me   string
	Full         bool // no room left for this sender
	HashOptional bool // a deposit may come without a hash
}

// CheckSkill goes through the checks in their fixed order and settles the
// provenance. The error is a [SkillReason]. Passing says nothing about whether the
// text is harmless: a person must read it.
func CheckSkill(c SkillCheck) (Provenance, error) {
	switch {
	case !FormatAllowed(c.Format, c.ExtraFormats...):
		return Provenance{}, SkillFormat
	case len(c.Content) > mmp.MaxSkill:
		return Provenance{}, SkillTooLarge
	case !isText(c.Content):
		return Provenance{}, SkillNotText
	case c.ContentHash == "" && !c.HashOptional:
		return Provenance{}, SkillHashMissing
	case c.ContentHash != "" && !mmp.HashFits(c.ContentHash, c.Content):
		return Provenance{}, SkillHashMismatch
	}
	if offered, err := mmp.ParseHash(c.OfferedHash); err == nil && offered != mmp.HashOf(c.Content) {
		return Provenance{}, SkillHashMismatch
	}
	p, err := c.Provenance.Receive(c.Sender, c.Me)
	if errors.Is(err, ErrHopLimit) || errors.Is(err, ErrLoop) {
		return Provenance{}, SkillHopLimit
	}
	if c.Full {
		return Provenance{}, SkillCapacity
	}
	return p, err
}

// isText wants UTF-8 without NUL that is not empty. Other control characters are
// the scan's to report.
func isText(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

var skillID = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// ValidSkillID tells whether s can be the base name of a skill's file.
func ValidSkillID(s string) bool { return skillID.MatchString(s) && !reservedName(s) }

// reservedName knows names that some systems take for devices.
func reservedName(s string) bool {
	switch s {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(s) == 4 && (strings.HasPrefix(s, "com") || strings.HasPrefix(s, "lpt")) && s[3] >= '0' && s[3] <= '9'
}

// SafeName makes a file's base name of whatever a peer called its skill: the
// result is always a valid skill id.
func SafeName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			b.WriteRune(r)
		case !unicode.IsControl(r) && b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= 64 {
			break
		}
	}
	safe := strings.Trim(b.String(), "_-")
	if safe == "" || reservedName(safe) {
		safe = strings.TrimSuffix("skill_"+safe, "_")
	}
	return safe
}

// ReceivedFile names the file of a received skill.
func ReceivedFile(name string, at time.Time) string {
	return SafeName(name) + "_" + at.UTC().Format("20060102_150405") + ".md"
}

// LocalName is how a received skill is called here: never like one of our own.
func LocalName(name, origin string, taken func(string) bool) string {
	safe := SafeName(name)
	if !taken(safe) {
		return safe
	}
	return safe + "~" + SafeName(origin)
}

// Sections lists the headings of a Markdown text, outside of fenced code.
func Sections(content string) []string {
	sections := []string{}
	fenced := false
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if n := len(line) - len(title); !fenced && n > 0 && n <= 6 && strings.HasPrefix(title, " ") && len(sections) < 100 {
			sections = append(sections, mmp.Clip(strings.TrimSpace(title), mmp.MaxName))
		}
	}
	return sections
}

// FirstLines is the beginning of a text, in whole lines.
func FirstLines(content string, n int) string {
	end := 0
	for line := range strings.Lines(content) {
		if n--; n < 0 {
			break
		}
		end += len(line)
	}
	return content[:end]
}

// CountLines counts lines, a last one without a line break included.
func CountLines(content string) int {
	n := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		n++
	}
	return n
}
