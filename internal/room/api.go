package room

import (
	"context"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/protocol/kibitz"
)

// API is all a face needs. *Rooms is one; tests of faces may bring their own.
// Rooms are named by their normalised id (kibitz.NormalizeRoom); ids are never
// normalised twice. Refusals are *kibitz.Refusal.
type API interface {
	// Resolve finds the room a text names: an id as it is stored, or any other
	// spelling of it. The refusal is room.bad-id or room.unknown.
	Resolve(ctx context.Context, text string) (string, error)
	// Enter connects to a room, as a WebSocket does: hello goes to the link before
	// Enter returns, or soon after when another hub has the room. The caller feeds
	// what the client sends to the connection and calls Gone once at the end.
	Enter(ctx context.Context, e Entry) (Connection, error)

	// Open makes a room.
	Open(ctx context.Context, by identity.Actor, req OpenRequest) (Info, error)
	List(ctx context.Context, by identity.Actor) ([]Info, error)
	Get(ctx context.Context, by identity.Actor, room string) (Info, error)
	// Close ends a room and forgets it; everybody is told.
	Close(ctx context.Context, by identity.Actor, room string) error

	Policy(ctx context.Context, by identity.Actor, room string) (PolicyState, error)
	// SetPolicy takes effect before it returns. ifVersion 0 does not compare.
	SetPolicy(ctx context.Context, by identity.Actor, room string, doc []byte, ifVersion int64) (PolicyState, error)
	// SetManifest takes a signed membership as the policy.
	SetManifest(ctx context.Context, by identity.Actor, room, token string, key kibitz.Raw, ifVersion int64) (PolicyState, error)
	// Allow and Revoke change one agent key of the policy.
	Allow(ctx context.Context, by identity.Actor, room string, key kibitz.AllowedKey) (PolicyState, error)
	Revoke(ctx context.Context, by identity.Actor, room, thumbprint string) (PolicyState, error)

	Roster(ctx context.Context, by identity.Actor, room string) (RosterState, error)
	// SetGrant overrides a participant's grant; nil removes the override.
	SetGrant(ctx context.Context, by identity.Actor, room, participant string, grant *kibitz.Grant) (GrantState, error)
	// Command does what a host's mod frame does.
	Command(ctx context.Context, by identity.Actor, room string, cmd HostCommand) error
	Invite(ctx context.Context, by identity.Actor, room string, req InviteRequest) (Invite, error)
	// Pass lets a person come in from a page of another website, as themselves and
	// without being a host.
	Pass(ctx context.Context, by identity.Actor, room, origin string) (Pass, error)
	// Invites lists the passes that are good; Withdraw makes one worthless.
	Invites(ctx context.Context, by identity.Actor, room string) ([]Invited, error)
	Withdraw(ctx context.Context, by identity.Actor, room, invite string) error
	Bans(ctx context.Context, by identity.Actor, room string) ([]Ban, error)
	// GiveTo makes a person, by id, the room's owner. Appoint makes one a host, for a
	// while or until Dismiss; only the owner and an admin do these three.
	GiveTo(ctx context.Context, by identity.Actor, room, person string) error
	Appoint(ctx context.Context, by identity.Actor, room, person string, ttl time.Duration) (Hosting, error)
	Dismiss(ctx context.Context, by identity.Actor, room, person string) error
	Hosts(ctx context.Context, by identity.Actor, room string) ([]Hosting, error)
	Audit(ctx context.Context, by identity.Actor, room string, q AuditQuery) (AuditPage, error)
	// Present refuses a person who is not in the room now, or may not do there what is
	// named; and everybody in a sealed room, of which the hub keeps nothing.
	Present(ctx context.Context, by identity.Actor, room string, may kibitz.Capability) error

	Stats() Stats
}

// Entry is a new connection to a room.
type Entry struct {
	Room string
	Link Link
	// Origin is what the client dialled, as it goes into a channel fingerprint:
	// "https://hub.example". Proofs are bound to it.
	Origin string
	// Address is where the client is, for the log.
	Address string
	// Actor is the hub's word on who it is; nil for anonymous ones.
	Actor *identity.Actor
	// Hosted is set for an agent that the hub itself runs or that an operator's
	// token stands for: it needs no proof, is always of the kind agent, and gets
	// the default grant.
	Hosted *Hosted
}

