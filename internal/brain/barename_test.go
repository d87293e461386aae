package brain_test

import (
	"errors"
	"strings"
	"testing"

	"parley.internal/internal/brain"
)

func TestBareModelNamesMeanTheProviderThatListsThem(t *testing.T) {
	c := catalogue(t, t.TempDir(), nil)
	set := func(name, config string) brain.ProviderInfo {
		t.Helper()
		p, err := c.Set(t.Context(), name, []byte(config))
		if err != nil {
			t.Fatalf("setting %s to %s: %v", name, config, err)
		}
		return p
	}
	resolved := func(ref, want string) {
		t.Helper()
		if m, err := c.Resolve(ref); err != nil || m.Ref.String() != want {
			t.Errorf("%q is %s (%v), want %s", ref, m.Ref, err, want)
		}
	}
	set("box", `{"base_url":"http://127.0.0.1:9/v1","models":["llama3:8b","shared"]}`)
	resolved("llama3:8b", "box:llama3:8b")
	resolved("unlisted", "box:unlisted") // there is only one provider it can be of
	set("rented", `{"base_url":"http://127.0.0.1:8/v1","models":["shared","own"]}`)
	resolved("own", "rented:own")
	if _, err := c.Resolve("unlisted"); !errors.Is(err, brain.ErrNoProvider) {
		t.Errorf("a model of nobody's: %v", err)
	}
	if _, err := c.Resolve("shared"); !errors.Is(err, brain.ErrNoProvider) || !strings.Contains(err.Error(), "box:shared, rented:shared") {
		t.Errorf("a model of two providers: %v", err)
	}
	if err := c.SetActive(t.Context(), "own"); err != nil || c.Active() != "rented:own" {
		t.Errorf("the active model is %q, %v", c.Active(), err)
	}
	resolved("shared", "rented:shared") // the active provider's
	if _, err := c.Resolve("openai"); !errors.Is(err, brain.ErrNoProvider) || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("a provider that is not set up: %v", err)
	}
}

func TestAProviderWithoutAKindIsGuessed(t *testing.T) {
	c := catalogue(t, t.TempDir(), nil)
	for _, p := range []struct {
		name, config string
		want         brain.ProviderKind
	}{
		{"mine", `{"api_key":"k"}`, brain.KindOpenAI},
		{"anthropic", `{"api_key":"k"}`, brain.KindAnthropic},
		{"work", `{"api_key":"k","base_url":"https://api.anthropic.com/"}`, brain.KindAnthropic},
		{"den", `{"base_url":"http://127.0.0.1:11434/v1"}`, brain.KindOllama},
		{"said", `{"kind":"anthropic","base_url":"http://127.0.0.1:11434/v1"}`, brain.KindAnthropic},
	} {
		if info, err := c.Set(t.Context(), p.name, []byte(p.config)); err != nil || info.Kind != p.want {
			t.Errorf("%s %s is %s (%v), want %s", p.name, p.config, info.Kind, err, p.want)
		}
	}
}
