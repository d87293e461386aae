package skill

import (
	"context"
	"slices"
)

// audience is whom an approval of what an agent received may name: every agent of the
// hub, also one that comes later, or the agents of the same person. So nobody's yes puts a
// text before an agent that is not theirs.
type audience struct {
	agents []string
	all    bool
}

func (s *Skills) audienceOf(ctx context.Context, agent string) (audience, error) {
	person, err := s.d.PersonOf(ctx, agent)
	if err != nil || person == "" {
		return audience{agents: s.d.Agents(), all: true}, err
	}
	theirs, err := s.d.AgentsOf(ctx, person)
	return audience{agents: theirs}, err
}

// keep is what of the named agents it may be; the one that received the skill at least.
func (a audience) keep(received string, named []string) []string {
	if a.all {
		return named
	}
	if slices.Contains(named, AllAgents) {
		return a.agents
	}
	kept := slices.DeleteFunc(slices.Clone(named), func(name string) bool { return !slices.Contains(a.agents, name) })
	if len(kept) == 0 {
		return []string{received}
	}
	return kept
}
