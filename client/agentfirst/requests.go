package agentfirst

import (
	"context"
	"fmt"

	wire "parley.internal/protocol/agentfirst"
)

// ask sends a request and picks its answer.
func ask[T comparable](ctx context.Context, c *Client, req *wire.ClientMessage, pick func(*wire.ServerMessage) T) (T, error) {
	var none T
	m, err := c.Do(ctx, req)
	if err != nil {
		return none, err
	}
	answer := pick(m)
	if answer == none {
		return none, fmt.Errorf("%w to %T", ErrUnexpectedAnswer, req.GetMessage())
	}
	return answer, nil
}

// tell sends a request that is answered by pong.
func tell(ctx context.Context, c *Client, req *wire.ClientMessage) error {
	_, err := ask(ctx, c, req, (*wire.ServerMessage).GetPong)
	return err
}

// Ping asks whether the server is there.
func (c *Client) Ping(ctx context.Context) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_Ping{Ping: &wire.Ping{}}})
}

// GetStats returns the server's figures.
func (c *Client) GetStats(ctx context.Context) (*wire.Stats, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_GetStats{GetStats: &wire.GetStats{}}},
		(*wire.ServerMessage).GetStats)
}

// GetConfig returns the configuration of an old server; newer ones answer ErrGone.
func (c *Client) GetConfig(ctx context.Context) (string, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_GetConfig{GetConfig: &wire.GetConfig{}}},
		(*wire.ServerMessage).GetConfig)
	return m.GetConfig(), err
}

// Reload makes the server look for changed agents, skills and MCP servers.
func (c *Client) Reload(ctx context.Context) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_Reload{Reload: &wire.Reload{}}})
}

// SetEnabled turns a provider, an MCP server or a skill on or off.
func (c *Client) SetEnabled(ctx context.Context, kind wire.ResourceKind, name string, enabled bool) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_SetEnabled{
		SetEnabled: &wire.SetEnabled{Kind: kind, Name: name, Enabled: enabled},
	}})
}

// ListSkills lists the skills.
func (c *Client) ListSkills(ctx context.Context) ([]*wire.SkillInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListSkills{ListSkills: &wire.ListSkills{}}},
		(*wire.ServerMessage).GetSkillList)
	return m.GetSkills(), err
}

// ListMcps lists the MCP servers.
func (c *Client) ListMcps(ctx context.Context) ([]*wire.McpInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListMcps{ListMcps: &wire.ListMcps{}}},
		(*wire.ServerMessage).GetMcpList)
	return m.GetMcps(), err
}

// SetLocalMcps replaces the list of local MCP servers.
func (c *Client) SetLocalMcps(ctx context.Context, mcps []*wire.McpInfo) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_SetLocalMcps{SetLocalMcps: &wire.SetLocalMcps{Mcps: mcps}}})
}

// CreateCron makes a schedule.
func (c *Client) CreateCron(ctx context.Context, cron *wire.CreateCron) (*wire.CronInfo, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_CreateCron{CreateCron: cron}},
		(*wire.ServerMessage).GetCronInfo)
}

// DeleteCron removes a schedule.
func (c *Client) DeleteCron(ctx context.Context, id uint64) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_DeleteCron{DeleteCron: &wire.DeleteCron{Id: id}}})
}

// ListCrons lists the schedules.
func (c *Client) ListCrons(ctx context.Context) ([]*wire.CronInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListCrons{ListCrons: &wire.ListCrons{}}},
		(*wire.ServerMessage).GetCronList)
	return m.GetCrons(), err
}
