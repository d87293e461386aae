package work_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/judge"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

func dollars(usd float64) func(*viber.TaskOptions) {
	return func(o *viber.TaskOptions) { o.BudgetUSD = usd }
}

func budgetArgs(t *testing.T, a *viber.ApprovalRequired) (used, limit, proposed float64) {
	t.Helper()
	var args struct {
		Used     float64 `json:"used_usd"`
		Limit    float64 `json:"limit_usd"`
		Proposed float64 `json:"proposed_limit_usd"`
	}
	if err := json.Unmarshal(a.ToolCall.Arguments, &args); err != nil {
		t.Fatal(err)
	}
	return args.Used, args.Limit, args.Proposed
}

func TestABudgetWarnsOncePausesAndIsExtended(t *testing.T) {
	h := newHub(t, sqlite(t))
	step := func(cost string) []string { return []string{"/cost " + cost, "/tool file_list {}"} }
	var lines []string
	for _, cost := range []string{"0.5", "0.35", "0.05", "0.2"} {
		lines = append(lines, step(cost)...)
	}
	r := h.submit(with(goal(append(lines, "/say done")...), dollars(1)))
	asked := untilType[*viber.ApprovalRequired](r)
	if used, limit, proposed := budgetArgs(t, asked); asked.ToolCall.Name != "budget.extend" || used != 1.1 || limit != 1 || proposed != 2.1 && proposed != 2 {
		t.Errorf("%v of %v, %v", used, limit, proposed)
	}
	if snap, err := h.Snapshot(ctx, alice, r.id); err != nil || snap.Status != viber.TaskPaused {
		t.Errorf("%+v %v; want no error, snap.Status to be %v", snap, err, viber.TaskPaused)
	}
	warnings := 0
	for _, p := range ofType[*viber.TaskProgress](r) {
		if p.Budget != nil && p.Budget.Warning {
			warnings++
			if p.Budget.UsedUSD != 0.85 || p.Budget.LimitUSD != 1 {
				t.Errorf("%+v; want p.Budget.UsedUSD to be 0.85, p.Budget.LimitUSD to be 1", p.Budget)
			}
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings", warnings)
	}
	h.answer(alice, yes(asked.ApprovalID))
	if got := r.completed(); got.Result.Text != "done" || *got.Usage.CostUSD != 1.1 {
		t.Errorf("%+v; want got.Result.Text to be \"done\", *got.Usage.CostUSD to be 1.1", got)
	}
	for _, action := range []audit.Action{audit.BudgetWarned, audit.BudgetExceeded, audit.BudgetExtended} {
		if n := len(h.trail.of(action)); n != 1 {
			t.Errorf("%d entries of %s", n, action)
		}
	}
}

func TestARefusedBudgetEndsTheTask(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(with(goal("/say so far", "/cost 2", "/tool file_list {}", "/say never"), dollars(1)))
	asked := untilType[*viber.ApprovalRequired](r)
	h.answer(alice, no(asked.ApprovalID, "too dear"))
	if e := r.failed(viber.CodeBudgetExceeded); e.PartialResult.Text != "so far" || *e.Usage.CostUSD != 2 {
		t.Errorf("%+v; want e.PartialResult.Text to be \"so far\", *e.Usage.CostUSD to be 2", e)
	}
}

func TestNobodyConnectedAndABudgetThatFailsThen(t *testing.T) {
	there := false
	h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) {
		d.FailUnattended, d.Attended = true, func(string) bool { return there }
	}))
	h.submit(with(goal("/cost 2", "/tool file_list {}", "/say never"), dollars(1))).failed(viber.CodeBudgetExceeded)
	there = true
	r := h.submit(with(goal("/cost 2", "/tool file_list {}", "/say never"), dollars(1)))
	untilType[*viber.ApprovalRequired](r)
	r.stopTask()
}

