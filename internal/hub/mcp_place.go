package hub

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"parley/client/mmpagent"
	"parley/internal/identity"
)

// placeAgents are agents of this hub that models act as at its own meeting place.
type placeAgents struct {
	h    *Hub
	mu   sync.Mutex
	all  map[string]*mmpagent.Agent
	pins map[string]*mmpagent.Peers
}

func newPlaceAgents(h *Hub) *placeAgents {
	return &placeAgents{h: h, all: map[string]*mmpagent.Agent{}, pins: map[string]*mmpagent.Peers{}}
}

// peers is whom an agent has met, anywhere: one memory, however many places.
func (p *placeAgents) peers(name string) (*mmpagent.Peers, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peersLocked(name)
}

func (p *placeAgents) peersLocked(name string) (*mmpagent.Peers, error) {
	if known := p.pins[name]; known != nil {
		return known, nil
	}
	peers, err := mmpagent.OpenPeers(p.h.peersPath(name))
	if err == nil {
		p.pins[name] = peers
	}
	return peers, err
}

// placeAgentOf gives an agent to whoever may speak as it.
func (h *Hub) placeAgentOf(ctx context.Context, who identity.Actor, name string) (*mmpagent.Agent, error) {
	if err := h.skills.As(who).MayActAs(ctx, name); err != nil {
		return nil, err
	}
	return h.placeAgents.get(ctx, name)
}

// get gives a hosted agent, registered. Being used keeps it so; one the place has
// forgotten meanwhile comes back.
func (p *placeAgents) get(ctx context.Context, name string) (*mmpagent.Agent, error) {
	if _, err := p.h.minds.agents.Get(name); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.all[name]; a != nil {
		if _, err := a.Heartbeat(ctx); err == nil {
			return a, nil
		}
		_, err := a.Register(ctx)
		return a, err
	}
	a, err := p.open(ctx, name)
	if err == nil {
		p.all[name] = a
	}
	return a, err
}

func (p *placeAgents) open(ctx context.Context, name string) (*mmpagent.Agent, error) {
	keys, err := p.h.placeKeys(name)
	if err != nil {
		return nil, err
	}
	peers, err := p.peersLocked(name)
	if err != nil {
		return nil, err
	}
	a, err := mmpagent.Open("http://127.0.0.1", mmpagent.Options{
		Name: name, Description: "An agent of this hub", Version: p.h.opts.Version, Keys: keys, Peers: peers,
		HTTP: &http.Client{Transport: p.h.placeTransport()},
	})
	if err != nil {
		return nil, err
	}
	_, err = a.Register(ctx)
	return a, err
}

// close saves whom the agents have met.
func (p *placeAgents) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, a := range p.all {
		errs = append(errs, a.Close())
	}
	p.all = map[string]*mmpagent.Agent{}
	return errors.Join(errs...)
}
