package hubapi

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Agent is an agent as an object: name, the keys of its file, prompt and error.
type Agent map[string]any

// Text is a key's value if it is text.
func (a Agent) Text(key string) string {
	s, _ := a[key].(string)
	return s
}

// Agents lists agents.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	var out struct {
		Agents []Agent `json:"agents"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/agents", nil, nil, &out)
	return out.Agents, err
}

// Agent returns one agent.
func (c *Client) Agent(ctx context.Context, name string) (out Agent, err error) {
	return out, c.Do(ctx, http.MethodGet, agentPath(name), nil, nil, &out)
}

func agentPath(name string) string { return "/api/agents/" + url.PathEscape(name) }

// CreateAgent makes an agent from name, the keys of its file, and prompt.
func (c *Client) CreateAgent(ctx context.Context, agent Agent) (out Agent, err error) {
	return out, c.Do(ctx, http.MethodPost, "/api/agents", nil, agent, &out)
}

// UpdateAgent changes the given keys; nil means the default.
func (c *Client) UpdateAgent(ctx context.Context, name string, changes Agent) (out Agent, err error) {
	return out, c.Do(ctx, http.MethodPut, agentPath(name), nil, changes, &out)
}

// RemoveAgent removes an agent. Its conversations stay.
func (c *Client) RemoveAgent(ctx context.Context, name string) error {
	return c.Do(ctx, http.MethodDelete, agentPath(name), nil, nil, nil)
}

// AgentFile returns an agent's file as it is.
func (c *Client) AgentFile(ctx context.Context, name string) (string, error) {
	body, err := c.Open(ctx, http.MethodGet, agentPath(name)+"/file", nil, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	return string(text), err
}

// PutAgentFile replaces an agent's file, or makes it.
func (c *Client) PutAgentFile(ctx context.Context, name, text string) (out Agent, err error) {
	return out, c.Do(ctx, http.MethodPut, agentPath(name)+"/file", nil, strings.NewReader(text), &out)
}

// Skill is something an agent can be told to do by name.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Enabled     bool   `json:"enabled"`
	Source      string `json:"source"`
	Error       string `json:"error,omitempty"`
}

// Skills lists skills.
func (c *Client) Skills(ctx context.Context) ([]Skill, error) {
	var out struct {
		Skills []Skill `json:"skills"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/skills", nil, nil, &out)
	return out.Skills, err
}

// Model is a model the hub can use.
type Model struct {
	Ref      string `json:"ref"`
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	Active   bool   `json:"active"`
	Enabled  bool   `json:"enabled"`
}

// Models lists models and tells which one is the default.
func (c *Client) Models(ctx context.Context) (active string, models []Model, err error) {
	var out struct {
		Active string  `json:"active"`
		Models []Model `json:"models"`
	}
	err = c.Do(ctx, http.MethodGet, "/api/models", nil, nil, &out)
	return out.Active, out.Models, err
}

// Provider is where models come from.
type Provider struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Active  bool   `json:"active"`
	Enabled bool   `json:"enabled"`
	Fixed   bool   `json:"fixed"`
	BaseURL string `json:"base_url,omitempty"`
	Model   string `json:"model,omitempty"`
	HasKey  bool   `json:"has_key"`
}

// Providers lists model providers.
func (c *Client) Providers(ctx context.Context) ([]Provider, error) {
	var out struct {
		Providers []Provider `json:"providers"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/providers", nil, nil, &out)
	return out.Providers, err
}