func TestAnAgentsHardLimitsHoldAcrossTasks(t *testing.T) {
	for _, limit := range []string{"day_usd", "month_usd"} {
		h := newHub(t, sqlite(t))
		h.agents.put(t, "dear", "---\nbudget:\n  "+limit+": 1\n  hard: true\n---\n")
		dear := func(o *viber.TaskOptions) { o.Agent = "dear" }
		if limit == "month_usd" {
			first := brain.Day(time.Now())[:8] + "01"
			if err := h.ledger.Add(ctx, "dear", first, brain.Spend{Micros: 50_000}); err != nil {
				t.Fatal(err)
			}
		}
		h.submit(with(goal("/cost 0.9", "/say one"), dear)).completed()
		h.submit(with(goal("/cost 0.9", "/say two"), dear))
		_, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "third", Submit: with(goal("/say three"), dear)})
		for range 200 { // the second task is still adding up
			if err != nil {
				break
			}
			<-time.After(10 * time.Millisecond)
			_, err = h.Submit(ctx, alice, work.SubmitRequest{Key: newKey(), Submit: with(goal("/say three"), dear)})
		}
		refused, ok := errors.AsType[*work.RefusedError](err)
		if !ok || refused.Event.Error.Type != viber.CodeBudgetExceeded || !refused.Event.Ends() || refused.Event.TaskID == "" {
			t.Fatalf("%s: %v; want ok, refused.Event.Error.Type to be %v, refused.Event.Ends(), refused.Event.TaskID not to be \"\"", limit, err, viber.CodeBudgetExceeded)
		}
		if _, err := h.Snapshot(ctx, alice, refused.Event.TaskID); !errors.Is(err, work.ErrNotFound) {
			t.Errorf("the refused task exists: %v", err)
		}
		h.stop()
	}
}

func TestASoftLimitOnlyWarns(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "soft", "---\nbudget:\n  day_usd: 1\n---\n")
	r := h.submit(with(goal("/cost 3", "/say done"), func(o *viber.TaskOptions) { o.Agent = "soft" }))
	r.completed()
	warned := false
	for _, p := range ofType[*viber.TaskProgress](r) {
		warned = warned || p.Budget != nil && p.Budget.Warning
	}
	if !warned {
		t.Errorf("%s; want warned", r.describe())
	}
	h.submit(with(goal("/say more"), func(o *viber.TaskOptions) { o.Agent = "soft" })).completed()
}

func TestAMoneyLimitWithoutAPriceFailsTheTask(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "guess", "---\nmodel: local:llama\nbudget: {run_usd: 1}\n---\n")
	r := h.submit(with(goal("/say never"), func(o *viber.TaskOptions) { o.Agent = "guess" }))
	if e := r.failed(viber.CodeProviderError); !strings.Contains(e.Error.Message, "prices.yaml") {
		t.Errorf("the failure does not say how to set a price: %q", e.Error.Message)
	}
}

func TestWhatASteerCutShortCounts(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say going one way", "/sleep 600000", "/say never"))
	r.untilText("going one way")
	r.message(viber.Steer, "/sleep 600000")
	untilType[*viber.TaskUserMessage](r)
	spent, err := h.ledger.Spent(ctx, "parley", brain.Day(time.Now().Add(-24*time.Hour)), brain.Day(time.Now()))
	if err != nil || spent.Tokens == 0 {
		t.Errorf("the call that was cut short is not counted: %+v, %v", spent, err)
	}
	if stopped := r.stopTask(); stopped.Usage.TotalTokens == 0 {
		t.Errorf("the task does not tell of the calls that were cut short: %+v", stopped.Usage)
	}
}

// A rule of the hub that names more money binds a task that need not ask. Before, anybody
// who could answer gave as much as was asked for.
func TestARuleSaysHowManyAgreeToMoreMoney(t *testing.T) {
	h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) {
		d.Rules = judge.Rules{{Tools: []string{"budget.extend"}, Need: judge.Need{Quorum: 2, Policy: approval.Policy{People: []string{"bob"}}}}}
	}))
	r := h.submit(with(goal("/cost 2", "/tool file_list {}", "/say done"), dollars(1)))
	asked := untilType[*viber.ApprovalRequired](r)
	if first := h.answer(alice, yes(asked.ApprovalID)); first.Missing != 1 {
		t.Errorf("after one yes %d are missing, want one more: %+v", first.Missing, first)
	}
	h.answer(bob, yes(asked.ApprovalID))
	r.completed()
}
