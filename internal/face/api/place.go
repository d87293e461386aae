package api

import (
	"context"
	"time"

	"parley/internal/identity"
	"parley/internal/place"
	"parley/protocol/mmp/board"
)

// RegisterPlace adds the meeting place as people of this hub see it: metadata, keys and
// trust, never content. Whose things they reach is the place's to say. warnings says what the page should warn of.
func RegisterPlace(a *API, p place.API, warnings func() []string) {
	needs := func(scope string) func(method, path, summary string) route {
		return func(method, path, summary string) route {
			return route{Method: method, Path: "/api/place" + path, Scope: scope, Tag: "place", Summary: summary}
		}
	}
	rt, run := needs(identity.Place), needs(identity.PlaceManage)
	r := placeRoutes{p, warnings}
	add(a, rt("GET", "", "The place in one look"), r.overview)
	add(a, rt("GET", "/agents", "Registered agents, of peered places too"), r.agents)
	add(a, rt("GET", "/agents/{id}", "One agent with its postings, needs and deposits"), r.agent)
	add(a, rt("DELETE", "/agents/{id}/sessions", "End all sessions of one's own agent, or any"), r.revoke)
	add(a, run("GET", "/graph", "Who sent how much to whom"), r.graph)
	add(a, rt("GET", "/postings", "Postings, newest first"), r.postings)
	add(a, rt("DELETE", "/postings/{id}", "Take a posting of one's own agent down, or any"), r.unpost)
	add(a, rt("GET", "/queues", "Queues of one's own agents, or all: waiting, leased, lost"), r.queues)
	add(a, rt("GET", "/keys", "Keys of one's own agents, or all: pins, changes, proofs"), r.keys)
	add(a, rt("DELETE", "/keys/{id}", "Release the pin of one's own agent, or any: its key was lost"), r.forget)
	add(a, run("GET", "/trust", "Keys a person trusts"), r.trusted)
	add(a, run("POST", "/trust", "Trust the key an address has now"), r.trust)
	add(a, run("DELETE", "/trust/{key}", "Trust a key no more"), r.untrust)
	add(a, run("GET", "/audit", "The last events, without content"), r.audit)
	add(a, run("GET", "/audit/hours", "Traffic by hour"), r.hours)
	add(a, run("POST", "/audit/salt", "Make all anonymised ids new ones"), r.salt)
	add(a, run("GET", "/peers", "Peered places"), r.peers)
	add(a, run("POST", "/peers", "Peer with a place; its operator must do the same"), r.addPeer)
	add(a, run("DELETE", "/peers/{name}", "End peering"), r.removePeer)
}

type placeRoutes struct {
	place    place.API
	warnings func() []string
}

type placeOverview struct {
	Body struct {
		PlaceID         string    `json:"place_id"`
		PlaceKey        string    `json:"place_key" doc:"what the operator of a peered place needs"`
		Name            string    `json:"name"`
		Auth            string    `json:"auth"`
		Features        []string  `json:"features"`
		Agents          int64     `json:"agents"`
		Postings        int64     `json:"postings"`
		PendingMessages int64     `json:"pending_messages"`
		Started         time.Time `json:"started_at"`
		Warnings        []string  `json:"warnings"`
	}
}

func (r placeRoutes) overview(ctx context.Context, who identity.Actor, _ *struct{}) (*placeOverview, error) {
	info, err := r.place.Info(ctx, visitor(who))
	out := &placeOverview{}
	b := &out.Body
	b.PlaceID, b.PlaceKey, b.Name, b.Auth, b.Features = info.PlaceID, r.place.PlaceKey(), info.Name, info.Auth, info.Features
	b.Agents, b.Postings, b.PendingMessages, b.Started = info.AgentsCount, info.PostingsCount, info.PendingMessages, info.StartedAt.Time
	b.Warnings = append([]string{}, r.warnings()...)
	return out, err
}

type placeAgent struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Description  string    `json:"description"`
	Scope        string    `json:"scope"`
	Capabilities []string  `json:"capabilities"`
	Endpoint     string    `json:"endpoint,omitempty"`
	Place        string    `json:"place,omitempty" doc:"the peered place it is at; empty for this one"`
	Proven       bool      `json:"proven"`
	Trust        string    `json:"trust" doc:"L0 trusted by a person, L1 proven, L2 anybody"`
	KeyID        string    `json:"key_id,omitempty"`
	Registered   time.Time `json:"registered_at"`
	LastSeen     time.Time `json:"last_seen"`
	Expires      time.Time `json:"expires_at"`
}

