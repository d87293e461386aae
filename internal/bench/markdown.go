package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// markdown prints for a document: a heading and a table per row, so that published
// figures are what a run printed and nothing else.
func (r Report) markdown(out io.Writer) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores, %s, %s, %s UTC.\n", m.System, m.Cores, m.CPU, m.Go, r.Started.Format(time.DateTime))
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "\n### `%s`: %s\n\n", row.Name, row.What)
		if row.Load != "" {
			fmt.Fprintf(&b, "Load average at its start %s, %.0f s.\n\n", row.Load, row.Seconds)
		}
		if len(row.Results) > 0 {
			b.WriteString("| case | ours | limit | ratio | | target | | growth | remarks |\n| --- | ---: | ---: | ---: | --- | --- | --- | ---: | --- |\n")
		}
		for i, cells := range cellsOf(row.Results) {
			b.WriteString("| " + strings.Join(escaped(append(cells, row.Results[i].Note)), " | ") + " |\n")
		}
		if row.Error != "" {
			b.WriteString("\nNot measured: " + row.Error + "\n")
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// escaped keeps a cell within its column and makes a miss stand out.
func escaped(cells []string) []string {
	for i, cell := range cells {
		cell = strings.NewReplacer("|", `\|`, "\n", " ", "█", "▇").Replace(strings.TrimSpace(cell))
		if cell == "MISSED" {
			cell = "**missed**"
		}
		cells[i] = cell
	}
	return cells
}
