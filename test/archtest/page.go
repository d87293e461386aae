package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Page is one conformance page: what it promises, and the rows that show it.
type Page struct {
	Items []string
	Rows  []Row
}

// Row is one line of a page's tables.
type Row struct {
	Line  int
	Items []string
	Tests []string // references as they stand between backticks
}

var (
	itemsLine  = regexp.MustCompile(`(?m)^Items:\s*(.+)$`)
	itemName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.]*$`)
	itemRange  = regexp.MustCompile(`^([A-Za-z]*)(\d+)\s*[-–]\s*([A-Za-z]*)(\d+)$`)
	quotedText = regexp.MustCompile("`([^`]+)`")
	ruleCell   = regexp.MustCompile(`^:?-+:?$`)
)

// ParsePage reads a page. Everything but the Items line and table rows is prose.
func ParsePage(text string) (Page, error) {
	header := itemsLine.FindStringSubmatch(text)
	if header == nil {
		return Page{}, fmt.Errorf("no line like `Items: 1-12, A, B`")
	}
	items, err := expandItems(header[1])
	if err != nil {
		return Page{}, err
	}
	page := Page{Items: items}
	for i, line := range strings.Split(text, "\n") {
		row, ok, err := parseRow(line)
		if err != nil {
			return Page{}, fmt.Errorf("line %d: %w", i+1, err)
		}
		if ok {
			row.Line = i + 1
			page.Rows = append(page.Rows, row)
		}
	}
	return page, nil
}

// parseRow reads one table row; headings, rules and lines that are no rows are not ok.
func parseRow(line string) (row Row, ok bool, err error) {
	cells := tableCells(line)
	if len(cells) == 0 || strings.EqualFold(cells[0], "item") || ruleCell.MatchString(cells[0]) {
		return Row{}, false, nil
	}
	if len(cells) != 3 {
		return Row{}, false, fmt.Errorf("%d cells, want item | what | tests (write a bar inside a cell as \\|)", len(cells))
	}
	items, err := expandItems(cells[0])
	if err != nil {
		return Row{}, false, err
	}
	row.Items = items
	for _, quoted := range quotedText.FindAllStringSubmatch(cells[2], -1) {
		row.Tests = append(row.Tests, quoted[1])
	}
	return row, true, nil
}

func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	const escaped = "\x00"
	line = strings.ReplaceAll(line, `\|`, escaped)
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, escaped, "|"))
	}
	return cells
}

// expandItems turns "1-3, A" into 1 2 3 A; B1-B3 counts as well.
func expandItems(list string) ([]string, error) {
	var items []string
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		if bounds := itemRange.FindStringSubmatch(part); bounds != nil {
			expanded, err := expandRange(bounds[1], bounds[2], bounds[3], bounds[4])
			if err != nil {
				return nil, fmt.Errorf("%q: %w", part, err)
			}
			items = append(items, expanded...)
			continue
		}
		if !itemName.MatchString(part) {
			return nil, fmt.Errorf("%q is no item: write a number, a word, or a range like 1-12", part)
		}
		items = append(items, part)
	}
	return items, nil
}

func expandRange(prefix, low, prefix2, high string) ([]string, error) {
	first, err1 := strconv.Atoi(low)
	last, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || first > last || last-first > 1000 || (prefix2 != "" && prefix2 != prefix) {
		return nil, fmt.Errorf("not a range")
	}
	var items []string
	for n := first; n <= last; n++ {
		items = append(items, prefix+strconv.Itoa(n))
	}
	return items, nil
}

// Problems lists what is wrong with the page, given a way to look a test up.
func (p Page) Problems(look func(reference string) error) []string {
	var problems []string
	shown := map[string]bool{}
	for _, row := range p.Rows {
		for _, item := range row.Items {
			if !slices.Contains(p.Items, item) {
				problems = append(problems, fmt.Sprintf("line %d: item %s is not in the Items line", row.Line, item))
			}
			shown[item] = shown[item] || len(row.Tests) > 0
		}
		for _, test := range row.Tests {
			if err := look(test); err != nil {
				problems = append(problems, fmt.Sprintf("line %d: %v", row.Line, err))
			}
		}
	}
	for _, item := range p.Items {
		if !shown[item] {
			problems = append(problems, fmt.Sprintf("item %s has no test", item))
		}
	}
	return problems
}
