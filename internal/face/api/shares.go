package api

import (
	"context"
	"net/http"
	"time"

	"parley/internal/identity"
	"parley/internal/talk/memory"
)

// registerShares adds memory that is shared on purpose.
func registerShares(a *API, c conversationRoutes) {
	at := func(method, path, summary string, status int) route {
		return route{Method: method, Path: path, Tag: "conversations", Summary: summary, Status: status}
	}
	add(a, at("GET", "/api/memory/shares", "What you share of agents' memory, and what is shared with you", 0), c.shares)
	add(a, at("POST", "/api/memory/shares", "Let an agent recall archives of another agent's, or another person's, conversations", http.StatusCreated), c.share)
	add(a, at("DELETE", "/api/memory/shares/{id}", "Take it back, at once", http.StatusNoContent), c.unshare)
}

// shareView is memory that is shared.
type shareView struct {
	ID       string    `json:"id"`
	Agent    string    `json:"agent" doc:"whose memory: this agent's"`
	Sender   string    `json:"sender" doc:"with this sender"`
	Archive  string    `json:"archive_id,omitempty" doc:"only this archive"`
	ToAgent  string    `json:"to_agent" doc:"who recalls it"`
	ToSender string    `json:"to_sender" doc:"when talking with this sender"`
	By       string    `json:"by" doc:"who gave it"`
	Created  time.Time `json:"created_at"`
	Expires  time.Time `json:"expires_at"`
}

func viewShare(g memory.Grant) shareView {
	return shareView{
		ID: g.ID, Agent: g.Agent, Sender: g.Sender, Archive: g.Archive, ToAgent: g.ToAgent, ToSender: g.ToSender, By: g.Maker.Person.Name,
		Created: g.Created, Expires: g.Expires,
	}
}

type shareList struct {
	Body struct {
		Shares []shareView `json:"shares"`
	}
}

func (c conversationRoutes) shares(ctx context.Context, s identity.Actor, _ *struct{}) (*shareList, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	list, err := c.talk.Shares(ctx, who)
	out := &shareList{}
	out.Body.Shares = make([]shareView, len(list))
	for i, g := range list {
		out.Body.Shares[i] = viewShare(g)
	}
	return out, err
}

type shareRequest struct {
	Body struct {
		Agent    string    `json:"agent" maxLength:"64"`
		Sender   string    `json:"sender,omitempty" maxLength:"256" doc:"yourself, if none is named"`
		Archive  string    `json:"archive_id,omitempty" maxLength:"64"`
		ToAgent  string    `json:"to_agent" maxLength:"64"`
		ToSender string    `json:"to_sender,omitempty" maxLength:"256" doc:"the same sender, if none is named"`
		Expires  time.Time `json:"expires_at,omitzero" doc:"within a year; in 30 days, if none is named"`
	}
}

type shareAnswer struct{ Body shareView }

func (c conversationRoutes) share(ctx context.Context, s identity.Actor, in *shareRequest) (*shareAnswer, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	b := in.Body
	g, err := c.talk.Share(ctx, who, memory.Grant{Agent: b.Agent, Sender: b.Sender, Archive: b.Archive, ToAgent: b.ToAgent, ToSender: b.ToSender, Expires: b.Expires})
	if err != nil {
		return nil, err
	}
	return &shareAnswer{viewShare(g)}, nil
}

func (c conversationRoutes) unshare(ctx context.Context, s identity.Actor, in *byID) (*struct{}, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	return nil, c.talk.Unshare(ctx, who, in.ID)
}