// Hosted is an agent the hub answers for.
type Hosted struct {
	// Agent is its name in the trail: "agent:kibitzer", "person:alice".
	Agent string `json:"agent"`
	// Backend and Egress are declared by the hub and not by the agent.
	Backend string `json:"backend,omitempty"`
	Egress  bool   `json:"egress,omitempty"`
	// HasKey: it brings the key of a sealed room, which the hub can read with it.
	HasKey bool `json:"has_key,omitempty"`
}

// Link is where the frames of one connection go. No method blocks, and they may
// be called from anywhere.
type Link interface {
	// Send queues a frame. A link that cannot take it ends the connection.
	Send(o *Out)
	// Close ends the connection behind what waits, with a close code.
	Close(code int, reason string)
	// Admitted tells that the connection belongs to somebody now.
	Admitted()
}

// Connection is what the client's side has of its connection to a room.
type Connection interface {
	// Receive takes one message of the client. It may block while the room is
	// busy; the data is not kept.
	Receive(data []byte)
	// Revoked ends the presence at once: its credential was taken back.
	Revoked()
	// Cut says, before Gone, that the hub ended the connection for a fault of the
	// client, which the trail shall name.
	Cut(why Fault)
	// Gone says that the connection is no more. It is called exactly once.
	Gone()
}

// OpenRequest makes a room. Room may be any text; it is normalised.
type OpenRequest struct {
	Room   string
	Title  string
	Policy []byte // empty: the default policy
}

// Info is a room in a listing.
type Info struct {
	Room  string `json:"room"`
	Title string `json:"title"`
	// Owner is the id of whose room it is.
	Owner   string     `json:"owner,omitempty"`
	Key     kibitz.Raw `json:"key"`
	Version int64      `json:"version"`
	Members int        `json:"members"`
	Agents  int        `json:"agents"`
	Locked  bool       `json:"locked"`
}

// PolicyState is a room's policy as it is in force.
type PolicyState struct {
	Version  int64          `json:"version"`
	Policy   *kibitz.Policy `json:"policy"`
	Warnings []string       `json:"warnings"`
}

// RosterState is the roster as an operator sees it.
type RosterState struct {
	Members []kibitz.Member         `json:"members"`
	Waiting []kibitz.Waiting        `json:"waiting"`
	Host    string                  `json:"host"`
	Locked  bool                    `json:"locked"`
	Lobby   bool                    `json:"lobby"`
	Grants  map[string]kibitz.Grant `json:"grants"`
	Rev     uint64                  `json:"rev"`
	Seq     uint64                  `json:"seq"`
}

// GrantState is a grant after a change: the effective one.
type GrantState struct {
	Rev   uint64       `json:"rev"`
	Grant kibitz.Grant `json:"grant"`
}

// HostCommand is a host's order without a signature.
type HostCommand struct {
	Op     kibitz.Op `json:"op"`
	Target string    `json:"target,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// InviteRequest asks for a pass.
type InviteRequest struct {
	Name string        `json:"name"`
	TTL  time.Duration `json:"ttl"`
	// JKT is the thumbprint of the agent it is for; empty: whoever carries it.
	JKT  string        `json:"jkt,omitempty"`
	Caps *kibitz.Grant `json:"caps,omitempty"`
}

// Invite is a pass; it goes into voice.jwt.
type Invite struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// Ban is somebody who may not come back: "key:THUMBPRINT", "person:alice",
// "email:…", "invite:…", "guest:…".
type Ban struct {
	ID     string `json:"id"`
	By     string `json:"by"`
	TS     int64  `json:"ts"`
	Reason string `json:"reason"`
}

// AuditQuery chooses entries, ascending.
type AuditQuery struct {
	After int64
	Limit int
	Kind  string
	ID    string
}

// AuditEntry is one entry of the trail that is about a room. TS is in
// milliseconds.
type AuditEntry struct {
	Seq    int64       `json:"seq"`
	TS     int64       `json:"ts"`
	Room   string      `json:"room"`
	Actor  string      `json:"actor"`
	ID     string      `json:"id"`
	KeyID  string      `json:"keyId,omitempty"`
	Kind   string      `json:"kind"`
	Detail string      `json:"detail"`
	Code   kibitz.Code `json:"code,omitempty"`
	Count  int         `json:"count,omitempty"`
	Hash   string      `json:"hash"`
}

// AuditPage is some entries; Next is what to ask After with.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	Next    int64        `json:"next"`
}

// Stats are figures of this hub.
type Stats struct {
	Rooms       int
	Connections int
	Members     int
}
