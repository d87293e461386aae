package hubapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// PlaceAgent is an agent at the hub's meeting place.
type PlaceAgent struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Description  string    `json:"description"`
	Scope        string    `json:"scope"`
	Capabilities []string  `json:"capabilities"`
	Place        string    `json:"place,omitempty"`
	Proven       bool      `json:"proven"`
	Trust        string    `json:"trust"`
	KeyID        string    `json:"key_id,omitempty"`
	Registered   time.Time `json:"registered_at"`
	LastSeen     time.Time `json:"last_seen"`
	Expires      time.Time `json:"expires_at"`
}

// PlacePosting is one on the place's board.
type PlacePosting struct {
	ID        string    `json:"id"`
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name"`
	Type      string    `json:"type"`
	SkillName string    `json:"skill_name"`
	Summary   string    `json:"summary"`
	Tags      []string  `json:"tags"`
	Proven    bool      `json:"proven"`
	Created   time.Time `json:"created_at"`
	Expires   time.Time `json:"expires_at"`
}

// PlaceQueue is one recipient's queue, without content.
type PlaceQueue struct {
	Agent   string    `json:"agent"`
	Pending int       `json:"pending"`
	Leased  int       `json:"leased"`
	Bytes   int64     `json:"bytes"`
	Dropped int64     `json:"dropped"`
	Oldest  time.Time `json:"oldest_at"`
	Limit   int       `json:"limit"`
}

// PlaceKey is an entry of the key directory.
type PlaceKey struct {
	Agent     string    `json:"agent"`
	KeyID     string    `json:"key_id"`
	Previous  string    `json:"previous_fingerprint,omitempty"`
	Proof     string    `json:"proof"`
	Changed   time.Time `json:"changed_at"`
	Envelopes []int     `json:"envelopes"`
	Trusted   bool      `json:"trusted"`
	Sessions  int       `json:"sessions"`
}

// PlaceEvent is an entry of the place's audit.
type PlaceEvent struct {
	At           time.Time `json:"at"`
	Event        string    `json:"event_type"`
	Action       string    `json:"action"`
	Participants []string  `json:"participants,omitempty"`
	MessageType  string    `json:"message_type,omitempty"`
	SizeBytes    *int64    `json:"size_bytes,omitempty"`
	AgentID      string    `json:"agent_id,omitempty"`
	Reason       string    `json:"reason,omitempty"`
}

// PlacePeer is a place this one is peered with.
type PlacePeer struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`
	Key     string    `json:"key"`
	PlaceID string    `json:"place_id"`
	Seen    time.Time `json:"seen_at"`
	Problem string    `json:"problem"`
	Agents  int       `json:"agents"`
	Waiting int       `json:"waiting"`
}

// PlaceOverview is the place in one look.
type PlaceOverview struct {
	PlaceID         string   `json:"place_id"`
	PlaceKey        string   `json:"place_key"`
	Name            string   `json:"name"`
	Auth            string   `json:"auth"`
	Features        []string `json:"features"`
	Agents          int64    `json:"agents"`
	Postings        int64    `json:"postings"`
	PendingMessages int64    `json:"pending_messages"`
	Warnings        []string `json:"warnings"`
}

// Place is the hub's meeting place in one look.
func (c *Client) Place(ctx context.Context) (out PlaceOverview, err error) {
	return out, c.Do(ctx, http.MethodGet, "/api/place", nil, nil, &out)
}

// PlaceAgents lists who is there.
func (c *Client) PlaceAgents(ctx context.Context, search string) ([]PlaceAgent, error) {
	var out struct {
		Agents []PlaceAgent `json:"agents"`
	}
	q := url.Values{}
	if search != "" {
		q.Set("search", search)
	}
	err := c.Do(ctx, http.MethodGet, "/api/place/agents", q, nil, &out)
	return out.Agents, err
}

// PlacePostings lists the board, newest first.
func (c *Client) PlacePostings(ctx context.Context, kind, search string) ([]PlacePosting, error) {
	var out struct {
		Postings []PlacePosting `json:"postings"`
	}
	q := url.Values{}
	for name, value := range map[string]string{"type": kind, "search": search} {
		if value != "" {
			q.Set(name, value)
		}
	}
	err := c.Do(ctx, http.MethodGet, "/api/place/postings", q, nil, &out)
	return out.Postings, err
}

// PlaceQueues lists queues with something in them, or lost.
func (c *Client) PlaceQueues(ctx context.Context) ([]PlaceQueue, error) {
	var out struct {
		Queues []PlaceQueue `json:"queues"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/place/queues", nil, nil, &out)
	return out.Queues, err
}

// PlaceKeys lists the key directory.
func (c *Client) PlaceKeys(ctx context.Context) ([]PlaceKey, error) {
	var out struct {
		Keys []PlaceKey `json:"keys"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/place/keys", nil, nil, &out)
	return out.Keys, err
}

// TrustPlaceKey trusts the key an address has now, if it is that one.
func (c *Client) TrustPlaceKey(ctx context.Context, address, keyID string) error {
	return c.Do(ctx, http.MethodPost, "/api/place/trust", nil, map[string]string{"address": address, "key_id": keyID}, nil)
}

// UntrustPlaceKey trusts a key no more.
func (c *Client) UntrustPlaceKey(ctx context.Context, keyID string) error {
	return c.Do(ctx, http.MethodDelete, "/api/place/trust/"+url.PathEscape(keyID), nil, nil, nil)
}

// ForgetPlaceAgent releases an agent's pin.
func (c *Client) ForgetPlaceAgent(ctx context.Context, agent string) error {
	return c.Do(ctx, http.MethodDelete, "/api/place/keys/"+url.PathEscape(agent), nil, nil, nil)
}

// PlaceAudit lists the last events at the place.
func (c *Client) PlaceAudit(ctx context.Context, kind string, limit int) ([]PlaceEvent, error) {
	var out struct {
		Events []PlaceEvent `json:"events"`
	}
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if kind != "" {
		q.Set("type", kind)
	}
	err := c.Do(ctx, http.MethodGet, "/api/place/audit", q, nil, &out)
	return out.Events, err
}

// PlacePeers lists peered places.
func (c *Client) PlacePeers(ctx context.Context) ([]PlacePeer, error) {
	var out struct {
		Peers []PlacePeer `json:"peers"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/place/peers", nil, nil, &out)
	return out.Peers, err
}

// AddPlacePeer starts peering.
func (c *Client) AddPlacePeer(ctx context.Context, name, address, key string) (out PlacePeer, err error) {
	return out, c.Do(ctx, http.MethodPost, "/api/place/peers", nil, map[string]string{"name": name, "url": address, "key": key}, &out)
}

// RemovePlacePeer ends it.
func (c *Client) RemovePlacePeer(ctx context.Context, name string) error {
	return c.Do(ctx, http.MethodDelete, "/api/place/peers/"+url.PathEscape(name), nil, nil, nil)
}
