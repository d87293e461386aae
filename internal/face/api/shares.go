package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/rest"
)

// registerShares adds memory that is shared on purpose.
func registerShares(a *API, c conversationRoutes) {
	see := access{Tag: "conversations"}
	add(a, see, rest.ListShares, c.shares)
	addBody(a, see, rest.ShareMemory, c.share)
	add(a, see, rest.UnshareMemory, c.unshare)
}

func viewShare(g memory.Grant) rest.Share {
	return rest.Share{
		ID: g.ID, Agent: g.Agent, Sender: g.Sender, Archive: g.Archive, ToAgent: g.ToAgent, ToSender: g.ToSender, By: g.Maker.Person.Name,
		Created: g.Created, Expires: g.Expires,
	}
}

func (c conversationRoutes) shares(ctx context.Context, s identity.Actor, _ *rest.None) (rest.Shares, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Shares{}, err
	}
	list, err := c.talk.Shares(ctx, who)
	return rest.Shares{Shares: each(list, viewShare)}, err
}

func (c conversationRoutes) share(ctx context.Context, s identity.Actor, in *rest.ShareRequest) (rest.Share, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Share{}, err
	}
	g, err := c.talk.Share(ctx, who, memory.Grant{
		Agent: in.Agent, Sender: in.Sender, Archive: in.Archive, ToAgent: in.ToAgent, ToSender: in.ToSender, Expires: in.Expires,
	})
	return viewShare(g), err
}

func (c conversationRoutes) unshare(ctx context.Context, s identity.Actor, in *rest.ByID) (rest.None, error) {
	who, err := talker(s)
	if err != nil {
		return rest.None{}, err
	}
	return rest.None{}, c.talk.Unshare(ctx, who, in.ID)
}
