package brain

import (
	"context"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

// Hosted is a provider that is no model but an agent of its own, with its own memory and
// tools: a program of others that runs here. Each task has a session with it.
type Hosted interface {
	model.Provider
	Open(Hosting) Session
}

// Hosting is what a hosted agent is told about the task that it works on.
type Hosting struct {
	Agent *Agent
	// Call is who it acts for and where. Its Permit is asked about hosts that nobody has
	// allowed yet.
	Call tool.Call
	// Tools are the names of the hub's own tools that it may ask for.
	Tools []string
	// State is what Save was given last, in whatever life of the hub. Save returns once it is on disk.
	State string
	Save  func(ctx context.Context, state string) error
	// Terminal reads on in a terminal that the agent opened, or closes it.
	Terminal HostedTerminals
}

// HostedTerminals are the terminals that were opened for a hosted agent.
type HostedTerminals struct {
	// Read gives all that is kept of what was printed, and how the command ended: exit is nil while it
	// runs. It waits for the end if it is told to.
	Read  func(ctx context.Context, id string, untilEnd bool) (printed string, cut bool, exit *int, err error)
	Close func(ctx context.Context, id string) error
}

// Session is one task's session with a hosted agent. Its stream ends with tool calls when
// the agent asks for something, and goes on with the same prompt when it is called again with their results.
type Session interface {
	model.Provider
	// Tools are what the agent may want besides the hub's own tools: its permission requests.
	Tools() []*tool.Tool
	// Close ends the program and everything it started, and waits for that.
	Close()
}
