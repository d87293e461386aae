package agentfirst

import (
	"context"

	wire "parley.internal/protocol/agentfirst"
)

// ListAgents lists the agents.
func (c *Client) ListAgents(ctx context.Context) ([]*wire.AgentInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListAgents{ListAgents: &wire.ListAgents{}}},
		(*wire.ServerMessage).GetAgentList)
	return m.GetAgents(), err
}

// GetAgent returns one agent.
func (c *Client) GetAgent(ctx context.Context, name string) (*wire.AgentInfo, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_GetAgent{GetAgent: &wire.GetAgent{Name: name}}},
		(*wire.ServerMessage).GetAgentInfo)
}

// CreateAgent makes an agent from a JSON object of its settings and prompt.
func (c *Client) CreateAgent(ctx context.Context, name, config string) (*wire.AgentInfo, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_CreateAgent{
		CreateAgent: &wire.CreateAgent{Name: name, Config: config},
	}}, (*wire.ServerMessage).GetAgentInfo)
}

// UpdateAgent changes the settings that are in config.
func (c *Client) UpdateAgent(ctx context.Context, name, config string) (*wire.AgentInfo, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_UpdateAgent{
		UpdateAgent: &wire.UpdateAgent{Name: name, Config: config},
	}}, (*wire.ServerMessage).GetAgentInfo)
}

// DeleteAgent removes an agent. Its conversations stay.
func (c *Client) DeleteAgent(ctx context.Context, name string) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_DeleteAgent{DeleteAgent: &wire.DeleteAgent{Name: name}}})
}

// ListProviders lists the model providers.
func (c *Client) ListProviders(ctx context.Context) ([]*wire.ProviderInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListProviders{ListProviders: &wire.ListProviders{}}},
		(*wire.ServerMessage).GetProviderList)
	return m.GetProviders(), err
}

// SetProvider makes or changes a provider from a JSON object of its settings.
func (c *Client) SetProvider(ctx context.Context, name, config string) ([]*wire.ProviderInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_SetProvider{
		SetProvider: &wire.SetProvider{Name: name, Config: config},
	}}, (*wire.ServerMessage).GetProviderList)
	return m.GetProviders(), err
}

// DeleteProvider removes a provider.
func (c *Client) DeleteProvider(ctx context.Context, name string) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_DeleteProvider{DeleteProvider: &wire.DeleteProvider{Name: name}}})
}

// SetActiveModel sets the server's default model, "provider:name".
func (c *Client) SetActiveModel(ctx context.Context, model string) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_SetActiveModel{SetActiveModel: &wire.SetActiveModel{Model: model}}})
}

// ListProviderPresets lists the kinds of provider the server knows.
func (c *Client) ListProviderPresets(ctx context.Context) ([]*wire.ProviderPreset, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListProviderPresets{ListProviderPresets: &wire.ListProviderPresets{}}},
		(*wire.ServerMessage).GetProviderPresetList)
	return m.GetPresets(), err
}

// ListModels lists the models.
func (c *Client) ListModels(ctx context.Context) ([]*wire.ModelInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListModels{ListModels: &wire.ListModels{}}},
		(*wire.ServerMessage).GetModelList)
	return m.GetModels(), err
}
