package brain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/offline"
	"parley.internal/internal/durable"
	"parley.internal/internal/mask"
)

// CatalogueOptions is what a catalogue is made from.
type CatalogueOptions struct {
	// Dir is the data folder: providers.yaml and prices.yaml are in it.
	Dir string
	// Getenv reads the environment (os.Getenv).
	Getenv func(string) string
	// Factories make providers; offline is built in.
	Factories Factories
	// Mask is what nobody gets to see of providers' errors.
	Mask *mask.Mask
}

// Catalogue is the models a hub can use: the built-in one, those the environment
// names and those in providers.yaml. It may be used from several goroutines.
type Catalogue struct {
	path      string
	factories Factories
	mask      *mask.Mask
	prices    *Prices

	mu        sync.RWMutex
	active    string
	providers map[string]*provider
}

type provider struct {
	config ProviderConfig
	// fixed ones (offline, and those of the environment) cannot be changed here.
	fixed bool
	made  model.Provider
}

type providersFile struct {
	Active    string                    `yaml:"active,omitempty"`
	Providers map[string]storedProvider `yaml:"providers,omitempty"`
}

// OpenCatalogue reads the environment and the data folder. The active model is
// PARLEY_MODEL, else the one set last, else offline.
func OpenCatalogue(o CatalogueOptions) (*Catalogue, error) {
	prices, err := LoadPrices(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{
		path: filepath.Join(o.Dir, "providers.yaml"), factories: o.Factories, mask: o.Mask, prices: prices,
		providers: map[string]*provider{},
	}
	file, err := c.readFile()
	if err != nil {
		return nil, err
	}
	for name, s := range file.Providers {
		config, err := s.config(name)
		if err != nil {
			return nil, fmt.Errorf("providers.yaml: %s: %w", name, err)
		}
		c.providers[name] = &provider{config: config}
	}
	c.addFixed(o.Getenv)
	c.active = cmp.Or(o.Getenv("PARLEY_MODEL"), file.Active, offline.Name)
	return c, nil
}

func (c *Catalogue) readFile() (providersFile, error) {
	var file providersFile
	raw, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, err
	}
	dec := yaml.NewDecoder(strings.NewReader(string(raw)))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		return file, fmt.Errorf("providers.yaml: %w", err)
	}
	return file, nil
}

// addFixed adds what needs no setting up. The environment wins over the file, as
// everywhere in the configuration.
func (c *Catalogue) addFixed(getenv func(string) string) {
	c.providers[offline.Name] = &provider{
		config: ProviderConfig{Name: offline.Name, Kind: KindOffline, Model: offline.Name}, fixed: true, made: offline.New(),
	}
	if key := getenv("ANTHROPIC_API_KEY"); key != "" {
		c.providers["anthropic"] = &provider{fixed: true, config: ProviderConfig{
			Name: "anthropic", Kind: KindAnthropic, APIKey: key, BaseURL: getenv("ANTHROPIC_BASE_URL"),
		}}
	}
	key, base := getenv("OPENAI_API_KEY"), getenv("OPENAI_BASE_URL")
	if key != "" || base != "" {
		c.providers["openai"] = &provider{fixed: true, config: ProviderConfig{
			Name: "openai", Kind: KindOpenAI, APIKey: key, BaseURL: base,
		}}
	}
}

// Active is the model agents use whose file names none, as "provider:name".
func (c *Catalogue) Active() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.active
}

// Resolve finds a model: "provider:name", "provider" for its usual model, a bare
// model name as Models lists it, or "" for the active one.
func (c *Catalogue) Resolve(ref string) (Model, error) {
	if ref == "" {
		ref = c.Active()
	}
	r, err := c.refOf(ref)
	if err != nil {
		return Model{}, err
	}
	p, config, err := c.provider(r.Provider)
	if err != nil {
		return Model{}, err
	}
	r.Model = cmp.Or(r.Model, config.Model)
	if r.Model == "" {
		return Model{}, fmt.Errorf("%w: %q names no model; write %s:NAME", ErrNoProvider, ref, r.Provider)
	}
	m := Model{Provider: p, Ref: r, Name: r.Model, Kind: config.Kind}
	m.Price, m.Window, _ = c.prices.Lookup(r)
	return m, nil
}

// provider gives a working provider, made when first used.
func (c *Catalogue) provider(name string) (model.Provider, ProviderConfig, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.providers[name]
	if p == nil {
		return nil, ProviderConfig{}, fmt.Errorf("%w: %q%s", ErrNoProvider, name, hint(name))
	}
	if p.config.Disabled {
		return nil, ProviderConfig{}, fmt.Errorf("%w: %q", ErrProviderOff, name)
	}
	config := p.config.withPreset()
	if p.made == nil {
		made, err := c.make(config)
		if err != nil {
			return nil, config, err
		}
		p.made = made
	}
	return p.made, config, nil
}

func (c *Catalogue) make(config ProviderConfig) (model.Provider, error) {
	factory, ok := c.factories.find(config.Kind)
	if !ok {
		return nil, fmt.Errorf("%w: this hub cannot speak to %s", ErrBadProvider, config.Kind)
	}
	made, err := factory(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBadProvider, config.Name, err)
	}
	if _, here := made.(model.InProcess); here {
		return made, nil // it has nothing that anybody gave it
	}
	return maskedErrors{made, c.mask}, nil
}

