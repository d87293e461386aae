package place

import (
	"context"
	"slices"
	"strings"

	"parley.internal/internal/identity"
	"parley.internal/protocol/mmp"
)

// Reach is whose things somebody reaches: everybody's, or those of their own agents.
// Postings, keys, sessions, queues, visits and received skills belong to whom their
// agent belongs to; what is nobody's is the hub's.
type Reach struct {
	all    bool
	agents []string
}

// ReachOf is what one of this hub's people reaches. agentsOf lists the agents of a
// person, by the names that the caller's things have them under.
func ReachOf(ctx context.Context, who identity.Actor, agentsOf func(ctx context.Context, person string) ([]string, error)) (Reach, error) {
	switch {
	case who.Scopes.Has(identity.PlaceManage):
		return Reach{all: true}, nil
	case !who.Scopes.Has(identity.Place) || who.Person.Kind != identity.KindPerson:
		return Reach{}, nil
	}
	agents, err := agentsOf(ctx, who.Person.ID)
	return Reach{agents: agents}, err
}

// Has tells whether things of the agent are within reach.
func (r Reach) Has(agent string) bool { return r.all || slices.Contains(r.agents, agent) }

// Where is the condition on a column of agents, with its arguments.
func (r Reach) Where(column string) (string, []any) {
	if r.all {
		return "1 = 1", nil
	}
	if len(r.agents) == 0 {
		return "1 = 0", nil
	}
	args := make([]any, len(r.agents))
	for i, name := range r.agents {
		args[i] = name
	}
	return column + " IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// reach asks others, so it is not for the middle of a transaction.
func (p *Place) reach(ctx context.Context, who Visitor) (Reach, error) {
	return ReachOf(ctx, who.Actor, p.d.AgentsOf)
}

// manages tells whether the agent is the visitor's, or the visitor runs the place.
func (p *Place) manages(ctx context.Context, who Visitor, agent string) (bool, error) {
	r, err := p.reach(ctx, who)
	return r.Has(agent), err
}

// mustRun refuses whoever does not run the place.
func (c Visitor) mustRun() error {
	if !c.Operator() {
		return mmp.ErrOperatorOnly
	}
	return nil
}
