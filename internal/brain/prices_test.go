package brain_test

import (
	"os"
	"path/filepath"
	"testing"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
)

func TestPricesAreFoundByNameWhateverTheRelease(t *testing.T) {
	p, err := brain.LoadPrices("")
	if err != nil {
		t.Fatal(err)
	}
	if p.AsOf == "" {
		t.Error("the table has no date")
	}
	for ref, known := range map[string]bool{
		"anthropic:claude-sonnet-4-5": true, "anthropic:claude-sonnet-4-5-20250929": true, "openai:gpt-4o-2024-08-06": true,
		"openai:gpt-4o-latest": true, "openai:gpt-5-huge": false, "ollama:llama3": false, "openai:": false,
	} {
		price, window, ok := p.Lookup(model.ParseRef(ref))
		if ok != known || known && (price == nil || window == 0) {
			t.Errorf("%s: %v %d %v", ref, price, window, ok)
		}
	}
}

func TestCostIsInMillionthsOfADollar(t *testing.T) {
	p := &brain.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	for _, c := range []struct {
		u    model.Usage
		want int64
	}{
		{model.Usage{}, 0},
		{model.Usage{Prompt: 1000, Completion: 100}, 4500},
		{model.Usage{Prompt: 1000, CacheHit: 900, CacheMiss: 100}, 570},
		{model.Usage{Prompt: 1000, CacheHit: 500, CacheMiss: 500, CacheWrite: 400}, 1950},
		{model.Usage{Prompt: 10, CacheHit: 20, CacheWrite: 30}, 6},
	} {
		if got := p.Cost(c.u); got != c.want {
			t.Errorf("%+v: %d, want %d", c.u, got, c.want)
		}
	}
	m := brain.Model{Price: p}
	if u := m.Cost(model.Usage{Prompt: 1, CostMicros: 77, CostKnown: true}); u.CostMicros != 77 {
		t.Error("the provider knows its cost better", u)
	}
	if u := (&brain.Model{}).Cost(model.Usage{Prompt: 1}); u.CostKnown {
		t.Error("an unknown price is not free", u)
	}
}

func TestOwnPricesReplaceBuiltInOnes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "prices.yaml"), "models:\n  gpt-5: {window: 10, price: {input: 1, output: 2}}\n  \"ollama:llama3\": {window: 8192}\n")
	p, err := brain.LoadPrices(dir)
	if err != nil {
		t.Fatal(err)
	}
	if price, window, _ := p.Lookup(model.ParseRef("openai:gpt-5")); price.Input != 1 || window != 10 {
		t.Error(price, window)
	}
	if price, window, ok := p.Lookup(model.ParseRef("ollama:llama3")); price != nil || window != 8192 || !ok {
		t.Error(price, window)
	}
	if _, _, ok := p.Lookup(model.ParseRef("openai:gpt-4o")); !ok {
		t.Error("the built-in table is gone")
	}
	for _, bad := range []string{"models: 3", "model: {}", "models: {x: {price: {input: -1}}}", "models: {x: {window: -1}}"} {
		write(t, filepath.Join(dir, "prices.yaml"), bad)
		if _, err := brain.LoadPrices(dir); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
