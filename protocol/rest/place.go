package rest

import (
	"time"

	"parley.internal/protocol/mmp/board"
)

// The meeting place as people of the hub see it: metadata, keys and trust, never content.
var (
	GetPlace         = Get[None, PlaceOverview]("/api/place", "The place in one look")
	ListPlaceAgents  = Get[PlaceAgentQuery, PlaceAgents]("/api/place/agents", "Registered agents, of peered places too")
	GetPlaceAgent    = Get[PlaceID, PlaceProfile]("/api/place/agents/{id}", "One agent with its postings, needs and deposits")
	EndPlaceSessions = Delete[PlaceID, RevokedSessions]("/api/place/agents/{id}/sessions", "End all sessions of one's own agent, or any")
	PlaceGraph       = Get[PlaceLimit, PlaceEdges]("/api/place/graph", "Who sent how much to whom")
	ListPostings     = Get[PostingQuery, Postings]("/api/place/postings", "Postings, newest first")
	RemovePosting    = Delete[PlaceID, None]("/api/place/postings/{id}", "Take a posting of one's own agent down, or any")
	ListPlaceQueues  = Get[PlaceLimit, PlaceQueues]("/api/place/queues", "Queues of one's own agents, or all: waiting, leased, lost")
	ListPlaceKeys    = Get[PlaceLimit, PlaceKeys]("/api/place/keys", "Keys of one's own agents, or all: pins, changes, proofs")
	ForgetPlaceKey   = Delete[PlaceID, None]("/api/place/keys/{id}", "Release the pin of one's own agent, or any: its key was lost")
	ListTrusted      = Get[None, TrustedKeys]("/api/place/trust", "Keys a person trusts")
	TrustKey         = Post[TrustRequest, TrustedKey]("/api/place/trust", "Trust the key an address has now")
	UntrustKey       = Delete[PlaceKeyID, None]("/api/place/trust/{key}", "Trust a key no more")
	PlaceAudit       = Get[PlaceAuditQuery, PlaceEvents]("/api/place/audit", "The last events, without content")
	PlaceTraffic     = Get[AuditHoursQuery, PlaceHours]("/api/place/audit/hours", "Traffic by hour")
	RenewPlaceSalt   = Post[None, None]("/api/place/audit/salt", "Make all anonymised ids new ones")
	ListPeers        = Get[None, Peers]("/api/place/peers", "Peered places")
	AddPeer          = Post[PeerRequest, Peer]("/api/place/peers", "Peer with a place; its operator must do the same")
	RemovePeer       = Delete[PeerName, None]("/api/place/peers/{name}", "End peering")
)

// PlaceID names an agent or a posting.
type PlaceID struct {
	ID string `path:"id" maxLength:"256"`
}

// PlaceLimit is how many at most.
type PlaceLimit struct {
	Limit int `query:"limit" minimum:"1" maximum:"5000" default:"500"`
}

