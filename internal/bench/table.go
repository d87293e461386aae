package bench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// barWidth is how many characters a whole bar takes.
const barWidth = 20

// table prints for people: a block per row, aligned over all of them.
func (r Report) table(out io.Writer) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores, %s", m.System, m.Cores, m.Go)
	for _, more := range []string{m.CPU, loadWords(m.Load), r.Started.Format(time.DateTime + " UTC")} {
		if more != "" {
			b.WriteString(", " + more)
		}
	}
	b.WriteString("\n")
	widths := r.widths()
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "\n%s: %s (%.0f s)\n", row.Name, row.What, row.Seconds)
		for i, cells := range append([][]string{heading}, cellsOf(row.Results)...) {
			b.WriteString(" ")
			for j, cell := range cells {
				b.WriteString(" " + pad(cell, widths[j]))
			}
			trimRight(&b)
			if i > 0 && row.Results[i-1].Note != "" {
				b.WriteString("    " + row.Results[i-1].Note + "\n")
			}
		}
		if row.Error != "" {
			b.WriteString("  NOT MEASURED: " + row.Error + "\n")
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func loadWords(load string) string {
	if load == "" {
		return ""
	}
	return "load " + load
}

var heading = []string{"CASE", "OURS", "LIMIT", "RATIO", "", "TARGET", "", "GROWTH"}

func (r Report) widths() []int {
	widths := make([]int, len(heading))
	for _, row := range r.Rows {
		for _, cells := range append([][]string{heading}, cellsOf(row.Results)...) {
			for i, cell := range cells {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	return widths
}

func cellsOf(results []Result) [][]string {
	rows := make([][]string, len(results))
	for i, r := range results {
		limit, ratio, growth := "–", "–", ""
		if r.Limit != nil {
			limit, ratio = r.Limit.String(), fmt.Sprintf("%.2f", r.Ratio)
		}
		if r.Growth > 0 {
			growth = fmt.Sprintf("×%.2f", r.Growth)
		}
		rows[i] = []string{r.Case, r.Ours.String(), limit, ratio, r.bar(), r.Target.words(r.Ours.Unit), verdict(r.Met), growth}
	}
	return rows
}

// bar draws the ratio, full at 1 or at the target, whichever is more; without a
// limit, how much of the target is used.
func (r Result) bar() string {
	switch {
	case r.Limit != nil:
		return bar(r.Ratio / max(1, r.Target.Ratio))
	case r.Target.Most > 0:
		return bar(r.Ours.Value / r.Target.Most)
	default:
		return ""
	}
}

// bar draws a share between 0 and 1; more than 1 gets an arrow at its end.
func bar(share float64) string {
	if math.IsNaN(share) || share < 0 {
		share = 0
	}
	full := int(math.Round(min(share, 1) * barWidth))
	drawn := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	if share > 1.005 {
		return drawn + "▶"
	}
	return drawn + " "
}

func (t Target) words(unit Unit) string {
	switch {
	case t.Ratio > 0:
		return "≥ " + strconv.FormatFloat(t.Ratio, 'f', -1, 64)
	case t.Most > 0:
		return "≤ " + Figure{t.Most, unit}.String()
	default:
		return ""
	}
}

func verdict(met *bool) string {
	switch {
	case met == nil:
		return ""
	case *met:
		return "ok"
	default:
		return "MISSED"
	}
}

// String writes the figure the way people read it.
func (f Figure) String() string {
	switch f.Unit {
	case Bytes:
		return scaled(f.Value, 1024, "B", "KiB", "MiB", "GiB")
	case Nanos:
		return scaled(f.Value, 1000, "ns", "µs", "ms", "s")
	case PerSecond:
		if f.Value < 100 {
			return fmt.Sprintf("%.1f/s", f.Value)
		}
		return thousands(int64(math.Round(f.Value))) + "/s"
	default:
		return fmt.Sprintf("%.2f %s", f.Value, f.Unit)
	}
}

func scaled(v, step float64, units ...string) string {
	i := 0
	for i < len(units)-1 && math.Abs(v) >= step {
		v /= step
		i++
	}
	if v >= 100 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// thousands writes 12,345.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)+1))
}

// trimRight ends a line without the blanks of its last cells.
func trimRight(b *strings.Builder) {
	text := strings.TrimRight(b.String(), " ")
	b.Reset()
	b.WriteString(text + "\n")
}
