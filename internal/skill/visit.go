package skill

import (
	"context"
	"time"
)

// VisitRequest sends an agent to another place.
type VisitRequest struct {
	Agent string
	URL   string
	// For is how long (an hour).
	For time.Duration
	// Keep leaves the agent registered there at the end.
	Keep bool
	// Insecure allows plain HTTP to another machine.
	Insecure bool
}

// Visit is an agent at another place for a while.
type Visit struct {
	ID      string
	Agent   string
	AgentID string
	URL     string
	// Place is the id of the place, which exchanges there are kept under.
	Place string
	Name  string
	Keep  bool
	Until time.Time
}

// Visits is what sends agents to other places; the hub brings it.
type Visits interface {
	Visit(ctx context.Context, r VisitRequest) (Visit, error)
	Visits() []Visit
	EndVisit(ctx context.Context, id string) error
}