// PlaceOverview is the place in one look.
type PlaceOverview struct {
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

// PlaceAgent is an agent at the hub's meeting place.
type PlaceAgent struct {
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

// PlaceAgents is a list of them.
type PlaceAgents struct {
	Agents []PlaceAgent `json:"agents"`
}

// PlaceAgentQuery chooses agents.
type PlaceAgentQuery struct {
	Scope      string `query:"scope"`
	Capability string `query:"capability"`
	Search     string `query:"search" maxLength:"200"`
	Limit      int    `query:"limit" minimum:"1" maximum:"10000" default:"500"`
}

// PlaceDeposit is a skill that an agent left at the place.
type PlaceDeposit struct {
	SkillID     string    `json:"skill_id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	ContentHash string    `json:"content_hash"`
	SizeBytes   int       `json:"size_bytes"`
	Deposited   time.Time `json:"deposited_at"`
}

// PlaceProfile is one agent with all it offers.
type PlaceProfile struct {
	Agent    PlaceAgent     `json:"agent"`
	Postings []Posting      `json:"postings"`
	Needs    []board.Need   `json:"needs"`
	Deposits []PlaceDeposit `json:"deposits"`
}

// RevokedSessions is how many ended.
type RevokedSessions struct {
	Revoked int `json:"revoked"`
}

// PlaceEdge is how much one agent sent to another.
type PlaceEdge struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Messages int64     `json:"messages"`
	Bytes    int64     `json:"bytes"`
	Last     time.Time `json:"last_at"`
}

// PlaceEdges is a list of them.
type PlaceEdges struct {
	Edges []PlaceEdge `json:"edges"`
}

// Posting is one on the place's board.
type Posting struct {
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

// Postings is a list of them.
type Postings struct {
	Postings []Posting `json:"postings"`
}

// PostingQuery chooses postings.
type PostingQuery struct {
	Type   string `query:"type"`
	Agent  string `query:"agent_id" maxLength:"128"`
	Search string `query:"search" maxLength:"200"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

// PlaceQueue is one recipient's queue, without content.
type PlaceQueue struct {
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

// PlaceQueues is a list of them.
type PlaceQueues struct {
	Queues []PlaceQueue `json:"queues"`
}

// PlaceKey is an entry of the key directory.
type PlaceKey struct {
	Agent       string    `json:"agent"`
	KeyID       string    `json:"key_id"`
	Fingerprint string    `json:"fingerprint"`
	Previous    string    `json:"previous_fingerprint,omitempty"`
	Proof       string    `json:"proof" doc:"empty, static or challenge"`
	Registered  time.Time `json:"registered_at"`
	Changed     time.Time `json:"changed_at"`
	Proven      time.Time `json:"proven_at"`
	Envelopes   []int     `json:"envelopes"`
	Trusted     bool      `json:"trusted"`
	Sessions    int       `json:"sessions"`
}

// PlaceKeys is a list of them.
type PlaceKeys struct {
	Keys []PlaceKey `json:"keys"`
}

// PlaceKeyID names a key.
type PlaceKeyID struct {
	Key string `path:"key" maxLength:"128"`
}

// TrustedKey is a key that a person trusts.
type TrustedKey struct {
	KeyID   string    `json:"key_id"`
	Address string    `json:"address"`
	By      string    `json:"trusted_by"`
	At      time.Time `json:"at"`
}

// TrustedKeys is a list of them.
type TrustedKeys struct {
	Trusted []TrustedKey `json:"trusted"`
}

// TrustRequest trusts the key an address has now, if it is that one.
type TrustRequest struct {
	Address string `json:"address" maxLength:"256"`
	KeyID   string `json:"key_id" doc:"the key the person looked at; another one is refused" maxLength:"128"`
}

// PlaceAuditQuery chooses events.
type PlaceAuditQuery struct {
	Type  string    `query:"type"`
	Agent string    `query:"agent_id" maxLength:"128"`
	Since time.Time `query:"since"`
	Limit int       `query:"limit" minimum:"1" maximum:"10000" default:"100"`
}

// PlaceEvent is an entry of the place's audit.
type PlaceEvent struct {
	At           time.Time `json:"at"`
	Event        string    `json:"event_type"`
	Action       string    `json:"action"`
	RelayID      string    `json:"relay_id,omitempty"`
	Participants []string  `json:"participants,omitempty"`
	MessageType  string    `json:"message_type,omitempty"`
	SizeBytes    *int64    `json:"size_bytes,omitempty"`
	AgentID      string    `json:"agent_id,omitempty"`
	KeyID        string    `json:"key_id,omitempty"`
	Changed      *bool     `json:"changed,omitempty"`
	Proof        string    `json:"proof,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	PostingID    string    `json:"posting_id,omitempty"`
	SkillID      string    `json:"skill_id,omitempty"`
	Peer         string    `json:"peer,omitempty"`
}

// PlaceEvents is a list of them.
type PlaceEvents struct {
	Events []PlaceEvent `json:"events"`
}

// PlaceHour is the traffic of one hour.
type PlaceHour struct {
	Hour   string `json:"hour" doc:"YYYY-MM-DD HH:00, UTC"`
	Relays int64  `json:"relays"`
	Bytes  int64  `json:"bytes"`
	Agents int64  `json:"agents"`
}

// PlaceHours is the traffic by hour, and in all.
type PlaceHours struct {
	Hours         []PlaceHour `json:"hours"`
	Relays        int64       `json:"total_relays"`
	Bytes         int64       `json:"total_bytes"`
	Registrations int64       `json:"total_registrations"`
	Dropped       int64       `json:"total_dropped"`
	Refused       int64       `json:"total_refused"`
	Expired       int64       `json:"total_expired"`
}

// Peer is a place this one is peered with.
type Peer struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`
	Key     string    `json:"key"`
	PlaceID string    `json:"place_id"`
	Added   time.Time `json:"added_at"`
	Seen    time.Time `json:"seen_at"`
	Problem string    `json:"problem"`
	Agents  int       `json:"agents"`
	Waiting int       `json:"waiting"`
}

// Peers is a list of them.
type Peers struct {
	Peers []Peer `json:"peers"`
}

// PeerRequest starts peering.
type PeerRequest struct {
	Name string `json:"name" maxLength:"64"`
	URL  string `json:"url" maxLength:"2000"`
	Key  string `json:"key" maxLength:"200" doc:"ed25519:…, as that place's info shows it"`
}

// PeerName names a peered place.
type PeerName struct {
	Name string `path:"name" maxLength:"64"`
}
