package roomagent

import (
	"context"
	"encoding/json"

	"parley.internal/protocol/kibitz"
)

// Participant is somebody in the room, as the roster tells.
type Participant struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Kind kibitz.Kind     `json:"kind,omitempty"`
	Meta json.RawMessage `json:"meta,omitempty"`
}

// Controller carries an agent. Its callbacks are called one at a time, in the
// room's order.
type Controller interface {
	// Broadcast sends app data to everybody; it returns once the room has taken or
	// refused it.
	Broadcast(ctx context.Context, data json.RawMessage) error
	SendTo(ctx context.Context, id string, data json.RawMessage) error
	// OnMessage adds a callback for app data.
	OnMessage(func(data json.RawMessage, from string)) (unsubscribe func())
	Participants() []Participant
	OnParticipants(func([]Participant)) (unsubscribe func())
	// SetMeta replaces what the agent says about itself.
	SetMeta(ctx context.Context, meta map[string]any) error
	Leave() error
}

// Schema describes how to read an app's views.
type Schema struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Schema  json.RawMessage `json:"schema"`
	From    string          `json:"from,omitempty"`
}

// SchemaSource is a controller that knows schemas.
type SchemaSource interface {
	Schemas() []Schema
	OnSchema(func(Schema)) (unsubscribe func())
}

// GrantSource is a controller that knows what the agent may do.
type GrantSource interface {
	Grant() kibitz.Grant
	OnGrant(func(kibitz.Grant)) (unsubscribe func())
}
