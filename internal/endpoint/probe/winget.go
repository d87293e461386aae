package probe

import (
	"context"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/text/width"

	"parley.internal/internal/endpoint/command"
)

// Winget finds winget: on the path, else where the store keeps it.
func Winget() (string, error) {
	if path, err := exec.LookPath("winget.exe"); err == nil {
		return path, nil
	}
	if path := storeWinget(); path != "" {
		return path, nil
	}
	return "", unsupported("winget is not installed")
}

// WingetList lists what winget knows to be installed.
func WingetList(ctx context.Context) ([]Package, error) {
	program, err := Winget()
	if err != nil {
		return nil, err
	}
	out, err := command.Output(ctx, program, "list", "--accept-source-agreements", "--disable-interactivity")
	if err != nil {
		return nil, err
	}
	return parseWinget(command.Text(out)), nil
}

// parseWinget reads a table of winget by its header: the line above the
// dashes. Headers are translated, so columns are told by their order; the
// fourth of four is the source unless it is called otherwise.
func parseWinget(text string) []Package {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = lines[i][strings.LastIndexByte(lines[i], '\r')+1:] // a spinner was drawn over
	}
	rule := slices.IndexFunc(lines, isRule)
	if rule < 1 {
		return nil
	}
	columns, hasAvailable := wingetColumns(lines[rule-1])
	if len(columns) < 3 {
		return nil
	}
	var out []Package
	for _, line := range lines[rule+1:] {
		if p, ok := wingetRow(line, columns, hasAvailable); ok {
			out = append(out, p)
		}
	}
	return out
}

func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 10 && strings.Trim(line, "-─") == ""
}

// wingetColumns gives where each column begins, in places on the screen.
func wingetColumns(header string) (starts []int, hasAvailable bool) {
	at, inWord := 0, false
	for _, r := range header {
		if r != ' ' && !inWord {
			starts = append(starts, at)
		}
		inWord = r != ' '
		at += places(r)
	}
	words := strings.Fields(header)
	switch {
	case len(words) >= 5:
		return starts, true
	case len(words) == 4:
		return starts, slices.Contains([]string{"available", "verfügbar", "disponible", "disponibile", "beschikbaar", "disponível", "tillgänglig", "利用可能", "可用"}, strings.ToLower(words[3]))
	}
	return starts, false
}

func wingetRow(line string, columns []int, hasAvailable bool) (Package, bool) {
	cells := slice(line, columns)
	p := Package{Name: cells[0], ID: cells[1], Version: cells[2]}
	if hasAvailable {
		p.Available = cells[3]
	}
	// A footer is a sentence: cut at the columns it leaves blanks or halves.
	return p, p.ID != "" && p.Version != "" && !strings.Contains(p.ID, " ")
}

// slice cuts a line at places on the screen. A cell that runs over its border
// shows that the line is no row: it comes back empty.
func slice(line string, starts []int) []string {
	cells := make([]string, len(starts))
	at, col := 0, -1
	last := ' '
	for _, r := range line {
		for col+1 < len(starts) && at >= starts[col+1] {
			col++
			if last != ' ' && col > 0 {
				return make([]string, len(starts))
			}
		}
		if col >= 0 {
			cells[col] += string(r)
		}
		last = r
		at += places(r)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// places is how wide a character is on the screen.
func places(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// WingetUpgrades lists packages with a newer version.
func WingetUpgrades(ctx context.Context) ([]Package, error) {
	program, err := Winget()
	if err != nil {
		return nil, err
	}
	out, err := command.Output(ctx, program, "upgrade", "--accept-source-agreements", "--disable-interactivity")
	if err != nil {
		return nil, err
	}
	return parseWinget(command.Text(out)), nil
}
