package hosts

import (
	"context"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/skill"
)

// presence is an agent of this hub somewhere else: at a place, or with one other agent.
type presence interface {
	// same looks whether whoever is there is who it was.
	same(ctx context.Context) error
	// line is how skills reach others there.
	line() skill.Line
	// receive hands over what comes, until ctx ends.
	receive(ctx context.Context, handle mmpagent.Handler) error
	leave(ctx context.Context)
	Close() error
}

// enter goes where a visit is.
func (p *Hosts) enter(ctx context.Context, v skill.Visit) (presence, error) {
	if v.Peer != "" {
		d, _, err := p.approach(ctx, v)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	agent, err := p.enterPlace(ctx, v)
	if err != nil {
		return nil, err
	}
	return atPlace{agent, p, v.URL}, nil
}

// atPlace is an agent registered at a place.
type atPlace struct {
	*mmpagent.Agent
	hosts *Hosts
	url   string
}

func (a atPlace) same(ctx context.Context) error {
	info, err := a.Look(ctx)
	if err != nil {
		return err
	}
	return a.hosts.checkPlace(ctx, a.url, info)
}

func (a atPlace) line() skill.Line { return placeLine{a.Agent} }

func (a atPlace) receive(ctx context.Context, handle mmpagent.Handler) error {
	return a.Run(ctx, handle)
}

func (a atPlace) leave(ctx context.Context) { _, _ = a.Unregister(ctx) }
