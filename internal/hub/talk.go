package hub

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	faceopenai "parley.internal/internal/face/openai"
	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
)

// talkPart is conversations.
func (h *Hub) talkPart() part {
	return part{
		name: "talk", open: h.openTalk, faces: h.openTalkFace, listen: h.listenTalk,
		routes: func(routes *front.Routes, rest *api.API) error {
			api.RegisterConversations(rest, h.talk)
			routes.Handle(h.talkFace.Route(), h.talkFace)
			faceopenai.New(faceopenai.Deps{Talk: h.talk, Agents: h.minds.agents, Files: h.files, Front: h.front, Log: h.logger}).Register(routes)
			return nil
		},
		count: func(_ context.Context, _ identity.Actor, counts map[string]int64) error {
			counts["running"] += int64(h.talk.Stats().Runs)
			return nil
		},
		drain: func(ctx context.Context) error { return h.talkFace.Close(ctx) },
	}
}

func (h *Hub) openTalk(ctx context.Context) error {
	t, err := talk.New(talk.Deps{
		Memory: memory.New(h.db), Leases: h.leases, Bus: h.bus, Agents: h.minds.agents, Models: h.minds.models, Ledger: h.minds.ledger,
		Inbox: h.inbox, Audit: h.trail, Files: h.files, Skills: h.minds, Tools: h.minds.toolsForTurn, PersonOf: h.personOf, Mask: h.mask, Log: h.logger,
		Commands: h.minds.policy, Rules: h.approvalRules(ctx), People: h.people, Workspace: h.spaces.Dir, WhoseOf: h.whoseFolder, Roots: h.conf.Box.Write, Clustered: h.conf.NATS != "",
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

// openTalkFace makes the conversations protocol's face; it listens with Run.
func (h *Hub) openTalkFace(context.Context) error {
	h.talkFace = facetalk.New(facetalk.Deps{
		Talk: h.talk, Agents: h.minds.agents, Models: h.minds.models, Shelf: h.minds.shelf, People: h.people, Front: h.front,
		Hub: h.name(), Log: h.logger,
	})
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace)
		defer cancel()
		// Runs finish, or are cancelled, while their clients are still there to hear it.
		return errors.Join(h.talk.Close(ctx), h.talkFace.Close(ctx))
	})
	return nil
}

// listenTalk opens the Unix socket and, if asked, TCP.
func (h *Hub) listenTalk(ctx context.Context) error {
	err := h.talkFace.ListenUnix(ctx, h.folder.Path(socketFile))
	if errors.Is(err, facetalk.ErrPathTooLong) {
		h.logger.Warn("there is no local socket; programs use /talk/ws", "error", err)
		err = nil
	}
	if err != nil || h.conf.Talk.TCP == "" {
		return err
	}
	if h.conf.Talk.TCPOpen {
		h.logger.Warn("talk.tcp_open: every program on this machine may speak as anybody", "address", h.conf.Talk.TCP)
	}
	return h.talkFace.ListenTCP(ctx, h.conf.Talk.TCP, facetalk.TCPOptions{
		InsecureOpen: h.conf.Talk.TCPOpen, PortFile: h.folder.Path("parley.talk.port"),
	})
}

// personOf is whose inbox an agent's questions for a sender go to: the person of
// that name, and the owner for everybody who is none of this hub.
func (h *Hub) personOf(sender string) string {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if person, err := h.people.BySender(ctx, sender); err == nil {
		return person.ID
	}
	owner, err := h.people.Owner(ctx)
	if err != nil {
		return sender
	}
	return owner.ID
}
