package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/rest"
)

// RegisterPlace adds the meeting place as people of this hub see it: metadata, keys and
// trust, never content. Whose things they reach is the place's to say. warnings says what the page should warn of.
func RegisterPlace(a *API, p place.API, warnings func() []string) {
	see, run := access{Scope: identity.Place, Tag: "place"}, access{Scope: identity.PlaceManage, Tag: "place"}
	r := placeRoutes{p, warnings}
	add(a, see, rest.GetPlace, r.overview)
	add(a, see, rest.ListPlaceAgents, r.agents)
	add(a, see, rest.GetPlaceAgent, r.agent)
	add(a, see, rest.EndPlaceSessions, r.revoke)
	add(a, run, rest.PlaceGraph, r.graph)
	add(a, see, rest.ListPostings, r.postings)
	add(a, see, rest.RemovePosting, r.unpost)
	add(a, see, rest.ListPlaceQueues, r.queues)
	add(a, see, rest.ListPlaceKeys, r.keys)
	add(a, see, rest.ForgetPlaceKey, r.forget)
	add(a, run, rest.ListTrusted, r.trusted)
	addBody(a, run, rest.TrustKey, r.trust)
	add(a, run, rest.UntrustKey, r.untrust)
	add(a, run, rest.PlaceAudit, r.audit)
	add(a, run, rest.PlaceTraffic, r.hours)
	add(a, run, rest.RenewPlaceSalt, r.salt)
	add(a, run, rest.ListPeers, r.peers)
	addBody(a, run, rest.AddPeer, r.addPeer)
	add(a, run, rest.RemovePeer, r.removePeer)
}

type placeRoutes struct {
	place    place.API
	warnings func() []string
}

func (r placeRoutes) overview(ctx context.Context, who identity.Actor, _ *rest.None) (rest.PlaceOverview, error) {
	info, err := r.place.Info(ctx, visitor(who))
	return rest.PlaceOverview{
		PlaceID: info.PlaceID, PlaceKey: r.place.PlaceKey(), Name: info.Name, Auth: info.Auth, Features: info.Features,
		Agents: info.AgentsCount, Postings: info.PostingsCount, PendingMessages: info.PendingMessages, Started: info.StartedAt.Time,
		Warnings: append([]string{}, r.warnings()...),
	}, err
}

func placeAgentOf(a board.Agent) rest.PlaceAgent {
	return rest.PlaceAgent{
		ID: a.ID, Name: a.Name, Description: a.Description, Scope: a.Scope, Capabilities: append([]string{}, board.CapabilityNames(a.Capabilities)...),
		Endpoint: str(a.Endpoint), Place: str(a.Place), Proven: a.Proven, Trust: str(a.Trust), KeyID: str(a.KeyID),
		Registered: a.RegisteredAt.Time, LastSeen: a.LastSeen.Time, Expires: a.ExpiresAt.Time,
	}
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (r placeRoutes) agents(ctx context.Context, who identity.Actor, in *rest.PlaceAgentQuery) (rest.PlaceAgents, error) {
	found, err := r.place.Agents(ctx, visitor(who), board.AgentsQuery{
		Scope: in.Scope, Capability: in.Capability, Search: in.Search, IncludeSelf: true, IncludeRemote: true, Limit: in.Limit,
	})
	return rest.PlaceAgents{Agents: each(found.Agents, placeAgentOf)}, err
}

func (r placeRoutes) agent(ctx context.Context, who identity.Actor, in *rest.PlaceID) (rest.PlaceProfile, error) {
	p, err := r.place.Profile(ctx, visitor(who), in.ID)
	if err != nil {
		return rest.PlaceProfile{}, err
	}
	return rest.PlaceProfile{
		Agent: placeAgentOf(p.Agent), Postings: each(p.Postings, placePostingOf), Needs: append([]board.Need{}, p.Needs...),
		Deposits: each(p.DepositedSkills, placeDepositOf),
	}, nil
}

func placeDepositOf(d board.Deposit) rest.PlaceDeposit {
	return rest.PlaceDeposit{
		SkillID: d.SkillID, Name: d.Name, Description: d.Description, ContentHash: d.ContentHash, SizeBytes: d.SizeBytes, Deposited: d.DepositedAt.Time,
	}
}

func (r placeRoutes) revoke(ctx context.Context, who identity.Actor, in *rest.PlaceID) (rest.RevokedSessions, error) {
	n, err := r.place.RevokeTokens(ctx, visitor(who), in.ID)
	return rest.RevokedSessions{Revoked: n}, err
}

// visitor is somebody of this hub at its place.
func visitor(who identity.Actor) place.Visitor { return place.Visitor{Actor: who} }

func (r placeRoutes) graph(ctx context.Context, who identity.Actor, in *rest.PlaceLimit) (rest.PlaceEdges, error) {
	edges, err := r.place.Graph(ctx, visitor(who), in.Limit)
	return rest.PlaceEdges{Edges: each(edges, func(v place.Edge) rest.PlaceEdge { return rest.PlaceEdge(v) })}, err
}

func placePostingOf(p board.Posting) rest.Posting {
	return rest.Posting{
		ID: p.ID, AgentID: p.AgentID, AgentName: str(p.AgentName), Type: p.Type, SkillName: str(p.SkillName), Summary: str(p.SkillSummary),
		Format: p.SkillFormat, Tags: p.Tags, Proven: p.Proven, Created: p.CreatedAt.Time, Expires: p.ExpiresAt.Time,
	}
}

func (r placeRoutes) postings(ctx context.Context, who identity.Actor, in *rest.PostingQuery) (rest.Postings, error) {
	found, err := r.place.Browse(ctx, visitor(who), board.BrowseQuery{Type: in.Type, AgentID: in.Agent, Search: in.Search, Limit: in.Limit})
	return rest.Postings{Postings: each(found.Postings, placePostingOf)}, err
}

func (r placeRoutes) unpost(ctx context.Context, who identity.Actor, in *rest.PlaceID) (rest.None, error) {
	_, err := r.place.RemovePosting(ctx, visitor(who), in.ID, "")
	return rest.None{}, err
}

func (r placeRoutes) queues(ctx context.Context, who identity.Actor, in *rest.PlaceLimit) (rest.PlaceQueues, error) {
	found, err := r.place.Queues(ctx, visitor(who), in.Limit)
	return rest.PlaceQueues{Queues: each(found, func(v place.Queue) rest.PlaceQueue { return rest.PlaceQueue(v) })}, err
}
