package rule

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley.internal/internal/approval"
	"parley.internal/internal/visible"
)

// Words tells the rule as people read it, with what would hide written out.
func (r Rule) Words() string {
	parts := []string{r.Agent + " may " + r.what() + r.where()}
	for _, part := range []struct {
		verb  string
		names []string
	}{{"reading ", r.Read}, {"changing ", r.Write}, {"connecting to ", r.hosts()}} {
		if len(part.names) > 0 {
			parts = append(parts, part.verb+strings.Join(part.names, ", "))
		}
	}
	often := strconv.Itoa(r.Uses) + " times"
	if r.Uses == 1 {
		often = "once"
	}
	parts = append(parts, "until "+r.Until.UTC().Format("2006-01-02 15:04")+" UTC", often)
	return visible.Line(strings.Join(parts, ", "))
}

// where is the folder, or the machines.
func (r Rule) where() string {
	at := map[string]string{"": "", ".": " in its folder"}
	out, known := at[r.Folder]
	if !known {
		out = " in " + r.Folder
	}
	if len(r.Machines) > 0 {
		out += " on " + strings.Join(r.Machines, ", ")
	}
	return out
}

// network is the tool by which a program asks for a host.
const network = "network"

// hosts are those that what does not name already.
func (r Rule) hosts() []string {
	if r.Tool == network {
		return nil
	}
	return r.Hosts
}

// what is the call.
func (r Rule) what() string {
	if r.Tool == network {
		return "connect to " + strings.Join(r.Hosts, ", ") + " from a command"
	}
	if script, runs := scripts[r.Tool]; runs {
		if command, ok := text(r.Arguments[script.member]); ok {
			rest := maps.Clone(r.Arguments)
			delete(rest, script.member)
			return "run `" + command + "`" + rest.words(" with ")
		}
	}
	return "use " + r.Tool + r.Arguments.words(" with ")
}

func (p Pattern) words(before string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		value := string(p[name])
		if said, ok := text(p[name]); ok && said == Open {
			value = "anything"
		}
		parts = append(parts, name+" "+value)
	}
	if len(parts) == 0 {
		return ""
	}
	return before + strings.Join(parts, ", ")
}

// Trial is what a rule would have done.
type Trial struct {
	// Asked is how many questions it was held against, Answered how many of them it would have
	// answered, Refused how many of these the person said no to.
	Asked, Answered, Refused int
}

// Tried is how many questions a rule is tried against before it is made.
const Tried = 200

// Try holds the rule against questions that were decided.
func (r Rule) Try(items []approval.Item) (t Trial) {
	for _, item := range items {
		if item.Outcome.State == approval.StatePending || item.Kind != approval.KindTool {
			continue
		}
		t.Asked++
		if !r.Answers(item) {
			continue
		}
		t.Answered++
		if item.Outcome.State == approval.StateRejected {
			t.Refused++
		}
	}
	return t
}
