package hub

import (
	"context"
	"errors"
	"os"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/identity"
)

// agentPerson is the id of the person an agent's file names as its owner; empty for the
// hub's own, and for an owner that nobody is.
func (h *Hub) agentPerson(ctx context.Context, agent string) (string, error) {
	a, err := h.minds.agents.Get(agent)
	if err != nil || a.Owner == "" {
		return "", nil //nolint:nilerr // what an agent left that is gone is the hub's
	}
	p, err := h.people.Person(ctx, a.Owner)
	if errors.Is(err, identity.ErrNotFound) || err == nil && p.Name != a.Owner {
		return "", nil
	}
	return p.ID, err
}

// agentsOf names the agents of a person.
func (h *Hub) agentsOf(ctx context.Context, person string) ([]string, error) {
	p, err := h.people.Person(ctx, person)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range h.minds.agents.List() {
		if e.Agent != nil && e.Agent.Owner != "" && e.Agent.Owner == p.Name {
			out = append(out, e.Name)
		}
	}
	return out, nil
}

// hasPlaceKey reports whether an agent of this name, perhaps one that is gone, has keys.
func (h *Hub) hasPlaceKey(name string) bool {
	_, err := os.Lstat(h.placeKeyPath(name))
	return !errors.Is(err, os.ErrNotExist)
}

// placeIDsOf are the ids at the place of the agents of a person: those that have keys.
func (h *Hub) placeIDsOf(ctx context.Context, person string) ([]string, error) {
	names, err := h.agentsOf(ctx, person)
	var ids []string
	for _, name := range names {
		keys, failed := mmpagent.OpenKeys(h.placeKeyPath(name), nil)
		switch {
		case failed == nil:
			ids = append(ids, keys.ID())
		case !errors.Is(failed, os.ErrNotExist):
			err = errors.Join(err, failed)
		}
	}
	return ids, err
}
