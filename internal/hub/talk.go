package hub

import (
	"context"
	"time"

	"parley/internal/talk"
	"parley/internal/talk/memory"
	"parley/protocol/agentfirst"
)

func (h *Hub) openTalk(ctx context.Context) error {
	t, err := talk.New(talk.Deps{
		Memory: memory.New(h.db), Leases: h.leases, Bus: h.bus, Agents: h.minds.agents, Models: h.minds.models, Ledger: h.minds.ledger,
		Inbox: h.inbox, Audit: h.trail, Skills: h.minds, Tools: h.minds.toolsFor, PersonOf: h.personOf, Log: h.logger,
		Workspace: h.folder.Path("workspace"), Clustered: h.conf.NATS != "",
		Limits: talk.Limits{Drain: h.conf.ShutdownGrace},
	})
	if err != nil {
		return err
	}
	if !h.opts.Quiet {
		if err := t.Start(ctx); err != nil {
			return err
		}
	}
	h.talk = t
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace+5*time.Second)
		defer cancel()
		return t.Close(ctx)
	})
	return nil
}

// personOf is whose inbox an agent's questions for a sender go to: the person of
// that name, and the owner for everybody who is none of this hub.
func (h *Hub) personOf(sender string) string {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if sender != agentfirst.DefaultSender {
		if person, err := h.people.Person(ctx, sender); err == nil {
			return person.ID
		}
	}
	owner, err := h.people.Owner(ctx)
	if err != nil {
		return sender
	}
	return owner.ID
}
