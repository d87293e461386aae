package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/resource"
	"parley.internal/internal/face/front"
	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// Minds is what agents are made of.
type Minds struct {
	Agents *brain.Library
	Models *brain.Catalogue
	Shelf  *resource.Shelf
}

// RegisterAgents adds agents, and the models and skills they use.
func RegisterAgents(a *API, m Minds) {
	see, change := access{Tag: "agents"}, access{Scope: identity.AgentsManage, Tag: "agents"}
	add(a, see, rest.ListAgents, m.list)
	add(a, see, rest.GetAgent, m.get)
	addBody(a, change, rest.CreateAgent, m.create)
	add(a, change, rest.UpdateAgent, m.update)
	add(a, change, rest.RemoveAgent, m.remove)
	addRaw(a, change, rest.AgentFile, m.file)
	change.MaxBody = maxAgentFile
	addRaw(a, change, rest.PutAgentFile, m.putFile)
	add(a, see, rest.ListSkills, m.skills)
	add(a, see, rest.ListModels, m.models)
	add(a, see, rest.ListProviders, m.providers)
}

// talker is what a caller may do in conversations; without any talk scope nothing.
func talker(s identity.Actor) (identity.Actor, error) {
	if !facetalk.MayTalk(s) {
		return s, front.Need(s, identity.Talk)
	}
	return s, nil
}

func viewAgent(e brain.Entry, s identity.Actor) rest.Agent {
	out := rest.Agent{}
	if e.Agent != nil {
		if err := json.Unmarshal(e.Agent.Config(), &out); err != nil {
			out = rest.Agent{"error": err.Error()}
		}
	}
	out["name"] = e.Name
	if e.Err != nil {
		out["error"] = e.Err.Error()
	}
	if !s.Scopes.Has(identity.AgentsManage) {
		delete(out, "prompt")
	}
	return out
}

func (m Minds) list(_ context.Context, s identity.Actor, _ *rest.None) (rest.Agents, error) {
	if _, err := talker(s); err != nil {
		return rest.Agents{}, err
	}
	return rest.Agents{Agents: each(m.Agents.List(), func(e brain.Entry) rest.Agent { return viewAgent(e, s) })}, nil
}

func (m Minds) get(_ context.Context, s identity.Actor, in *rest.ByName) (rest.Agent, error) {
	if _, err := talker(s); err != nil {
		return nil, err
	}
	return m.show(in.Name, s)
}

func (m Minds) show(name string, s identity.Actor) (rest.Agent, error) {
	e, err := m.Agents.Entry(name)
	if err != nil {
		return nil, err
	}
	return viewAgent(e, s), nil
}

func (m Minds) create(ctx context.Context, s identity.Actor, in *rest.Agent) (rest.Agent, error) {
	name, ok := (*in)["name"].(string)
	if !ok {
		return nil, front.NewProblem(http.StatusBadRequest, "bad_request", "name: want the agent's name", nil)
	}
	config, err := configOf(*in)
	if err != nil {
		return nil, err
	}
	if _, err := m.Agents.Create(ctx, s, name, config); err != nil {
		return nil, err
	}
	return m.show(name, s)
}

// configOf is a body as the library takes it: without what only shows.
func configOf(body map[string]any) ([]byte, error) {
	delete(body, "name")
	delete(body, "error")
	return json.Marshal(body)
}

func (m Minds) update(ctx context.Context, s identity.Actor, in *rest.AgentChange) (rest.Agent, error) {
	config, err := configOf(in.Body)
	if err != nil {
		return nil, err
	}
	if _, err := m.Agents.Update(ctx, s, in.Name, config); err != nil {
		return nil, err
	}
	return m.show(in.Name, s)
}

func (m Minds) remove(ctx context.Context, s identity.Actor, in *rest.ByName) (rest.None, error) {
	return rest.None{}, m.Agents.Delete(ctx, s, in.Name)
}

func (m Minds) file(w http.ResponseWriter, r *http.Request, _ identity.Actor) error {
	text, err := m.Agents.File(r.PathValue("name"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text)
	return nil
}

// maxAgentFile is a little more than a file may have, so that the library says
// what is wrong with a larger one.
const maxAgentFile = 2 << 20

func (m Minds) putFile(w http.ResponseWriter, r *http.Request, s identity.Actor) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	if _, err := m.Agents.Put(r.Context(), s, name, text); err != nil {
		return err
	}
	answer, err := m.show(name, s)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(answer)
}

func (m Minds) skills(_ context.Context, s identity.Actor, _ *rest.None) (rest.Skills, error) {
	if _, err := talker(s); err != nil {
		return rest.Skills{}, err
	}
	all, err := m.Shelf.Skills()
	if err != nil {
		return rest.Skills{}, err
	}
	out := rest.Skills{Skills: []rest.Skill{}}
	for _, k := range all {
		v := rest.Skill{Name: k.Name, Description: k.Description, Enabled: k.Enabled && k.Err == nil, Source: k.File}
		if k.Err != nil {
			v.Error = k.Err.Error()
		}
		out.Skills = append(out.Skills, v)
	}
	return out, nil
}

func (m Minds) models(_ context.Context, s identity.Actor, _ *rest.None) (rest.Models, error) {
	if _, err := talker(s); err != nil {
		return rest.Models{}, err
	}
	out := rest.Models{Active: m.Models.Active(), Models: []rest.Model{}}
	for _, v := range m.Models.Models() {
		out.Models = append(out.Models, rest.Model{
			Ref: v.Provider + ":" + v.Name, Name: v.Name, Provider: v.Provider, Kind: v.Kind.String(), Active: v.Active, Enabled: v.Enabled,
		})
	}
	return out, nil
}

func (m Minds) providers(_ context.Context, s identity.Actor, _ *rest.None) (rest.Providers, error) {
	if _, err := talker(s); err != nil {
		return rest.Providers{}, err
	}
	out := rest.Providers{Providers: []rest.Provider{}}
	for _, p := range m.Models.Providers() {
		out.Providers = append(out.Providers, rest.Provider{
			Name: p.Name, Kind: p.Kind.String(), Active: p.Active, Enabled: p.Enabled, Fixed: p.Fixed,
			BaseURL: p.Config.BaseURL, Model: p.Config.Model, HasKey: p.Config.APIKey != "",
		})
	}
	return out, nil
}
