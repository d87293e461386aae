package health

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kenny"
)

// Verdict is one section, judged.
type Verdict struct {
	Status  kenny.Status `json:"status"`
	Summary string       `json:"summary"`
	// Reason is the rule's, when a rule found the section unwell.
	Reason string `json:"reason,omitempty"`
	// Muted sections are shown but not counted.
	Muted bool `json:"muted,omitempty"`
}

// why is the sentence to show for an unwell section.
func (v Verdict) why(name string) string {
	switch {
	case v.Reason != "":
		return v.Reason
	case v.Summary != "":
		return v.Summary
	}
	return name
}

// Mute takes a section of a machine out of the count until a time; the zero
// time means until further notice.
type Mute struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

func (m Mute) active(now time.Time) bool { return m.Until.IsZero() || now.Before(m.Until) }

// Report is one machine, judged.
type Report struct {
	Overall  kenny.Status       `json:"overall"`
	Sections map[string]Verdict `json:"sections"`
}

// Judge judges a snapshot of a machine at a time. Without any snapshot the
// machine's state is unknown. Sections the codec would refuse are left out.
func Judge(os kenny.OS, snapshot map[string]jsontext.Value, mutes map[string]Mute, now time.Time) Report {
	r := Report{Overall: kenny.StatusUnknown, Sections: make(map[string]Verdict, len(snapshot))}
	if snapshot == nil {
		return r
	}
	r.Overall = kenny.StatusOK
	for name, raw := range snapshot {
		head, err := kenny.ReadSection(raw)
		if err != nil {
			continue
		}
		v := judgeSection(os, name, head, raw, now)
		if m, ok := mutes[name]; ok {
			v.Muted = m.active(now)
		}
		if !v.Muted {
			r.Overall = Worst(r.Overall, v.Status)
		}
		r.Sections[name] = v
	}
	return r
}

func judgeSection(os kenny.OS, name string, head kenny.Section, raw jsontext.Value, now time.Time) Verdict {
	v := Verdict{Status: head.Status, Summary: head.Summary}
	rule, ok := ruleFor(os, name)
	if !ok {
		return v
	}
	status, reason := rule(raw, now)
	if status == "" {
		return v
	}
	v.Status, v.Reason = status, reason
	return v
}

// grade orders the statuses; a higher one is worse.
func grade(s kenny.Status) int {
	return slices.Index([]kenny.Status{kenny.StatusUnknown, kenny.StatusOK, kenny.StatusWarn, kenny.StatusCrit}, s)
}

// Worst rolls statuses up. Unknown never hides a known one; of nothing, or of
// nothing known, it is unknown.
func Worst(statuses ...kenny.Status) kenny.Status {
	worst := kenny.StatusUnknown
	for _, s := range statuses {
		if grade(s) > grade(worst) {
			worst = s
		}
	}
	return worst
}

// Flagged lists the counted sections that are unwell: worst first, then by name.
func (r Report) Flagged() []string {
	return append(r.With(kenny.StatusCrit), r.With(kenny.StatusWarn)...)
}

// With lists the counted sections of one status by name.
func (r Report) With(status kenny.Status) []string {
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(r.Sections)) {
		if v := r.Sections[name]; v.Status == status && !v.Muted {
			out = append(out, name)
		}
	}
	return out
}

// Summary is the machine in one line: the worst reason and how many more there
// are.
func (r Report) Summary() string {
	if r.Overall == kenny.StatusUnknown {
		return "no telemetry yet"
	}
	flagged := r.Flagged()
	if len(flagged) == 0 {
		return "all green"
	}
	first := r.Sections[flagged[0]].why(flagged[0])
	if len(flagged) == 1 {
		return first
	}
	return fmt.Sprintf("%s +%d more", first, len(flagged)-1)
}
