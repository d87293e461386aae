package skill

import (
	"context"
	"fmt"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/protocol/mmp/meeting"
)

// VisitRequest sends an agent to another place.
type VisitRequest struct {
	Agent string
	URL   string
	// For is how long (an hour).
	For time.Duration
	// Keep leaves the agent registered there at the end.
	Keep bool
	// Deposit leaves the agent's public skills on the place's shelf while it is there.
	Deposit bool
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
	// PlaceKey is the key the place had when it was first visited.
	PlaceKey string
	// Peer is the agent that is met at URL; empty for a visit to a place.
	Peer     string
	Keep     bool
	Deposit  bool
	Insecure bool
	Started  time.Time
	Until    time.Time
	// Interactions are messages in and out; at Limit the visit is over.
	Interactions int
	Limit        int
	// Warning says that the end is near, Problem why nothing is sent any more.
	Warning string
	Problem string

	ending string
}

// Met is an agent at its own address, in its own words: a stranger's, whatever they say.
type Met struct {
	ID, Name, KeyID string
	// Proven says that it showed that it holds its key.
	Proven     bool
	Actions    []string
	Extensions []string
	Skills     []meeting.SkillInfo
}

// Bounds of visits.
const (
	// MaxVisits is how many may go on at once.
	MaxVisits = 5
	// VisitLimit is how many messages a visit has, in and out.
	VisitLimit = 50

	visitFor  = time.Hour
	visitMost = 24 * time.Hour
	// warnPart is how much of a visit is over when people are warned.
	warnPart = 0.8
)

// Length is how long a visit may take: what was asked for, within bounds.
func (r VisitRequest) Length() time.Duration {
	if r.For <= 0 {
		return visitFor
	}
	return min(r.For, visitMost)
}

// WarnAt is when people are told that the end is near.
func (v Visit) WarnAt() time.Time {
	return v.Started.Add(time.Duration(warnPart * float64(v.Until.Sub(v.Started))))
}

// Near says why the end is near; empty while it is not.
func (v Visit) Near(now time.Time) string {
	switch {
	case float64(v.Interactions) >= warnPart*float64(v.Limit):
		return fmt.Sprintf("%d of %d messages are used; then it says goodbye", v.Interactions, v.Limit)
	case !now.Before(v.WarnAt()):
		return fmt.Sprintf("it ends at %s and says goodbye", v.Until.UTC().Format("15:04 MST"))
	}
	return ""
}

// Over is the goodbye's reason once the visit is at its end; empty before.
func (v Visit) Over(now time.Time) string {
	switch {
	case v.ending != "":
		return v.ending
	case v.Interactions >= v.Limit:
		return meeting.GoodbyeSessionComplete
	case !now.Before(v.Until):
		return meeting.GoodbyeTimeout
	}
	return ""
}

// Visits is what sends agents to other places; the hub brings it.
type Visits interface {
	Visit(ctx context.Context, who identity.Actor, r VisitRequest) (Visit, error)
	// Meet opens a conversation with the agent at an address. It is kept as a visit:
	// messages for the agent go to the visit's place, and are answered from there.
	Meet(ctx context.Context, who identity.Actor, r VisitRequest) (Visit, Met, error)
	EndVisit(ctx context.Context, who identity.Actor, id string) error
}
