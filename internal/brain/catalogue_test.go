package brain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/mask"
)

// named is a provider that only knows how it was made.
type named struct{ config brain.ProviderConfig }

func (n named) Name() string { return n.config.Name }

func (named) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(func(model.Event, error) bool) {}
}

// madeOf is what a factory made, under what the catalogue put around it.
func madeOf(m brain.Model) named {
	return m.Provider.(interface{ Unwrap() model.Provider }).Unwrap().(named)
}

func makeNamed(c brain.ProviderConfig) (model.Provider, error) {
	if c.BaseURL == "bad" {
		return nil, errors.New("no URL")
	}
	return named{c}, nil
}

func catalogue(t testing.TB, dir string, env map[string]string) *brain.Catalogue {
	t.Helper()
	c, err := brain.OpenCatalogue(brain.CatalogueOptions{
		Dir: dir, Getenv: func(k string) string { return env[k] },
		Factories: brain.Factories{brain.KindOpenAI: makeNamed, brain.KindAnthropic: makeNamed},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWithoutAnythingTheModelIsOffline(t *testing.T) {
	c := catalogue(t, t.TempDir(), nil)
	m, err := c.Resolve("")
	if err != nil || m.Provider.Name() != "offline" || m.Name != "offline" || c.Active() != "offline" {
		t.Errorf("%+v %v; want no error, m.Provider.Name() to be \"offline\", m.Name to be \"offline\", c.Active() to be \"offline\"", m, err)
	}
	if u := m.Cost(model.Usage{Prompt: 5}); !u.CostKnown || u.CostMicros != 0 {
		t.Errorf("%+v; want u.CostKnown, u.CostMicros to be 0", u)
	}
	if _, err := c.Resolve("anthropic:claude"); !errors.Is(err, brain.ErrNoProvider) || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Error(err)
	}
	if _, err := c.Resolve("nosuch"); !errors.Is(err, brain.ErrNoProvider) {
		t.Error(err)
	}
}

func TestTheEnvironmentSetsProvidersUp(t *testing.T) {
	c := catalogue(t, t.TempDir(), map[string]string{
		"PARLEY_MODEL": "anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY": "k1", "OPENAI_BASE_URL": "http://127.0.0.1:1234/v1",
	})
	m, err := c.Resolve("")
	if err != nil || m.Name != "claude-haiku-4-5" || m.Kind != brain.KindAnthropic || m.Window != 200_000 || m.Price == nil {
		t.Errorf("%+v %v; want no error, m.Name to be \"claude-haiku-4-5\", m.Kind to be %v, m.Window to be 200_000, m.Price not to be nil", m, err, brain.KindAnthropic)
	}
	if got := madeOf(m).config; got.APIKey != "k1" || got.BaseURL != "https://api.anthropic.com" {
		t.Errorf("%+v; want got.APIKey to be \"k1\", got.BaseURL to be \"https://api.anthropic.com\"", got)
	}
	if m, err := c.Resolve("anthropic"); err != nil || m.Name == "" {
		t.Errorf("a provider alone means its usual model: %+v %v", m, err)
	}
	if m, err := c.Resolve("openai:local-model:7b"); err != nil || m.Name != "local-model:7b" || madeOf(m).config.BaseURL != "http://127.0.0.1:1234/v1" {
		t.Errorf("%+v %v; want no error, m.Name to be \"local-model:7b\", madeOf(m).config.BaseURL to be \"http://127.0.0.1:1234/v1\"", m, err)
	}
	if _, err := c.Resolve("openai"); !errors.Is(err, brain.ErrNoProvider) {
		t.Errorf("another server's usual model is unknown: %v", err)
	}
	for _, name := range []string{"anthropic", "openai", "offline"} {
		if err := c.Delete(t.Context(), name); !errors.Is(err, brain.ErrProviderKept) {
			t.Errorf("%s: %v; want brain.ErrProviderKept", name, err)
		}
		if _, err := c.Set(t.Context(), name, []byte(`{"kind":"openai"}`)); !errors.Is(err, brain.ErrBadProvider) {
			t.Errorf("%s: %v; want brain.ErrBadProvider", name, err)
		}
	}
}

func TestProvidersAreKeptInAPrivateFile(t *testing.T) {
	dir := t.TempDir()
	c := catalogue(t, dir, nil)
	ctx := t.Context()
	info, err := c.Set(ctx, "home", []byte(`{"kind":"ollama","base_url":"http://10.0.0.5:11434/v1","api_key":"hush","model":"llama3","models":["qwen"]}`))
	if err != nil || !info.Enabled || info.Fixed {
		t.Fatalf("%+v %v; want no error, info.Enabled, not info.Fixed", info, err)
	}
	shown, err := json.Marshal(info.Config)
	if err != nil || strings.Contains(string(shown), "hush") || !strings.Contains(string(shown), `"has_key":true`) {
		t.Errorf("%s %v; want no error, not \"hush\" in it, \"\"has_key\":true\" in it", shown, err)
	}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(form, info); strings.Contains(s, "hush") {
			t.Errorf("%s shows the key: %s", form, s)
		}
	}
	stat, err := os.Stat(filepath.Join(dir, "providers.yaml"))
	if err != nil || stat.Mode().Perm() != 0o600 {
		t.Error(stat.Mode(), err)
	}
	if err := c.SetActive(ctx, "home"); err != nil {
		t.Fatal(err)
	}
	again := catalogue(t, dir, nil)
	m, err := again.Resolve("")
	if err != nil || m.Ref.String() != "home:llama3" || madeOf(m).config.APIKey != "hush" || m.Kind != brain.KindOllama {
		t.Errorf("after a restart: %+v %v", m, err)
	}
	want := []brain.ModelInfo{
		{Name: "llama3", Provider: "home", Kind: brain.KindOllama, Active: true, Enabled: true},
		{Name: "qwen", Provider: "home", Kind: brain.KindOllama, Enabled: true},
		{Name: "offline", Provider: "offline", Enabled: true},
	}
	if diff := cmp.Diff(want, again.Models()); diff != "" {
		t.Error(diff)
	}
	if env := catalogue(t, dir, map[string]string{"PARLEY_MODEL": "offline"}); env.Active() != "offline" {
		t.Error("the environment wins over the file")
	}
	if err := again.Delete(ctx, "home"); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Resolve(""); !errors.Is(err, brain.ErrNoProvider) {
		t.Error(err)
	}
	if err := again.Delete(ctx, "home"); !errors.Is(err, brain.ErrNoProvider) {
		t.Error(err)
	}
}

// What a page shows and sends back has no key in it; saving it must not lose the
// key, and must never send it to another address.
func TestAKeyStaysOnlyWhereItWas(t *testing.T) {
	c := catalogue(t, t.TempDir(), nil)
	set := func(config string) brain.ProviderConfig {
		t.Helper()
		info, err := c.Set(t.Context(), "home", []byte(config))
		if err != nil {
			t.Fatal(err)
		}
		return info.Config
	}
	first := set(`{"kind":"anthropic","api_key":"hush"}`)
	shown, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	if got := set(string(shown)); got.APIKey != "hush" {
		t.Error("the key is lost")
	}
	if got := set(`{"kind":"anthropic","base_url":"https://evil.example"}`); got.APIKey != "" {
		t.Error("the key went elsewhere")
	}
}

func TestABadProviderIsRefusedAndChangesNothing(t *testing.T) {
	c := catalogue(t, t.TempDir(), nil)
	for name, config := range map[string]string{
		"a": `{"kind":"magic"}`, "b": `{"kind":"openai","base_url":"bad"}`, "c": `{"kind":"bedrock"}`, "d": `{`, "e": `{"kind":"openai","colour":"red"}`,
		"f": `{"kind":"offline"}`, "Bad Name": `{"kind":"openai"}`, "g": `{}`, "h": `{"kind":"openai"} x`,
	} {
		if _, err := c.Set(t.Context(), name, []byte(config)); !errors.Is(err, brain.ErrBadProvider) {
			t.Errorf("%s %s: %v; want brain.ErrBadProvider", name, config, err)
		}
	}
	if len(c.Providers()) != 1 {
		t.Errorf("c.Providers() is %v; want len(c.Providers()) to be 1", c.Providers())
	}
	if err := c.SetActive(t.Context(), "nosuch:x"); !errors.Is(err, brain.ErrNoProvider) || c.Active() != "offline" {
		t.Error(err, c.Active())
	}
}

func TestAProviderThatIsOffIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	c := catalogue(t, dir, nil)
	if _, err := c.Set(t.Context(), "ollama", []byte(`{"model":"llama3"}`)); err != nil {
		t.Fatal(err)
	}
	if err := c.SetEnabled(t.Context(), "ollama", false); err != nil {
		t.Fatal(err)
	}
	if _, err := catalogue(t, dir, nil).Resolve("ollama"); !errors.Is(err, brain.ErrProviderOff) {
		t.Error(err)
	}
	if err := c.SetEnabled(t.Context(), "ollama", true); err != nil {
		t.Fatal(err)
	}
	if m, err := c.Resolve("ollama"); err != nil || m.Name != "llama3" {
		t.Error(err)
	}
	if err := c.SetEnabled(t.Context(), "nosuch", true); !errors.Is(err, brain.ErrNoProvider) {
		t.Error(err)
	}
}

