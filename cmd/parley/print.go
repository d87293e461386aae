package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parley.internal/internal/visible"
)

// printer writes for people: results on standard output, remarks on standard error.
// Whoever wrote the words, they do not steer the terminal.
type printer struct {
	out, remarks io.Writer
	tab          *tabwriter.Writer
}

// show prints a value as JSON, or for people by the given function.
func (g *globals) show(cmd *cobra.Command, value any, people func(*printer)) error {
	if g.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetEscapeHTML(false)
		return enc.Encode(value)
	}
	p := &printer{out: cmd.OutOrStdout(), remarks: cmd.ErrOrStderr()}
	people(p)
	if p.tab != nil {
		return p.tab.Flush()
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (p *printer) line(text string) { fmt.Fprintln(p.out, visible.Text(text)) }

func (p *printer) note(format string, args ...any) {
	fmt.Fprintln(p.remarks, visible.Text(fmt.Sprintf(format, args...)))
}

func (p *printer) table(columns ...string) {
	p.tab = tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	p.row(columns...)
}

func (p *printer) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = visible.Line(cell)
	}
	fmt.Fprintln(p.tab, strings.Join(cells, "\t"))
}