func placeAgentOf(a board.Agent) placeAgent {
	return placeAgent{
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

type placeAgentsQuery struct {
	Scope      string `query:"scope"`
	Capability string `query:"capability"`
	Search     string `query:"search" maxLength:"200"`
	Limit      int    `query:"limit" minimum:"1" maximum:"10000" default:"500"`
}

type placeAgents struct {
	Body struct {
		Agents []placeAgent `json:"agents"`
	}
}

func (r placeRoutes) agents(ctx context.Context, who identity.Actor, in *placeAgentsQuery) (*placeAgents, error) {
	found, err := r.place.Agents(ctx, visitor(who), board.AgentsQuery{
		Scope: in.Scope, Capability: in.Capability, Search: in.Search, IncludeSelf: true, IncludeRemote: true, Limit: in.Limit,
	})
	out := &placeAgents{}
	out.Body.Agents = []placeAgent{}
	for _, a := range found.Agents {
		out.Body.Agents = append(out.Body.Agents, placeAgentOf(a))
	}
	return out, err
}

type placeID struct {
	ID string `path:"id" maxLength:"256"`
}

type placeDeposit struct {
	SkillID     string    `json:"skill_id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	ContentHash string    `json:"content_hash"`
	SizeBytes   int       `json:"size_bytes"`
	Deposited   time.Time `json:"deposited_at"`
}

type placeProfile struct {
	Body struct {
		Agent    placeAgent     `json:"agent"`
		Postings []placePosting `json:"postings"`
		Needs    []board.Need   `json:"needs"`
		Deposits []placeDeposit `json:"deposits"`
	}
}

func (r placeRoutes) agent(ctx context.Context, who identity.Actor, in *placeID) (*placeProfile, error) {
	p, err := r.place.Profile(ctx, visitor(who), in.ID)
	if err != nil {
		return nil, err
	}
	out := &placeProfile{}
	out.Body.Agent, out.Body.Needs = placeAgentOf(p.Agent), append([]board.Need{}, p.Needs...)
	out.Body.Postings, out.Body.Deposits = []placePosting{}, []placeDeposit{}
	for _, one := range p.Postings {
		out.Body.Postings = append(out.Body.Postings, placePostingOf(one))
	}
	for _, d := range p.DepositedSkills {
		out.Body.Deposits = append(out.Body.Deposits, placeDeposit{d.SkillID, d.Name, d.Description, d.ContentHash, d.SizeBytes, d.DepositedAt.Time})
	}
	return out, nil
}

type revokedAnswer struct {
	Body struct {
		Revoked int `json:"revoked"`
	}
}

func (r placeRoutes) revoke(ctx context.Context, who identity.Actor, in *placeID) (*revokedAnswer, error) {
	n, err := r.place.RevokeTokens(ctx, visitor(who), in.ID)
	out := &revokedAnswer{}
	out.Body.Revoked = n
	return out, err
}

// visitor is somebody of this hub at its place.
func visitor(who identity.Actor) place.Visitor { return place.Visitor{Actor: who} }

type placeLimit struct {
	Limit int `query:"limit" minimum:"1" maximum:"5000" default:"500"`
}

type placeEdge struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Messages int64     `json:"messages"`
	Bytes    int64     `json:"bytes"`
	Last     time.Time `json:"last_at"`
}

type placeGraph struct {
	Body struct {
		Edges []placeEdge `json:"edges"`
	}
}

func (r placeRoutes) graph(ctx context.Context, who identity.Actor, in *placeLimit) (*placeGraph, error) {
	edges, err := r.place.Graph(ctx, visitor(who), in.Limit)
	out := &placeGraph{}
	out.Body.Edges = []placeEdge{}
	for _, e := range edges {
		out.Body.Edges = append(out.Body.Edges, placeEdge(e))
	}
	return out, err
}

type placePosting struct {
	ID        string    `json:"id"`
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name"`
	Type      string    `json:"type"`
	SkillName string    `json:"skill_name"`
	Summary   string    `json:"summary"`
	Format    string    `json:"format"`
	Tags      []string  `json:"tags"`
	Proven    bool      `json:"proven"`
	Created   time.Time `json:"created_at"`
	Expires   time.Time `json:"expires_at"`
}

func placePostingOf(p board.Posting) placePosting {
	return placePosting{
		ID: p.ID, AgentID: p.AgentID, AgentName: str(p.AgentName), Type: p.Type, SkillName: str(p.SkillName), Summary: str(p.SkillSummary),
		Format: p.SkillFormat, Tags: p.Tags, Proven: p.Proven, Created: p.CreatedAt.Time, Expires: p.ExpiresAt.Time,
	}
}

type placePostingsQuery struct {
	Type   string `query:"type"`
	Agent  string `query:"agent_id" maxLength:"128"`
	Search string `query:"search" maxLength:"200"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type placePostings struct {
	Body struct {
		Postings []placePosting `json:"postings"`
	}
}

func (r placeRoutes) postings(ctx context.Context, who identity.Actor, in *placePostingsQuery) (*placePostings, error) {
	found, err := r.place.Browse(ctx, visitor(who), board.BrowseQuery{Type: in.Type, AgentID: in.Agent, Search: in.Search, Limit: in.Limit})
	out := &placePostings{}
	out.Body.Postings = []placePosting{}
	for _, one := range found.Postings {
		out.Body.Postings = append(out.Body.Postings, placePostingOf(one))
	}
	return out, err
}

func (r placeRoutes) unpost(ctx context.Context, who identity.Actor, in *placeID) (*struct{}, error) {
	_, err := r.place.RemovePosting(ctx, visitor(who), in.ID, "")
	return nil, err
}

type placeQueue struct {
	Agent    string    `json:"agent"`
	Pending  int       `json:"pending"`
	Leased   int       `json:"leased"`
	Bytes    int64     `json:"bytes"`
	Dropped  int64     `json:"dropped" doc:"lost because the queue was full, ever"`
	Oldest   time.Time `json:"oldest_at"`
	Newest   time.Time `json:"newest_at"`
	Limit    int       `json:"limit"`
	Proven   bool      `json:"proven"`
	Outgoing bool      `json:"outgoing" doc:"waits for a peered place"`
}

type placeQueues struct {
	Body struct {
		Queues []placeQueue `json:"queues"`
	}
}

func (r placeRoutes) queues(ctx context.Context, who identity.Actor, in *placeLimit) (*placeQueues, error) {
	found, err := r.place.Queues(ctx, visitor(who), in.Limit)
	out := &placeQueues{}
	out.Body.Queues = []placeQueue{}
	for _, q := range found {
		out.Body.Queues = append(out.Body.Queues, placeQueue(q))
	}
	return out, err
}
