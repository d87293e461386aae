package skill

import (
	"context"
	"fmt"

	"parley.internal/internal/identity"
	"parley.internal/internal/place"
)

// Acting is what somebody of this hub may see and do of what its agents have with others.
// An agent is a person's or the hub's, and so is all it has: skills, exchanges, threads,
// extensions, visits. What is not theirs is not there for whoever does not run the place.
type Acting struct {
	s   *Skills
	who identity.Actor
}

// As is the way in for whoever asks: every face says for whom.
func (s *Skills) As(who identity.Actor) Acting { return Acting{s, who} }

// reach asks others, so it is not for the middle of a transaction.
func (a Acting) reach(ctx context.Context) (place.Reach, error) {
	return place.ReachOf(ctx, a.who, a.s.d.AgentsOf)
}

// MayActAs refuses an agent that the actor may not speak as.
func (a Acting) MayActAs(ctx context.Context, agent string) error {
	mine, err := a.reach(ctx)
	if err == nil && !mine.Has(agent) {
		err = fmt.Errorf("%w: %s", ErrNoAgent, agent)
	}
	return err
}

// host finds an agent that the actor may speak as, by name or id; empty is the front agent.
func (a Acting) host(ctx context.Context, agent string) (Host, error) {
	if agent == "" {
		agent = a.s.c.Front
	}
	if h, ok := a.s.joined(agent); ok {
		return h, a.MayActAs(ctx, h.Name)
	}
	if err := a.MayActAs(ctx, agent); err != nil {
		return Host{}, err
	}
	h, err := a.s.host(agent)
	if err != nil {
		err = fmt.Errorf("%w: %s", ErrNoAgent, agent)
	}
	return h, err
}

// Hosts lists the agents that the actor may speak as, of those that meet others.
func (a Acting) Hosts(ctx context.Context) ([]Host, error) {
	mine, err := a.reach(ctx)
	if err != nil {
		return nil, err
	}
	var out []Host
	for _, h := range a.s.Hosts() {
		if mine.Has(h.Name) {
			out = append(out, h)
		}
	}
	return out, nil
}
