package viber

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Ping asks for a Pong.
type Ping struct{}

// Pong answers a Ping.
type Pong struct{}

// HealthPing asks for a HealthPong.
type HealthPing struct {
	// ClientTime is kept as it came: a heartbeat is answered even if its time
	// cannot be read.
	ClientTime jsontext.Value `json:"client_time,omitzero"`
}

// NewHealthPing makes a heartbeat sent at t.
func NewHealthPing(t time.Time) *HealthPing {
	return &HealthPing{ClientTime: jsontext.Value(`"` + At(t).String() + `"`)}
}

// HealthPong answers a HealthPing.
type HealthPong struct {
	ServerTime Time `json:"server_time"`
	// LatencyMS is how long the ping took to arrive, in whole milliseconds; other
	// servers may send a fraction.
	LatencyMS  float64        `json:"latency_ms"`
	ClientTime jsontext.Value `json:"client_time,omitzero"`
}

// Pong answers a heartbeat that was received at now. Clocks differ: a ping from
// the future took no time, and so did one whose time cannot be read.
func (p *HealthPing) Pong(now time.Time) *HealthPong {
	pong := &HealthPong{ServerTime: At(now), ClientTime: p.ClientTime}
	if sent, err := timeIn(p.ClientTime); err == nil {
		pong.LatencyMS = float64(max(0, now.Sub(sent).Milliseconds()))
	}
	return pong
}

// AgentStatus is what an agent is doing for the receiver.
type AgentStatus string

// The states of an agent.
const (
	AgentIdle    AgentStatus = "idle"
	AgentRunning AgentStatus = "running"
	AgentPaused  AgentStatus = "paused"
	AgentError   AgentStatus = "error"
)

// StatusAgent tells that an agent's state changed.
type StatusAgent struct {
	AgentID        string      `json:"agent_id"`
	Status         AgentStatus `json:"status"`
	CurrentTaskID  string      `json:"current_task_id,omitzero"`
	BudgetUsedUSD  *float64    `json:"budget_used_usd,omitzero"`
	BudgetLimitUSD *float64    `json:"budget_limit_usd,omitzero"`
}

// Type names the message.
func (*Ping) Type() Type { return TypePing }

// Type names the message.
func (*Pong) Type() Type { return TypePong }

// Type names the message.
func (*HealthPing) Type() Type { return TypeHealthPing }

// Type names the message.
func (*HealthPong) Type() Type { return TypeHealthPong }

// Type names the message.
func (*StatusAgent) Type() Type { return TypeStatusAgent }
