package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"parley/internal/brain"
	"parley/internal/brain/resource"
	"parley/internal/face/front"
	facetalk "parley/internal/face/talk"
	"parley/internal/identity"
)

// Minds is what agents are made of.
type Minds struct {
	Agents *brain.Library
	Models *brain.Catalogue
	Shelf  *resource.Shelf
}

// RegisterAgents adds agents, and the models and skills they use.
func RegisterAgents(a *API, m Minds) {
	read := func(path, summary string) route {
		return route{Method: "GET", Path: path, Tag: "agents", Summary: summary}
	}
	change := func(method, path, summary string, status int) route {
		return route{Method: method, Path: path, Scope: identity.AgentsManage, Tag: "agents", Summary: summary, Status: status}
	}
	add(a, read("/api/agents", "List agents"), m.list)
	add(a, read("/api/agents/{name}", "One agent, with what its file says; the prompt is for agents:manage"), m.get)
	add(a, change("POST", "/api/agents", "Make an agent: the keys of its file, name and prompt", http.StatusCreated), m.create)
	add(a, change("PUT", "/api/agents/{name}", "Change the keys that are given; null means the default", 0), m.update)
	add(a, change("DELETE", "/api/agents/{name}", "Remove an agent; its conversations stay", http.StatusNoContent), m.remove)
	addRaw(a, rawRoute{change("GET", "/api/agents/{name}/file", "The agent's file as it is", 0), "text/markdown"}, m.file)
	put := change("PUT", "/api/agents/{name}/file", "Replace the agent's file, or make it", 0)
	put.MaxBody = maxAgentFile
	addRaw(a, rawRoute{put, "application/json"}, m.putFile)
	add(a, read("/api/skills", "List skills"), m.skills)
	add(a, read("/api/models", "List models"), m.models)
	add(a, read("/api/providers", "List model providers, without their keys"), m.providers)
}

// talker is what a caller may do in conversations; without any talk scope nothing.
func talker(s identity.Actor) (identity.Actor, error) {
	if !facetalk.MayTalk(s) {
		return s, front.Need(s, identity.Talk)
	}
	return s, nil
}

// agentView is an agent as an object: the keys of its file, name, prompt, error.
type agentView = map[string]any

func viewAgent(e brain.Entry, s identity.Actor) agentView {
	out := agentView{}
	if e.Agent != nil {
		if err := json.Unmarshal(e.Agent.Config(), &out); err != nil {
			out = agentView{"error": err.Error()}
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

type agentList struct {
	Body struct {
		Agents []agentView `json:"agents"`
	}
}

type byName struct {
	Name string `path:"name"`
}

type agentAnswer struct{ Body agentView }

func (m Minds) list(_ context.Context, s identity.Actor, _ *struct{}) (*agentList, error) {
	if _, err := talker(s); err != nil {
		return nil, err
	}
	out := &agentList{}
	out.Body.Agents = []agentView{}
	for _, e := range m.Agents.List() {
		out.Body.Agents = append(out.Body.Agents, viewAgent(e, s))
	}
	return out, nil
}

func (m Minds) get(_ context.Context, s identity.Actor, in *byName) (*agentAnswer, error) {
	if _, err := talker(s); err != nil {
		return nil, err
	}
	return m.show(in.Name, s)
}

func (m Minds) show(name string, s identity.Actor) (*agentAnswer, error) {
	e, err := m.Agents.Entry(name)
	if err != nil {
		return nil, err
	}
	return &agentAnswer{viewAgent(e, s)}, nil
}

// agentKeys is a body with whatever keys an agent's file has.
type agentKeys struct {
	Body map[string]any
}

func (m Minds) create(ctx context.Context, s identity.Actor, in *agentKeys) (*agentAnswer, error) {
	name, ok := in.Body["name"].(string)
	if !ok {
		return nil, front.NewProblem(http.StatusBadRequest, "bad_request", "name: want the agent's name", nil)
	}
	config, err := configOf(in.Body)
	if err != nil {
		return nil, err
	}
	if _, err := m.Agents.Create(ctx, name, config); err != nil {
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

type agentChange struct {
	Name string `path:"name"`
	Body map[string]any
}

func (m Minds) update(ctx context.Context, s identity.Actor, in *agentChange) (*agentAnswer, error) {
	config, err := configOf(in.Body)
	if err != nil {
		return nil, err
	}
	if _, err := m.Agents.Update(ctx, in.Name, config); err != nil {
		return nil, err
	}
	return m.show(in.Name, s)
}

func (m Minds) remove(ctx context.Context, _ identity.Actor, in *byName) (*struct{}, error) {
	return nil, m.Agents.Delete(ctx, in.Name)
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
	if _, err := m.Agents.Put(r.Context(), name, text); err != nil {
		return err
	}
	answer, err := m.show(name, s)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(answer.Body)
}

type skillList struct {
	Body struct {
		Skills []skillView `json:"skills"`
	}
}

type skillView struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Enabled     bool   `json:"enabled"`
	Source      string `json:"source"`
	Error       string `json:"error,omitempty"`
}

func (m Minds) skills(_ context.Context, s identity.Actor, _ *struct{}) (*skillList, error) {
	if _, err := talker(s); err != nil {
		return nil, err
	}
	all, err := m.Shelf.Skills()
	if err != nil {
		return nil, err
	}
	out := &skillList{}
	out.Body.Skills = []skillView{}
	for _, k := range all {
		v := skillView{Name: k.Name, Description: k.Description, Enabled: k.Enabled && k.Err == nil, Source: k.File}
		if k.Err != nil {
			v.Error = k.Err.Error()
		}
		out.Body.Skills = append(out.Body.Skills, v)
	}
	return out, nil
}

type modelList struct {
	Body struct {
		Active string      `json:"active"`
		Models []modelView `json:"models"`
	}
}

type modelView struct {
	Ref      string `json:"ref" doc:"how an agent's file names it"`
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	Active   bool   `json:"active"`
	Enabled  bool   `json:"enabled"`
}

func (m Minds) models(_ context.Context, s identity.Actor, _ *struct{}) (*modelList, error) {
	if _, err := talker(s); err != nil {
		return nil, err
	}
	out := &modelList{}
	out.Body.Active, out.Body.Models = m.Models.Active(), []modelView{}
	for _, v := range m.Models.Models() {
		out.Body.Models = append(out.Body.Models, modelView{
			Ref: v.Provider + ":" + v.Name, Name: v.Name, Provider: v.Provider, Kind: v.Kind.String(), Active: v.Active, Enabled: v.Enabled,
		})
	}
	return out, nil
}

type providerList struct {
	Body struct {
		Providers []providerView `json:"providers"`
	}
}

type providerView struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Active  bool   `json:"active"`
	Enabled bool   `json:"enabled"`
	Fixed   bool   `json:"fixed" doc:"built in, or from the environment"`
	BaseURL string `json:"base_url,omitempty"`
	Model   string `json:"model,omitempty"`
	HasKey  bool   `json:"has_key"`
}

func (m Minds) providers(_ context.Context, s identity.Actor, _ *struct{}) (*providerList, error) {
	if _, err := talker(s); err != nil {
		return nil, err
	}
	out := &providerList{}
	out.Body.Providers = []providerView{}
	for _, p := range m.Models.Providers() {
		out.Body.Providers = append(out.Body.Providers, providerView{
			Name: p.Name, Kind: p.Kind.String(), Active: p.Active, Enabled: p.Enabled, Fixed: p.Fixed,
			BaseURL: p.Config.BaseURL, Model: p.Config.Model, HasKey: p.Config.APIKey != "",
		})
	}
	return out, nil
}
