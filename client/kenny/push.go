package kenny

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	wire "parley.internal/protocol/kenny"
)

// Connected reports whether the hub has accepted the current session.
func (c *Client) Connected() bool { return c.current.Load() != nil }

// Free is how many frames the outbound queue takes right now; 0 when there is
// no session. Whoever drains a buffer into the tunnel leaves room for answers.
func (c *Client) Free() int {
	s := c.current.Load()
	if s == nil {
		return 0
	}
	return cap(s.out) - len(s.out)
}

// PushTelemetry queues a snapshot taken at a time. It does not wait: the error
// is [ErrNotConnected], [ErrQueueFull], or what is wrong with the snapshot.
func (c *Client) PushTelemetry(at time.Time, snapshot map[string]jsontext.Value) error {
	return c.push(&wire.Telemetry{AgentID: c.cfg.AgentID, CollectedAt: wire.At(at), Snapshot: snapshot})
}

// Record is one log event to forward.
type Record struct {
	At      time.Time
	Level   wire.Level
	Target  string
	Message string
	Fields  map[string]any // nil when there are none
}

// PushLog queues a log event, like [Client.PushTelemetry].
func (c *Client) PushLog(r Record) error {
	f := &wire.Log{AgentID: c.cfg.AgentID, At: wire.At(r.At), Level: r.Level, Target: r.Target, Message: r.Message}
	if r.Fields != nil {
		raw, err := json.Marshal(r.Fields)
		if err != nil {
			return err
		}
		f.Fields = raw
	}
	return c.push(f)
}

func (c *Client) push(f wire.Frame) error {
	s := c.current.Load()
	if s == nil {
		return ErrNotConnected
	}
	return s.push(f)
}
