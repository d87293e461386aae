package viber

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Plan is how a task means to reach its goal: a text, or steps.
type Plan struct {
	// Markdown is the plan as text, when Steps is nil.
	Markdown string
	// Steps is the plan as data.
	Steps *StructuredPlan
}

// StructuredPlan is a plan as steps.
type StructuredPlan struct {
	Goal  string     `json:"goal"`
	Steps []PlanStep `json:"steps"`
}

// PlanStep is one step.
type PlanStep struct {
	ID     string     `json:"id"`
	Title  string     `json:"title"`
	Status StepStatus `json:"status"`
}

// StepStatus is how far a step is.
type StepStatus string

// The states of a step.
const (
	StepPending    StepStatus = "pending"
	StepInProgress StepStatus = "in_progress"
	StepCompleted  StepStatus = "completed"
	StepBlocked    StepStatus = "blocked"
)

// The forms of a plan on the wire.
const (
	planMarkdown   = "markdown"
	planStructured = "structured"
)

// MarshalJSONTo writes the plan with its format.
func (p Plan) MarshalJSONTo(e *jsontext.Encoder) error {
	format, content := planMarkdown, any(p.Markdown)
	if p.Steps != nil {
		format, content = planStructured, p.Steps
	}
	return json.MarshalEncode(e, struct {
		Format  string `json:"format"`
		Content any    `json:"content"`
	}{format, content})
}

// UnmarshalJSONFrom reads a plan; one that is neither text nor steps is a
// violation.
func (p *Plan) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var raw struct {
		Format  string         `json:"format"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.UnmarshalDecode(d, &raw); err != nil {
		return err
	}
	*p = Plan{}
	switch raw.Format {
	case planMarkdown:
		s, ok := textIn(raw.Content)
		if !ok {
			return violation(ReasonBadPayload, "/plan/content", "the content of a markdown plan is a string")
		}
		p.Markdown = s
		return nil
	case planStructured:
		return p.readSteps(raw.Content)
	}
	return violation(ReasonBadPayload, "/plan/format", "a plan's format is markdown or structured")
}

func (p *Plan) readSteps(content jsontext.Value) error {
	var steps StructuredPlan
	if content.Kind() != '{' {
		return violation(ReasonBadPayload, "/plan/content", "the content of a structured plan is an object")
	}
	if err := json.Unmarshal(content, &steps); err != nil {
		return violation(ReasonBadPayload, "/plan/content", "the content of a structured plan is a goal and steps")
	}
	seen := make(map[string]bool, len(steps.Steps))
	for i, s := range steps.Steps {
		at := fmt.Sprintf("/plan/content/steps/%d", i)
		if s.ID == "" || seen[s.ID] {
			return violation(ReasonBadPayload, at+"/id", "each step has an id of its own")
		}
		seen[s.ID] = true
		switch s.Status {
		case StepPending, StepInProgress, StepCompleted, StepBlocked:
		default:
			return violation(ReasonBadPayload, at+"/status", "a step is pending, in_progress, completed or blocked")
		}
	}
	p.Steps = &steps
	return nil
}
