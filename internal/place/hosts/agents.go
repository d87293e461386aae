package hosts

import (
	"context"
	"errors"
	"sync"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/identity"
)

// homeAgents are agents of this hub that models act as at its own meeting place.
type homeAgents struct {
	d    Deps
	mu   sync.Mutex
	all  map[string]*mmpagent.Agent
	pins map[string]*mmpagent.Peers
}

func newHomeAgents(d Deps) *homeAgents {
	return &homeAgents{d: d, all: map[string]*mmpagent.Agent{}, pins: map[string]*mmpagent.Peers{}}
}

// peers is whom an agent has met, anywhere: one memory, however many places.
func (p *homeAgents) peers(name string) (*mmpagent.Peers, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peersLocked(name)
}

func (p *homeAgents) peersLocked(name string) (*mmpagent.Peers, error) {
	if known := p.pins[name]; known != nil {
		return known, nil
	}
	peers, err := mmpagent.OpenPeers(p.d.PeersPath(name))
	if err == nil {
		p.pins[name] = peers
	}
	return peers, err
}

// AgentOf gives an agent at this hub's own place to whoever may speak as it.
func (p *Hosts) AgentOf(ctx context.Context, who identity.Actor, name string) (*mmpagent.Agent, error) {
	if err := p.d.Skills.As(who).MayActAs(ctx, name); err != nil {
		return nil, err
	}
	return p.agents.get(ctx, name)
}

// get gives a hosted agent, registered. Being used keeps it so; one the place has
// forgotten meanwhile comes back.
func (p *homeAgents) get(ctx context.Context, name string) (*mmpagent.Agent, error) {
	if _, err := p.d.Files.Get(name); err != nil {
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

func (p *homeAgents) open(ctx context.Context, name string) (*mmpagent.Agent, error) {
	keys, err := p.d.Keys(name)
	if err != nil {
		return nil, err
	}
	peers, err := p.peersLocked(name)
	if err != nil {
		return nil, err
	}
	can, err := p.d.Skills.Actions(ctx, keys.ID())
	if err != nil {
		return nil, err
	}
	opts := p.d.Home
	opts.Name, opts.Description, opts.Endpoint, opts.Keys, opts.Peers, opts.Capabilities = name, "An agent of this hub", p.d.endpoint(name), keys, peers, can
	a, err := mmpagent.Open("http://127.0.0.1", opts)
	if err != nil {
		return nil, err
	}
	_, err = a.Register(ctx)
	return a, err
}

// close saves whom the agents have met.
func (p *homeAgents) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, a := range p.all {
		errs = append(errs, a.Close())
	}
	p.all = map[string]*mmpagent.Agent{}
	return errors.Join(errs...)
}