func TestABrokenProvidersFileIsNamed(t *testing.T) {
	for _, text := range []string{"providers: 3", "colour: red", "providers: {x: {kind: magic}}"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "providers.yaml"), text)
		_, err := brain.OpenCatalogue(brain.CatalogueOptions{Dir: dir, Getenv: func(string) string { return "" }})
		if err == nil || !strings.Contains(err.Error(), "providers.yaml") {
			t.Errorf("%q: %v; want an error, \"providers.yaml\" in it", text, err)
		}
	}
}

func TestPresetsNameTheirKinds(t *testing.T) {
	for _, p := range brain.Presets() {
		if k, ok := brain.ParseKind(p.Kind.String()); !ok || k != p.Kind || p.Name == "" {
			t.Errorf("%+v; want ok, k to be %v, p.Name not to be \"\"", p, p.Kind)
		}
	}
}

// refusing is a server that repeats the key it was given.
type refusing struct {
	named
	err error
}

func (r refusing) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { yield(model.Event{}, r.err) }
}

// A provider's error goes into logs, records and answers. One that repeats the key is
// shown without it.
func TestAProvidersErrorIsShownWithoutTheKey(t *testing.T) {
	const key = "sk-0123456789abcdef"
	cause := errors.New("dial with " + key)
	for name, err := range map[string]error{
		"a text":        &model.Error{Provider: "home", Cause: model.CauseStatus, Status: 401, Text: "no such key " + key},
		"a cause":       &model.Error{Provider: "home", Cause: model.CauseConnect, Err: cause},
		"another error": cause,
	} {
		c, openErr := brain.OpenCatalogue(brain.CatalogueOptions{
			Dir: t.TempDir(), Getenv: func(k string) string { return map[string]string{"OPENAI_API_KEY": key, "PARLEY_MODEL": "openai:x"}[k] },
			Mask:      mask.New(func() []string { return []string{key} }),
			Factories: brain.Factories{brain.KindOpenAI: func(c brain.ProviderConfig) (model.Provider, error) { return refusing{named{c}, err}, nil }},
		})
		if openErr != nil {
			t.Fatal(openErr)
		}
		m, openErr := c.Resolve("")
		if openErr != nil {
			t.Fatal(openErr)
		}
		for _, got := range m.Provider.Stream(t.Context(), model.Request{}) {
			if got == nil || strings.Contains(got.Error(), key) || !strings.Contains(got.Error(), "[masked]") || errors.Is(err, cause) != errors.Is(got, cause) {
				t.Errorf("%s: %v; expected the same error without the key", name, got)
			}
		}
	}
}
