package talk

import (
	"encoding/json"

	"parley.internal/internal/brain"
	wire "parley.internal/protocol/agentfirst"
)

func (r *request) listProviders() (*wire.ServerMessage, error) {
	return r.providerList(r.c.face.d.Models.Providers()...)
}

// kind is a provider's kind as the client knows it: the original protocol has none for
// a model that is built in.
func (r *request) kind(k brain.ProviderKind) brain.ProviderKind {
	if k == brain.KindOffline && !r.c.extended.Load() {
		return brain.KindOpenAI
	}
	return k
}

// providerList shows providers; their configuration encodes itself without keys.
func (r *request) providerList(list ...brain.ProviderInfo) (*wire.ServerMessage, error) {
	out := &wire.ProviderList{}
	for _, p := range list {
		p.Config.Kind = r.kind(p.Kind)
		config, err := json.Marshal(p.Config)
		if err != nil {
			return nil, err
		}
		out.Providers = append(out.Providers, &wire.ProviderInfo{Name: p.Name, Active: p.Active, Config: string(config), Enabled: p.Enabled})
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_ProviderList{ProviderList: out}}, nil
}

func (r *request) setProvider() (*wire.ServerMessage, error) {
	in := r.msg.GetSetProvider()
	p, err := r.c.face.d.Models.Set(r.c.ctx, in.GetName(), []byte(in.GetConfig()))
	if err != nil {
		return nil, err
	}
	return r.providerList(p)
}

func (r *request) deleteProvider() (*wire.ServerMessage, error) {
	return pong(r.c.face.d.Models.Delete(r.c.ctx, r.msg.GetDeleteProvider().GetName()))
}

// setActiveModel refuses what cannot be a default as a bad request: the model is
// the request's argument, not its target.
func (r *request) setActiveModel() (*wire.ServerMessage, error) {
	model := r.msg.GetSetActiveModel().GetModel()
	if model == "" {
		return nil, bad("no model; write provider:name")
	}
	if _, err := r.c.face.d.Models.Resolve(model); err != nil {
		return nil, bad("%s", err)
	}
	return pong(r.c.face.d.Models.SetActive(r.c.ctx, model))
}

func (r *request) listPresets() (*wire.ServerMessage, error) {
	out := &wire.ProviderPresetList{}
	for _, p := range brain.Presets() {
		out.Presets = append(out.Presets, &wire.ProviderPreset{
			Name: p.Name, Kind: wire.ProviderKind(r.kind(p.Kind)), BaseUrl: p.BaseURL, FixedBaseUrl: p.FixedBaseURL, DefaultModel: p.DefaultModel,
		})
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_ProviderPresetList{ProviderPresetList: out}}, nil
}

func (r *request) listModels() (*wire.ServerMessage, error) {
	out := &wire.ModelList{}
	for _, m := range r.c.face.d.Models.Models() {
		out.Models = append(out.Models, &wire.ModelInfo{
			Name: m.Name, Provider: m.Provider, Active: m.Active, Enabled: m.Enabled, Kind: wire.ProviderKind(r.kind(m.Kind)),
		})
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_ModelList{ModelList: out}}, nil
}
