package tui

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"

	"parley.internal/internal/visible"
)

// The few styles there are. They use the terminal's own colours.
var (
	bold    = lipgloss.NewStyle().Bold(true)
	italic  = lipgloss.NewStyle().Italic(true)
	dim     = lipgloss.NewStyle().Faint(true)
	code    = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	heading = lipgloss.NewStyle().Bold(true).Underline(true)
	failure = lipgloss.NewStyle().Foreground(lipgloss.Red)
	accent  = lipgloss.NewStyle().Foreground(lipgloss.Green).Bold(true)
	other   = lipgloss.NewStyle().Foreground(lipgloss.Magenta).Bold(true)
)

// Clean makes text harmless: nobody's words move the cursor, change a title or write to
// a clipboard, and what hides is seen.
func Clean(s string) string { return visible.Text(strings.ReplaceAll(s, "\t", "    ")) }

var (
	numbered = regexp.MustCompile(`^(\s*)(\d+[.)])\s+(.*)$`)
	bulleted = regexp.MustCompile(`^(\s*)[-*+]\s+(.*)$`)
	titled   = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*$`)
	ruled    = regexp.MustCompile(`^\s*([-*_])(\s*[-*_]){2,}\s*$`)
)

// Render shows Markdown on a terminal of a width: headings, emphasis, code,
// lists, quotes and rules. What it does not know stays as it is written.
func Render(text string, width int) string {
	var out []string
	fenced := false
	for line := range strings.SplitSeq(strings.TrimRight(Clean(text), "\n"), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			out = append(out, wrap(code.Render(line), width, "  ")...)
			continue
		}
		out = append(out, renderLine(line, width)...)
	}
	return strings.Join(out, "\n")
}

func renderLine(line string, width int) []string {
	if m := titled.FindStringSubmatch(line); m != nil {
		return wrap(heading.Render(spans.ReplaceAllStringFunc(m[2], func(s string) string { return strings.Trim(s, "`*_") })), width, "")
	}
	if ruled.MatchString(line) {
		return []string{dim.Render(strings.Repeat("─", max(1, min(width, 40))))}
	}
	if m := bulleted.FindStringSubmatch(line); m != nil {
		return hang(m[1]+"• ", inline(m[2]), width)
	}
	if m := numbered.FindStringSubmatch(line); m != nil {
		return hang(m[1]+m[2]+" ", inline(m[3]), width)
	}
	if rest, ok := strings.CutPrefix(line, ">"); ok {
		return wrap(dim.Render(strings.TrimPrefix(rest, " ")), width, dim.Render("│ "))
	}
	return wrap(inline(line), width, "")
}

// wrap breaks a styled line and puts something before each part.
func wrap(line string, width int, before string) []string {
	room := max(10, width-lipgloss.Width(before))
	parts := strings.Split(lipgloss.Wrap(line, room, " -/"), "\n")
	for i := range parts {
		parts[i] = before + parts[i]
	}
	return parts
}

// hang is a list item: the mark, then the text beside it.
func hang(mark, text string, width int) []string {
	indent := strings.Repeat(" ", lipgloss.Width(mark))
	parts := wrap(text, width, indent)
	parts[0] = mark + strings.TrimPrefix(parts[0], indent)
	return parts
}

var spans = regexp.MustCompile("`[^`]+`" + `|\*\*[^*]+\*\*|__[^_]+__|\B\*[^*\s][^*]*\*\B|\b_[^_\s][^_]*_\b`)

// inline styles code, bold and italic within a line.
func inline(line string) string {
	return spans.ReplaceAllStringFunc(line, func(s string) string {
		switch {
		case strings.HasPrefix(s, "`"):
			return code.Render(s[1 : len(s)-1])
		case strings.HasPrefix(s, "**"), strings.HasPrefix(s, "__"):
			return bold.Render(s[2 : len(s)-2])
		default:
			return italic.Render(s[1 : len(s)-1])
		}
	})
}