func hint(name string) string {
	switch name {
	case "anthropic":
		return "; set ANTHROPIC_API_KEY or add the provider"
	case "openai":
		return "; set OPENAI_API_KEY or OPENAI_BASE_URL, or add the provider"
	}
	return "; models are written provider:name"
}

// SetActive makes a model the default and remembers it.
func (c *Catalogue) SetActive(_ context.Context, ref string) error {
	m, err := c.Resolve(ref)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commit(m.Ref.String(), c.providers)
}

// Set adds or replaces a provider. A key that is not given stays, as long as it
// would go to the same place.
func (c *Catalogue) Set(_ context.Context, name string, config []byte) (ProviderInfo, error) {
	if !ValidAgentName(name) {
		return ProviderInfo{}, fmt.Errorf("%w: name %q", ErrBadProvider, name)
	}
	p, err := readProvider(name, config)
	if err != nil {
		return ProviderInfo{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.providers[name]; old != nil {
		if old.fixed {
			return ProviderInfo{}, fmt.Errorf("%w: %q is built in or comes from the environment", ErrBadProvider, name)
		}
		if p.APIKey == "" && p.Kind == old.config.Kind && p.withPreset().BaseURL == old.config.withPreset().BaseURL {
			p.APIKey = old.config.APIKey
		}
	}
	made, err := c.make(p.withPreset())
	if err != nil {
		return ProviderInfo{}, err
	}
	next := maps.Clone(c.providers)
	next[name] = &provider{config: p, made: made}
	if err := c.commit(c.active, next); err != nil {
		return ProviderInfo{}, err
	}
	return c.info(name), nil
}

// Delete removes a provider that was added here.
func (c *Catalogue) Delete(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.providers[name]
	if p == nil {
		return fmt.Errorf("%w: %q", ErrNoProvider, name)
	}
	if p.fixed {
		return fmt.Errorf("%w: %q is built in or comes from the environment", ErrProviderKept, name)
	}
	next := maps.Clone(c.providers)
	delete(next, name)
	return c.commit(c.active, next)
}

// SetEnabled switches a provider on or off; a fixed one only until the next start.
func (c *Catalogue) SetEnabled(_ context.Context, name string, on bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.providers[name]
	if p == nil {
		return fmt.Errorf("%w: %q", ErrNoProvider, name)
	}
	changed := *p
	changed.config.Disabled = !on
	next := maps.Clone(c.providers)
	next[name] = &changed
	return c.commit(c.active, next)
}

// commit writes the file, then makes it so.
func (c *Catalogue) commit(active string, providers map[string]*provider) error {
	file := providersFile{Active: active, Providers: map[string]storedProvider{}}
	for name, p := range providers {
		if !p.fixed {
			file.Providers[name] = p.config.stored()
		}
	}
	raw, err := yaml.Marshal(file)
	if err != nil {
		return err
	}
	if err := durable.Write(c.path, raw, 0o600); err != nil {
		return fmt.Errorf("writing providers.yaml: %w", err)
	}
	c.active, c.providers = active, providers
	return nil
}

// ProviderInfo is a provider as people see it: without its key.
type ProviderInfo struct {
	Name    string
	Kind    ProviderKind
	Active  bool // the active model is one of its
	Enabled bool
	Fixed   bool // built in, or from the environment
	Config  ProviderConfig
}

// Providers lists all of them by name.
func (c *Catalogue) Providers() []ProviderInfo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []ProviderInfo
	for _, name := range slices.Sorted(maps.Keys(c.providers)) {
		out = append(out, c.info(name))
	}
	return out
}

func (c *Catalogue) info(name string) ProviderInfo {
	p := c.providers[name]
	return ProviderInfo{
		Name: name, Kind: p.config.Kind, Active: model.ParseRef(c.active).Provider == name,
		Enabled: !p.config.Disabled, Fixed: p.fixed, Config: p.config.withPreset(),
	}
}

// ModelInfo is a model the catalogue knows of.
type ModelInfo struct {
	Name     string
	Provider string
	Kind     ProviderKind
	Active   bool
	Enabled  bool
}

// Models lists what providers are known to have, and the active model.
func (c *Catalogue) Models() []ModelInfo {
	active := model.ParseRef(c.Active())
	var out []ModelInfo
	for _, p := range c.Providers() {
		names := append([]string{p.Config.Model}, p.Config.Models...)
		activeName := ""
		if p.Active {
			activeName = cmp.Or(active.Model, p.Config.Model)
			names = append(names, activeName)
		}
		seen := map[string]bool{"": true}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				out = append(out, ModelInfo{Name: name, Provider: p.Name, Kind: p.Kind, Active: name == activeName, Enabled: p.Enabled})
			}
		}
	}
	return out
}

// Secrets is the keys of all providers, for what must not show them.
func (c *Catalogue) Secrets() (keys []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(c.providers)) {
		if key := c.providers[name].config.APIKey; key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}
