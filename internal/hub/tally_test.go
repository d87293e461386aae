package hub

import (
	"strings"
	"testing"
)

const dumped = `{"format":"parley-dump-2"}
{"table":"a","columns":["x"]}
["1"]
["2"]
{"table":"settings","columns":["name","value"]}
["store.loaded","1"]
["k","v"]
{"rows":4}
`

// Tables are compared row by row whatever order the rows come in; what a restore
// writes itself does not count.
func TestTablesAreComparedRowByRow(t *testing.T) {
	tallied := func(text string) map[string]tally {
		all := newTallier()
		for part := range strings.SplitSeq(text, "2") { // lines come in pieces
			_, _ = all.Write([]byte(part))
			_, _ = all.Write([]byte("2"))
		}
		return all.tables
	}
	for name, want := range map[string]struct {
		text    string
		problem string
	}{
		"the same":           {dumped, ""},
		"another order":      {strings.Replace(dumped, "[\"1\"]\n[\"2\"]", "[\"2\"]\n[\"1\"]", 1), ""},
		"no mark":            {strings.Replace(dumped, "[\"store.loaded\",\"1\"]\n", "", 1), ""},
		"a row less":         {strings.Replace(dumped, "[\"1\"]\n", "", 1), "the table a has 1 rows, and 2 in the backup"},
		"another value":      {strings.Replace(dumped, `["1"]`, `["3"]`, 1), "the table a has other rows"},
		"the same row twice": {strings.Replace(dumped, `["1"]`, `["2"]`, 1), "the table a has other rows"},
		"a new column":       {strings.NewReplacer(`["x"]`, `["x","y"]`, `["1"]`, `["1",""]`, `["2"]`, `["2",""]`).Replace(dumped), ""},
	} {
		got := strings.Join(compareTables(tallied(dumped), tallied(want.text), "the backup"), "; ")
		if want.problem == "" && got != "" || !strings.HasPrefix(got, want.problem) {
			t.Errorf("%s: %q, want %q", name, got, want.problem)
		}
	}
}
