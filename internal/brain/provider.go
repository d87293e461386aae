package brain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"parley.internal/internal/brain/model"
)

// ProviderConfig is how to reach a provider. It holds a secret: its printed form
// and its JSON do not.
type ProviderConfig struct {
	Name    string
	Kind    ProviderKind
	BaseURL string
	APIKey  string
	// Model is what "provider" alone means; Models are others it is known to have.
	Model  string
	Models []string
	// SystemFirst folds injected texts into the first system message; SendReasoning
	// gives earlier reasoning back.
	SystemFirst   bool
	SendReasoning bool
	Disabled      bool
}

// Factory makes a provider of one kind. The hub passes them in, so that this
// package needs none of them.
type Factory func(ProviderConfig) (model.Provider, error)

// Factories are the kinds of servers a hub can speak to. The kinds that speak
// OpenAI's protocol fall back on that one.
type Factories map[ProviderKind]Factory

func (f Factories) find(k ProviderKind) (Factory, bool) {
	if made, ok := f[k]; ok {
		return made, true
	}
	switch k {
	case KindGoogle, KindOllama, KindLlamaCPP, KindAzure:
		made, ok := f[KindOpenAI]
		return made, ok
	}
	return nil, false
}

// storedProvider is the form in providers.yaml and in JSON.
type storedProvider struct {
	Kind          string   `yaml:"kind" json:"kind"`
	BaseURL       string   `yaml:"base_url,omitempty" json:"base_url,omitempty"`
	APIKey        string   `yaml:"api_key,omitempty" json:"api_key,omitempty"`
	Model         string   `yaml:"model,omitempty" json:"model,omitempty"`
	Models        []string `yaml:"models,omitempty" json:"models,omitempty"`
	SystemFirst   bool     `yaml:"system_first,omitempty" json:"system_first,omitempty"`
	SendReasoning bool     `yaml:"send_reasoning,omitempty" json:"send_reasoning,omitempty"`
	Disabled      bool     `yaml:"disabled,omitempty" json:"disabled,omitempty"`
	// HasKey is only ever shown; a client that sends back what it was shown is fine.
	HasKey bool `yaml:"-" json:"has_key,omitempty"`
}

func (p ProviderConfig) stored() storedProvider {
	return storedProvider{
		Kind: p.Kind.String(), BaseURL: p.BaseURL, APIKey: p.APIKey, Model: p.Model, Models: p.Models,
		SystemFirst: p.SystemFirst, SendReasoning: p.SendReasoning, Disabled: p.Disabled,
	}
}

func (s storedProvider) config(name string) (ProviderConfig, error) {
	kind, ok := ParseKind(s.Kind)
	if !ok || kind == KindOffline {
		return ProviderConfig{}, fmt.Errorf("%w: kind %q; want one of openai, anthropic, google, ollama, llama_cpp", ErrBadProvider, s.Kind)
	}
	return ProviderConfig{
		Name: name, Kind: kind, BaseURL: s.BaseURL, APIKey: s.APIKey, Model: s.Model, Models: s.Models,
		SystemFirst: s.SystemFirst, SendReasoning: s.SendReasoning, Disabled: s.Disabled,
	}, nil
}

// MarshalJSON shows everything but the key.
func (p ProviderConfig) MarshalJSON() ([]byte, error) {
	s := p.stored()
	s.HasKey, s.APIKey = p.APIKey != "", ""
	return json.Marshal(s)
}

// LogValue keeps the key out of logs.
func (p ProviderConfig) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", p.Name), slog.String("kind", p.Kind.String()), slog.Bool("key", p.APIKey != ""))
}

// String keeps the key out of printed values.
func (p ProviderConfig) String() string { return p.Name + " (" + p.Kind.String() + ")" }

// GoString does the same for %#v.
func (p ProviderConfig) GoString() string { return p.String() }

// readProvider reads the JSON a provider is set with.
func readProvider(name string, config []byte) (ProviderConfig, error) {
	dec := json.NewDecoder(bytes.NewReader(config))
	dec.DisallowUnknownFields()
	var s storedProvider
	if err := dec.Decode(&s); err != nil {
		return ProviderConfig{}, fmt.Errorf("%w: %w", ErrBadProvider, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return ProviderConfig{}, fmt.Errorf("%w: something follows the JSON object", ErrBadProvider)
	}
	if s.Kind == "" {
		s.Kind = guessKind(name, s)
	}
	return s.config(name)
}

// Preset is a well-known provider to start from.
type Preset struct {
	Name string
	Kind ProviderKind
	// BaseURL is a suggestion; FixedBaseURL is not to be changed.
	BaseURL      string
	FixedBaseURL string
	DefaultModel string
}

// Presets lists the providers people are likely to set up.
func Presets() []Preset {
	return []Preset{
		{Name: "anthropic", Kind: KindAnthropic, FixedBaseURL: "https://api.anthropic.com", DefaultModel: "claude-sonnet-4-5"},
		{Name: "openai", Kind: KindOpenAI, FixedBaseURL: "https://api.openai.com/v1", DefaultModel: "gpt-5"},
		{Name: "google", Kind: KindGoogle, FixedBaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", DefaultModel: "gemini-2.5-flash"},
		{Name: "ollama", Kind: KindOllama, BaseURL: "http://127.0.0.1:11434/v1"},
		{Name: "llama_cpp", Kind: KindLlamaCPP, BaseURL: "http://127.0.0.1:8080/v1"},
		{Name: "offline", Kind: KindOffline, DefaultModel: "offline"},
	}
}

// guessKind is the kind of a provider that was set without one: that of the preset of
// its name or of its address, else OpenAI's protocol, which most servers speak. What says
// neither where it is nor who may use it is no provider.
func guessKind(name string, s storedProvider) string {
	for _, p := range Presets() {
		if p.Name == name {
			return p.Kind.String()
		}
	}
	for _, p := range Presets() {
		if sameHost(p.FixedBaseURL+p.BaseURL, s.BaseURL) {
			return p.Kind.String()
		}
	}
	if s.BaseURL == "" && s.APIKey == "" {
		return ""
	}
	return KindOpenAI.String()
}

func sameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Host != "" && strings.EqualFold(x.Host, y.Host)
}

// withPreset fills in what the preset of the same kind knows.
func (p ProviderConfig) withPreset() ProviderConfig {
	for _, preset := range Presets() {
		if preset.Kind != p.Kind {
			continue
		}
		if p.BaseURL == "" {
			p.BaseURL = preset.FixedBaseURL + preset.BaseURL // one of them is empty
		}
		if p.Model == "" && p.Name == preset.Name && p.BaseURL == preset.FixedBaseURL {
			p.Model = preset.DefaultModel
		}
	}
	return p
}
