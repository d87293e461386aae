package brain

import (
	"fmt"
	"slices"
	"strings"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/offline"
)

// refOf reads a model as people and clients of the original protocol write it. What
// begins with a provider's name means that provider; anything else is the bare name of
// a model. One that several providers list is the active provider's, or has to be written in full.
func (c *Catalogue) refOf(text string) (model.Ref, error) {
	r := model.ParseRef(text)
	if c.has(r.Provider) {
		return r, nil
	}
	var found []ModelInfo
	for _, m := range c.Models() {
		if m.Name == text && m.Enabled {
			found = append(found, m)
		}
	}
	active := model.ParseRef(c.Active()).Provider
	switch i := slices.IndexFunc(found, func(m ModelInfo) bool { return m.Provider == active }); {
	case len(found) == 1:
		return model.Ref{Provider: found[0].Provider, Model: text}, nil
	case i >= 0:
		return model.Ref{Provider: active, Model: text}, nil
	case len(found) > 1:
		return r, fmt.Errorf("%w: several providers have %q; write one of %s", ErrNoProvider, text, fullNames(found))
	case r.Model == "" && !isPreset(text):
		if only, ok := c.onlyProvider(); ok {
			return model.Ref{Provider: only, Model: text}, nil
		}
	}
	return r, nil
}

func fullNames(list []ModelInfo) string {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Provider + ":" + m.Name
	}
	return strings.Join(names, ", ")
}

// isPreset tells the name of a well-known provider, which somebody forgot to set up,
// from that of a model.
func isPreset(name string) bool {
	return slices.ContainsFunc(Presets(), func(p Preset) bool { return p.Name == name })
}

func (c *Catalogue) has(name string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.providers[name] != nil
}

// onlyProvider is the provider that is meant when none is named: the only one that was
// set up.
func (c *Catalogue) onlyProvider() (name string, ok bool) {
	for _, p := range c.Providers() {
		if p.Name == offline.Name || !p.Enabled {
			continue
		}
		if ok {
			return "", false
		}
		name, ok = p.Name, true
	}
	return name, ok
}
