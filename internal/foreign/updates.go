package foreign

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/protocol/acp"
)

// Bounds of one deed as it is shown.
const (
	maxInput  = 16 << 10
	maxOutput = 32 << 10
	// maxSteps bounds a plan.
	maxSteps = 100
	// worthLooking is how much an agent may cost before its budget is looked at again, in micros.
	worthLooking = 10_000
)

// deed is a tool call that the agent makes by itself.
type deed struct {
	call    acp.ToolCall
	content []acp.ToolContent
	shown   bool
	over    bool
}

// merge takes in what is new about it.
func (d *deed) merge(c *acp.ToolCall, content []acp.ToolContent) {
	d.call.ID = c.ID
	for _, f := range []struct{ into, from *string }{{&d.call.Title, &c.Title}, {&d.call.Tool, &c.Tool}, {&d.call.Status, &c.Status}} {
		if *f.from != "" {
			*f.into = *f.from
		}
	}
	if len(c.Input) > 0 && string(c.Input) != "null" {
		d.call.Input = c.Input
	}
	if len(c.Output) > 0 {
		d.call.Output = c.Output
	}
	if c.Locations != nil {
		d.call.Locations = c.Locations
	}
	if content != nil {
		d.content = content
	}
}

// update tells what the agent says and does; more tells that its budget is to be looked at before it goes on.
func (s *session) update(u *acp.Change, out listener) (more bool, err error) {
	if s.heard.Swap(false) {
		if err := out(model.Event{Kind: model.Acted, Act: &model.Act{Untrusted: true}}); err != nil {
			return false, err
		}
	}
	switch u.Kind {
	case acp.AgentText, acp.AgentThought:
		return false, s.said(u, out)
	case acp.ToolCallBegan, acp.ToolCallUpdate:
		return false, s.did(u, out)
	case acp.PlanChanged:
		return false, s.plans(u.Entries, out)
	case acp.UsageChanged:
		return s.costs(u.Cost, out)
	}
	return false, nil
}

// said passes text on. What might be the beginning of a secret waits for what follows.
func (s *session) said(u *acp.Change, out listener) error {
	block, err := acp.Read[acp.Block](u.Content)
	if err != nil {
		return nil //nolint:nilerr // what cannot be read is nothing
	}
	if u.Kind == acp.AgentThought {
		return out(model.Event{Kind: model.Thinking, Text: s.o.Mask.Text(block.Text)})
	}
	if block.Type != "text" {
		block.Text = "[" + block.Type + " " + block.URI + "]"
	}
	return s.pass(s.text.Push([]byte(block.Text)), out)
}

// flushText passes on what waited.
func (s *session) flushText(out listener) error {
	rest := s.text.End()
	s.text = s.o.Mask.Stream()
	return s.pass(rest, out)
}

func (s *session) pass(text []byte, out listener) error {
	if len(text) == 0 {
		return nil
	}
	return out(model.Event{Kind: model.Text, Text: string(text)})
}

// did shows a tool call of the agent when it begins and when it ends.
func (s *session) did(u *acp.Change, out listener) error {
	content, err := acp.Read[[]acp.ToolContent](u.Content)
	if err != nil || u.ID == "" {
		return nil //nolint:nilerr // what cannot be read is nothing
	}
	if err := s.count(len(u.Content) + len(u.Input) + len(u.Output) + len(u.Title) + 100); err != nil {
		return err
	}
	d := s.deeds[u.ID]
	if d == nil {
		d = &deed{}
		s.deeds[u.ID] = d
	}
	d.merge(&u.ToolCall, content)
	ended := d.call.Status == acp.StatusCompleted || d.call.Status == acp.StatusFailed
	if !d.shown && (ended || d.call.Status == acp.StatusRunning && len(d.call.Input) > 2) {
		d.shown = true
		if err := s.act(&model.Act{ID: "did:" + u.ID, Name: toolOf(d.call.Tool), Arguments: s.fit(shownCall{Title: d.call.Title, Files: shown(d.call, nil).Files, Input: json.RawMessage(d.call.Input)}, maxInput)}, out); err != nil {
			return err
		}
	}
	if !ended || d.over {
		return nil
	}
	d.over = true
	return s.act(&model.Act{ID: "did:" + u.ID, Result: s.outcome(d), Untrusted: reads(d.call.Tool)}, out)
}

// count bounds what one prompt may tell of deeds.
func (s *session) count(n int) error {
	if s.told += n; s.told > maxDeeds {
		return errors.New("it tells more of what it does than anybody could read")
	}
	return nil
}

// reads tells whether a kind of tool brings words that strangers may have written.
func reads(kind string) bool {
	return !slices.Contains([]string{acp.KindEdit, acp.KindDelete, acp.KindMove, acp.KindThink}, kind)
}

// act tells of a deed, after the text before it.
func (s *session) act(a *model.Act, out listener) error {
	if err := s.flushText(out); err != nil {
		return err
	}
	return out(model.Event{Kind: model.Acted, Act: a})
}

// outcome is what came of a deed, in the form of a tool's result.
func (s *session) outcome(d *deed) string {
	made := shown(acp.ToolCall{}, d.content)
	if made.Text == "" && len(made.Changes) == 0 && json.Valid(d.call.Output) {
		made.Input = json.RawMessage(d.call.Output)
	}
	output := map[string]any{}
	if made.Text != "" {
		output["text"] = made.Text
	}
	if len(made.Changes) > 0 {
		output["changes"] = made.Changes
	}
	if made.Input != nil {
		output["output"] = made.Input
	}
	if d.call.Status == acp.StatusFailed {
		return s.fit(map[string]any{"ok": false, "error": map[string]any{"type": "failed", "message": made.Text, "output": made.Input}}, maxOutput)
	}
	return s.fit(map[string]any{"ok": true, "output": output}, maxOutput)
}

// fit is a value as JSON that is not too long and has no secrets.
func (s *session) fit(v any, most int) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	raw = s.o.Mask.JSON(raw)
	if len(raw) <= most {
		return string(raw)
	}
	cut, _ := tool.Clip(string(raw), most/2)
	raw, _ = json.Marshal(map[string]any{"ok": true, "output": map[string]string{"text": cut}}) // texts: cannot fail
	return string(raw)
}

// plans tells what the agent means to do.
func (s *session) plans(entries []acp.PlanEntry, out listener) error {
	var plan []model.Step
	size := 0
	for _, e := range entries[:min(len(entries), maxSteps)] {
		title, _ := tool.Clip(strings.TrimSpace(e.Content), 500)
		plan = append(plan, model.Step{Title: s.o.Mask.Text(title), Status: e.Status})
		size += len(title) + 50
	}
	if err := s.count(size + 100); err != nil || plan == nil {
		return err
	}
	return s.act(&model.Act{Plan: plan}, out)
}

// costs takes in what the session has cost. A counter that went back has begun anew.
func (s *session) costs(c *acp.Cost, out listener) (more bool, err error) {
	if c == nil || c.Currency != "USD" || !(c.Amount >= 0 && c.Amount < 1e6) {
		return false, nil
	}
	s.cost, s.costSeen = int64(c.Amount*1e6), true
	if s.cost < s.saved.Paid {
		s.saved.Paid = 0
	}
	if s.cost-s.saved.Paid < worthLooking || len(s.calls) > 0 {
		return false, nil
	}
	if err := s.flushText(out); err != nil {
		return false, err
	}
	return true, out(model.Event{Kind: model.Done, Finish: model.FinishMore, Usage: s.spent()})
}
