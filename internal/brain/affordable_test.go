package brain_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
)

// A budget in dollars counted nothing as long as nobody knew what the model cost: a
// run went on for as long as it liked.
func TestAMoneyBudgetWithoutAPriceIsRefusedAtOnce(t *testing.T) {
	for name, b := range map[string]brain.Budget{"run": {RunMicros: 1}, "day": {DayMicros: 1}, "month": {MonthMicros: 1}} {
		p := &fake{acts: []act{says("never")}}
		s := spec(p)
		s.Model.Ref = model.ParseRef("openai:secret-sauce")
		s.Meter = brain.NewMeter("parley", b, brain.NewMemoryLedger()).Child("helper", brain.Budget{RunTokens: 1000})
		out := brain.Run(t.Context(), s, &log{})
		if out.Stop != brain.StopBudget || !errors.Is(out.Err, brain.ErrNoPrice) || p.calls() != 0 {
			t.Errorf("%s: a run whose caller has a budget nobody can count ended as %v (%v) after %d calls", name, out.Stop, out.Err, p.calls())
		}
		for _, word := range []string{"parley", `models: {"openai:secret-sauce": {price:`, "prices.yaml"} {
			if out.Err != nil && !strings.Contains(out.Err.Error(), word) {
				t.Errorf("%s: the refusal does not say %q: %v", name, word, out.Err)
			}
		}
	}
}

func TestAnAgentWithAMoneyBudgetIsSavedOnlyWithAPricedModel(t *testing.T) {
	l, _ := open(t)
	c, err := brain.OpenCatalogue(brain.CatalogueOptions{Dir: t.TempDir(), Getenv: func(name string) string {
		return map[string]string{"PARLEY_MODEL": "openai:secret-sauce", "OPENAI_API_KEY": "k"}[name]
	}, Factories: brain.Factories{brain.KindOpenAI: func(brain.ProviderConfig) (model.Provider, error) { return &fake{}, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	l.Require(c.Payable)
	_, err = l.Create(t.Context(), identity.Hub(), "thrifty", []byte(`{"budget":{"day_usd":1}}`))
	if !errors.Is(err, brain.ErrAgentConfig) || !errors.Is(err, brain.ErrNoPrice) {
		t.Errorf("an agent whose budget cannot be held was saved: %v", err)
	}
	for _, good := range []string{`{"budget":{"day_usd":1},"model":"openai:gpt-5"}`, `{"budget":{"day_tokens":1}}`, `{"budget":{"day_usd":1},"model":"elsewhere:x"}`} {
		if _, err := l.Create(t.Context(), identity.Hub(), "thrifty", []byte(good)); err != nil {
			t.Errorf("%s: %v; want no error", good, err)
		}
		if err := l.Delete(t.Context(), identity.Hub(), "thrifty"); err != nil {
			t.Error(err)
		}
	}
}

// A provider bills what it read and wrote, whether or not somebody heard it out.
func TestCallsThatWereCutShortCount(t *testing.T) {
	text := strings.Repeat("forty bytes of a long question, or more ", 10) // 400 bytes: 100 tokens
	cut := func(t *testing.T, a act, cancelWhen brain.EventKind) (brain.Outcome, brain.Spend) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		s := spec(&fake{acts: []act{a}})
		s.Request.Messages = []model.Message{{Role: model.User, Text: text}}
		s.Request.System = ""
		s.Model.Price = &brain.Price{Input: 1, Output: 10}
		s.Meter = brain.NewMeter("parley", brain.Budget{}, brain.NewMemoryLedger())
		s.Calls = brain.CallPolicy{Attempts: 1}
		out := brain.Run(ctx, s, brain.SinkFunc(func(e brain.Event) {
			if e.Kind == cancelWhen {
				cancel(brain.ErrCancelled)
			}
		}))
		return out, s.Meter.Spent()
	}
	out, spent := cut(t, stalls("eight by"), brain.Chunk)
	if spent != (brain.Spend{Tokens: 102, Micros: 120}) || out.Usage.Prompt != 100 || out.Usage.Completion != 2 || !out.Estimated {
		t.Errorf("cancelled in the middle of a word: spent %+v, told %+v", spent, out.Usage)
	}
	broken := func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		yield(model.Event{Kind: model.Text, Text: "half"}, nil)
		yield(model.Event{}, &model.Error{Cause: model.CauseConnect})
	}
	if _, spent := cut(t, broken, 0); spent.Tokens != 101 {
		t.Errorf("broken off after the first word: spent %+v", spent)
	}
	if _, spent := cut(t, fails(&model.Error{Cause: model.CauseTimeout, Final: true}), 0); spent.Tokens != 100 {
		t.Errorf("timed out before the first word: spent %+v", spent)
	}
	if out, spent := cut(t, fails(&model.Error{Cause: model.CauseStatus, Status: 401}), 0); spent != (brain.Spend{}) || out.Estimated {
		t.Errorf("a call the provider refused cost %+v", spent)
	}
}
