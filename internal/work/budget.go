package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/protocol/viber"
)

// warnAt is the share of a limit, in percent, at which people are warned.
const warnAt = 80

// The spans of limits.
const (
	spanTask  = "task"
	spanDay   = "day"
	spanMonth = "month"
)

// budgetLimit is one limit on money and how much of it is used, in micros.
type budgetLimit struct {
	span        string
	used, limit int64
	hard        bool
}

// limitsOf reads what an agent may spend and has spent. Task limits come first.
func (w *Work) limitsOf(ctx context.Context, agent *brain.Agent, now time.Time) ([]budgetLimit, error) {
	b := agent.Budget
	if w.d.Ledger == nil || b.DayMicros == 0 && b.MonthMicros == 0 {
		return nil, nil
	}
	day := brain.Day(now)
	var out []budgetLimit
	for _, l := range []struct {
		span, first string
		limit       int64
	}{{spanDay, day, b.DayMicros}, {spanMonth, day[:8] + "01", b.MonthMicros}} {
		if l.limit == 0 {
			continue
		}
		spent, err := w.d.Ledger.Spent(ctx, agent.Name, l.first, day)
		if err != nil {
			return nil, err
		}
		out = append(out, budgetLimit{span: l.span, used: spent.Micros, limit: l.limit, hard: b.Hard})
	}
	return out, nil
}

// affordable refuses a submit when a hard limit of the agent is used up.
func (w *Work) affordable(ctx context.Context, p *proposal) error {
	limits, err := w.limitsOf(ctx, p.agent, time.Now())
	if err != nil {
		return err
	}
	for _, l := range limits {
		if l.hard && l.used >= l.limit {
			return &RefusedError{Event: viber.NewTaskFailure(p.id, l.exceeded(), "", viber.NewUsage(0, 0, nil))}
		}
	}
	return nil
}

func (l budgetLimit) exceeded() viber.ErrorInfo {
	return viber.ErrorInfo{
		Type: viber.CodeBudgetExceeded, Message: fmt.Sprintf("$%.4f of $%.4f per %s are spent", usd(l.used), usd(l.limit), l.span), Recoverable: true,
		Suggestion: "raise the budget, or wait for the next " + l.span,
	}
}

// taskLimit is what this task may spend by its own options, as extended.
func (t *task) taskLimit() int64 {
	if raised := t.state.Raised[spanTask]; raised > 0 {
		return raised
	}
	return int64(t.opts.BudgetUSD * 1e6)
}

// limits are all that hold for the task now.
func (t *task) limits() ([]budgetLimit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	limits, err := t.w.limitsOf(ctx, t.agent, time.Now())
	for i := range limits {
		if raised := t.state.Raised[limits[i].span]; raised > limits[i].limit {
			limits[i].limit = raised
		}
	}
	own := t.agent.Budget.RunMicros
	if t.opts.BudgetUSD > 0 && (own == 0 || int64(t.opts.BudgetUSD*1e6) < own) {
		own = int64(t.opts.BudgetUSD * 1e6)
	}
	if raised := t.state.Raised[spanTask]; raised > 0 {
		own = raised
	}
	if own > 0 {
		limits = append(limits, budgetLimit{span: spanTask, used: t.usage.CostMicros, limit: own, hard: true})
	}
	return limits, err
}

// count adds what a model call used.
func (t *task) count(u model.Usage) error {
	t.usage = t.usage.Add(u)
	return t.meter.Add(t.ctx, u)
}

// account adds what a model call used, and warns of limits that come near.
func (t *task) account(u model.Usage) error {
	if err := t.count(t.model.Cost(u)); err != nil {
		return err
	}
	limits, err := t.limits()
	if err != nil {
		return err
	}
	for _, l := range limits {
		t.warn(l)
	}
	return nil
}

// warn says once per limit that it is nearly used up.
func (t *task) warn(l budgetLimit) {
	if l.used*100 < l.limit*warnAt || slices.Contains(t.state.Warned, l.span) {
		return
	}
	t.state.Warned = append(t.state.Warned, l.span)
	t.out.row = true
	b := &viber.Budget{UsedUSD: usd(l.used), LimitUSD: usd(l.limit), Warning: true}
	ev := t.progressWith(fmt.Sprintf("$%.4f of $%.4f per %s are spent", b.UsedUSD, b.LimitUSD, l.span), b)
	t.noteBudget(audit.BudgetWarned, l)
	t.then(func() { t.w.announce(t, ev) })
}

// mayPay checks hard limits before a model call. One that is used up asks a
// person for more.
func (t *task) mayPay() bool {
	limits, err := t.limits()
	if err != nil {
		t.internal("the budget could not be read", err)
		return false
	}
	for _, l := range limits {
		if !l.hard || l.used < l.limit {
			continue
		}
		t.noteBudget(audit.BudgetExceeded, l)
		if t.w.d.FailUnattended && t.w.d.Attended != nil && !t.w.d.Attended(t.principal) {
			t.fail(l.exceeded(), "")
			return false
		}
		t.askBudget(l)
		return false
	}
	return true
}

func (t *task) askBudget(l budgetLimit) {
	args, _ := json.Marshal(map[string]float64{ // numbers: cannot fail
		"used_usd": usd(l.used), "limit_usd": usd(l.limit), "proposed_limit_usd": usd(l.proposed()),
	})
	v := t.policy().Spending(t.actor(), budgetTool, "the budget is spent")
	t.ask(&question{budget: &l}, approval.Request{
		Kind: approval.KindBudget, Title: fmt.Sprintf("%s has spent $%.4f of $%.4f per %s", t.agentName(), usd(l.used), usd(l.limit), l.span),
		Tool: budgetTool, Arguments: args, Reason: v.Reason, Quorum: v.Need.Quorum, Policy: v.Need.Policy,
	}, "")
	t.askProgress()
}

// proposed is double the limit, and enough to go on.
func (l budgetLimit) proposed() int64 { return max(2*l.limit, l.used+l.limit) }

// budgetDecided goes on with more money, or ends.
func (t *task) budgetDecided(q *question, out approval.Outcome) {
	l := *q.budget
	if !out.Approved() {
		info := l.exceeded()
		if out.Reason != "" {
			info.Message += ": " + out.Reason
		}
		t.fail(info, "")
		return
	}
	if t.state.Raised == nil {
		t.state.Raised = map[string]int64{}
	}
	t.state.Raised[l.span] = l.proposed()
	t.state.Warned = slices.DeleteFunc(t.state.Warned, func(s string) bool { return s == l.span })
	t.out.row = true
	t.noteBudget(audit.BudgetExtended, l)
	t.then(func() {
		if len(t.steers) > 0 {
			t.inject(t.takeSteers()...)
			return
		}
		t.think()
	})
}
