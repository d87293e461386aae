package notice

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"parley.internal/internal/endpoint/control"
	"parley.internal/internal/visible"
)

// maxShown is how many characters a notice shows: desktops cut what is longer, and
// nobody may agree to what they cannot see.
const maxShown = 500

// Text is a question as a desktop shows it. Whole tells whether all of what would run is
// in it; only then can it be allowed there.
func Text(q control.Question) (text string, whole bool) {
	var args map[string]json.RawMessage
	if len(q.Arguments) == 0 || json.Unmarshal(q.Arguments, &args) != nil {
		return elsewhere(q), false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Somebody at the hub wants to run %s on this machine.\n", q.Tool)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		var value string
		if json.Unmarshal(args[name], &value) != nil {
			value = string(args[name])
		}
		fmt.Fprintf(&b, "\n%s: %s", name, value)
	}
	text = visible.Text(b.String())
	if utf8.RuneCountInString(text) > maxShown {
		return elsewhere(q), false
	}
	return text, true
}

// looks is the command that shows what waits, of whichever program runs here: the small one, or
// the whole one beside a hub.
func looks() string {
	program, err := os.Executable()
	if name := strings.TrimSuffix(filepath.Base(program), ".exe"); err == nil && name == "parley" {
		return "parley endpoint approvals"
	}
	return "parley-endpoint approvals"
}

// elsewhere is for what cannot be shown here.
func elsewhere(q control.Question) string {
	return visible.Text(fmt.Sprintf("Somebody at the hub wants to run %s on this machine. It is too long to be shown here, or not yours to see: look at it with '%s'.", q.Tool, looks()))
}
