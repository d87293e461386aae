package work

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"parley.internal/protocol/viber"
)

// refreshStatus notes whether the task runs or waits for a person. Whoever looks on
// knows it by the events.
func (t *task) refreshStatus() {
	status := viber.TaskRunning
	if len(t.asks) > 0 {
		status = viber.TaskPaused
	}
	t.out.row = t.out.row || t.pending != len(t.asks)
	t.pending = len(t.asks)
	// A tool that runs beside an open question is worth waiting for.
	waits := len(t.asks) > 0 && (t.batch == nil || t.batch.running == nil)
	t.paused.Store(waits)
	t.keepTime(waits)
	if status == t.status {
		return
	}
	t.status = status
	t.out.row = true
}

// openQuestions are those that wait, in the order they were asked.
func (t *task) openQuestions() []*question {
	list := slices.Collect(maps.Values(t.asks))
	// Ids are made in order.
	slices.SortFunc(list, func(a, b *question) int { return strings.Compare(a.id, b.id) })
	return list
}

// phase says what the task is busy with, when that changed.
func (t *task) phase(p viber.Phase, message string) {
	if t.state.Phase == p && message == "" {
		return
	}
	t.state.Phase = p
	t.progress(message)
}

// progress tells how far the task is.
func (t *task) progress(message string) { t.progressWith(message, nil) }

func (t *task) progressWith(message string, b *viber.Budget) *viber.TaskProgress {
	if !t.waits() {
		t.beat.set(progressEvery)
	}
	tokens := t.usage.Total()
	ev := &viber.TaskProgress{
		Status: cmp.Or(t.state.Phase, viber.Planning), CurrentStep: currentStep(t.state.Plan), TokensUsed: &tokens, CostEstimateUSD: costOf(t.usage), Message: message, Budget: b,
	}
	if ev.Budget == nil && t.opts.BudgetUSD > 0 && t.usage.CostKnown {
		ev.Budget = &viber.Budget{UsedUSD: usd(t.usage.CostMicros), LimitUSD: usd(t.taskLimit())}
	}
	t.emit(ev)
	return ev
}

// askProgress names the tools that wait for a person.
func (t *task) askProgress() {
	var names []string
	for _, q := range t.openQuestions() {
		names = append(names, q.event.ToolCall.Name)
	}
	if len(names) > 0 {
		t.progress("waiting for approval: " + valid(strings.Join(names, ", ")))
	}
}

// currentStep is the step of a structured plan that is worked on.
func currentStep(p *viber.Plan) string {
	if p == nil || p.Steps == nil {
		return ""
	}
	for _, want := range []viber.StepStatus{viber.StepInProgress, viber.StepPending} {
		for _, s := range p.Steps.Steps {
			if s.Status == want {
				return s.ID
			}
		}
	}
	return ""
}
