package rest

import (
	"encoding/json"
	"time"

	"parley.internal/protocol/kibitz"
)

// Rooms: opening, policy, grants, commands, invites, trail. A change here is the same
// change as by a frame of a host.
var (
	ListRooms      = Get[None, Rooms]("/api/rooms", "List rooms")
	OpenRoom       = Post[RoomRequest, Room]("/api/rooms", "Open a room").Created()
	GetRoom        = Get[RoomName, RoomInfo]("/api/rooms/{room}", "One room")
	CloseRoom      = Delete[RoomName, None]("/api/rooms/{room}", "Close a room for good")
	RoomPolicy     = Get[RoomName, PolicyState]("/api/rooms/{room}/policy", "Who may enter, with which grants; ETag is the version")
	SetRoomPolicy  = Put[PolicyChange, PolicyState]("/api/rooms/{room}/policy", "Replace the policy, or take a signed manifest; If-Match compares the version")
	AllowKey       = Post[KeyAllowance, PolicyState]("/api/rooms/{room}/keys", "Allow an agent key, or change its grant")
	RevokeKey      = Delete[RoomKey, PolicyState]("/api/rooms/{room}/keys/{thumbprint}", "Revoke an agent key; its presence ends at once")
	RoomRoster     = Get[RoomName, RosterState]("/api/rooms/{room}/roster", "Who is here, unredacted, with all grants")
	SetGrant       = Put[GrantChange, GrantState]("/api/rooms/{room}/grants/{participant}", "Override a participant's grant")
	ClearGrant     = Delete[Participant, GrantState]("/api/rooms/{room}/grants/{participant}", "Remove the override")
	CommandRoom    = Post[RoomCommand, Done]("/api/rooms/{room}/commands", "A host's command: lobbyon, lobbyoff, admit, deny, lock, unlock, reset, kick, ban, unban, publisher, unpublisher")
	InviteToRoom   = Post[RoomInvitation, Invite]("/api/rooms/{room}/invites", "Make a pass to the room").Created()
	PassToRoom     = Post[RoomPassRequest, RoomPass]("/api/rooms/{room}/pass", "Let a page of a listed website enter the room as oneself, for an hour").Created()
	ListInvites    = Get[RoomName, Invites]("/api/rooms/{room}/invites", "The passes that are good, without the passes themselves")
	WithdrawInvite = Delete[InviteName, None]("/api/rooms/{room}/invites/{invite}", "Make a pass worthless; whoever came with it is out at once")
	ListBans       = Get[RoomName, Bans]("/api/rooms/{room}/bans", "Who may not come back")
	GiveRoom       = Put[RoomGift, RoomInfo]("/api/rooms/{room}/owner", "Give the room to another person")
	ListHosts      = Get[RoomName, Hosts]("/api/rooms/{room}/hosts", "Whom its owner made a host")
	AppointHost    = Put[HostAppointment, Host]("/api/rooms/{room}/hosts/{person}", "Make a person a host; ttl is in seconds, none is for good")
	DismissHost    = Delete[HostName, None]("/api/rooms/{room}/hosts/{person}", "Make them a host no more")
	RoomAudit      = Get[RoomAuditQuery, RoomEntries]("/api/rooms/{room}/audit", "The room's part of the audit trail, ascending; query: after, limit, kind, id")
	ShareInRoom    = Post[RoomFile, File]("/api/rooms/{room}/files", "Show a file of yours to everybody who is in the room; it is said by its address").Created()
	GetRoomFile    = Get[RoomFileName, None]("/api/rooms/{room}/files/{digest}", "A file that was shown in the room, while you are there and may read its chat").As("application/octet-stream")
	ListSeats      = Get[RoomName, Seats]("/api/rooms/{room}/agents", "Agents of this hub that sit in the room")
	SeatAgent      = Post[SeatRequest, Seat]("/api/rooms/{room}/agents", "Seat an agent of this hub; it watches until a host lets it speak").Created()
	UnseatAgent    = Delete[SeatName, None]("/api/rooms/{room}/agents/{agent}", "Take an agent of this hub out")
)

// RoomName names a room.
type RoomName struct {
	Room string `path:"room"`
}

// RoomPassRequest says which website's page shall enter.
type RoomPassRequest struct {
	Room string `path:"room"`
	Body Website
}

// RoomPass is such a page's way in.
type RoomPass struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires_at"`
}

// RoomFile is a file to be shown in a room.
type RoomFile struct {
	Room string `path:"room"`
	Body RoomFileBody
}

// RoomFileBody names a file of the caller's.
type RoomFileBody struct {
	Digest string `json:"digest"`
}

// RoomFileName names a file that was shown in a room.
type RoomFileName struct {
	Room   string `path:"room"`
	Digest string `path:"digest"`
}

// RoomRequest opens a room.
type RoomRequest struct {
	Room   string          `json:"room"`
	Title  string          `json:"title,omitempty"`
	Policy json.RawMessage `json:"policy,omitempty"`
	Demo   string          `json:"demo,omitempty"`
}

// Room is a room with its addresses.
type Room struct {
	Room    string     `json:"room"`
	Title   string     `json:"title"`
	URL     string     `json:"url"`
	WS      string     `json:"ws"`
	Key     kibitz.Raw `json:"key"`
	Version int64      `json:"version"`
	Owner   string     `json:"owner,omitempty" doc:"the name of whose room it is"`
}

// RoomInfo is a room with who is in it.
type RoomInfo struct {
	Room
	Members int  `json:"members"`
	Agents  int  `json:"agents"`
	Locked  bool `json:"locked"`
}

// Rooms is a list of them.
type Rooms struct {
	Rooms []RoomInfo `json:"rooms"`
}

// PolicyState is a room's policy as it is in force.
type PolicyState struct {
	Version  int64          `json:"version"`
	Policy   *kibitz.Policy `json:"policy"`
	Warnings []string       `json:"warnings"`
}

// PolicyChange is a policy as a whole, or a signed one.
type PolicyChange struct {
	Room    string `path:"room"`
	IfMatch string `header:"If-Match" doc:"the version the caller has seen"`
	Body    json.RawMessage
}

// Manifest is a signed policy, and the key it is signed with.
type Manifest struct {
	Manifest string            `json:"manifest"`
	Key      *kibitz.PublicKey `json:"key"`
}

// KeyAllowance allows a key.
type KeyAllowance struct {
	Room string `path:"room"`
	Body kibitz.AllowedKey
}

// RoomKey names a key of a room.
type RoomKey struct {
	Room       string `path:"room"`
	Thumbprint string `path:"thumbprint"`
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

// Participant names somebody in a room.
type Participant struct {
	Room        string `path:"room"`
	Participant string `path:"participant"`
}

// GrantChange overrides a grant.
type GrantChange struct {
	Participant
	Body json.RawMessage
}

// GrantState is a grant after a change: the effective one.
type GrantState struct {
	Rev   uint64       `json:"rev"`
	Grant kibitz.Grant `json:"grant"`
}

// RoomCommand is a host's order.
type RoomCommand struct {
	Room string `path:"room"`
	Body HostCommand
}

// HostCommand is a host's order without a signature.
type HostCommand struct {
	Op     kibitz.Op `json:"op"`
	Target string    `json:"target,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Done says that something was done.
type Done struct {
	OK bool `json:"ok"`
}

// RoomInvitation asks for a pass.
type RoomInvitation struct {
	Room string `path:"room"`
	Body InviteRequest
}

// InviteRequest says whom a pass is for, and how long it is good, in seconds.
type InviteRequest struct {
	Name string        `json:"name"`
	TTL  float64       `json:"ttl"`
	JKT  string        `json:"jkt,omitempty" doc:"the thumbprint of the agent it is for; empty: whoever carries it"`
	Caps *kibitz.Grant `json:"caps,omitempty"`
}

// Invite is a pass. Its token stands in the fragment of the address, which no server and
// no log sees.
type Invite struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	URL   string `json:"url"`
}

// InviteName names a pass by its id.
type InviteName struct {
	Room   string `path:"room"`
	Invite string `path:"invite"`
}

// Invited is a pass that was given out.
type Invited struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	JKT       string    `json:"jkt,omitempty" doc:"the thumbprint of the agent it is for"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	Expires   time.Time `json:"expires_at"`
	Withdrawn bool      `json:"withdrawn,omitempty"`
}

// Invites is a list of them.
type Invites struct {
	Invites []Invited `json:"invites"`
}

// Ban is somebody who may not come back: "key:THUMBPRINT", "person:alice",
// "email:…", "invite:…", "guest:…".
type Ban struct {
	ID     string `json:"id"`
	By     string `json:"by"`
	TS     int64  `json:"ts"`
	Reason string `json:"reason"`
}

// Bans is a list of them.
type Bans struct {
	Bans []Ban `json:"bans"`
}

// RoomGift gives a room to somebody.
type RoomGift struct {
	Room string `path:"room"`
	Body PersonName
}

// PersonName is a person by id or name.
type PersonName struct {
	Person string `json:"person"`
}

// HostName names a host of a room.
type HostName struct {
	Room   string `path:"room"`
	Person string `path:"person"`
}

// HostAppointment makes somebody a host.
type HostAppointment struct {
	HostName
	Body TTL
}

// TTL is how long something lasts, in seconds.
type TTL struct {
	TTL float64 `json:"ttl"`
}

// Host is somebody whom an owner made a host.
type Host struct {
	Person  string    `json:"person"`
	Name    string    `json:"name,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires_at,omitzero" doc:"absent if it does not end by itself"`
}

// Hosts is a list of them.
type Hosts struct {
	Hosts []Host `json:"hosts"`
}

// RoomAuditQuery chooses entries, ascending.
type RoomAuditQuery struct {
	Room  string `path:"room"`
	After int64  `query:"after"`
	Limit int    `query:"limit"`
	Kind  string `query:"kind"`
	ID    string `query:"id"`
}

// RoomEntry is one entry of the trail that is about a room. TS is in milliseconds.
type RoomEntry struct {
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

// RoomEntries is some of them; Next is what to ask After with.
type RoomEntries struct {
	Entries []RoomEntry `json:"entries"`
	Next    int64       `json:"next"`
}

// SeatRequest seats an agent.
type SeatRequest struct {
	Room string `path:"room"`
	Body SeatWish
}

// SeatWish says whom to seat. Tools are none unless they are listed here.
type SeatWish struct {
	Agent string   `json:"agent"`
	Tools []string `json:"tools,omitempty"`
}

// SeatName names an agent of the hub in a room.
type SeatName struct {
	Room  string `path:"room"`
	Agent string `path:"agent"`
}

// Seat is an agent of the hub in a room.
type Seat struct {
	Room  string   `json:"room"`
	Agent string   `json:"agent"`
	KeyID string   `json:"keyId"`
	Tools []string `json:"tools,omitempty"`
	By    string   `json:"by"`
}

// Seats is a list of them.
type Seats struct {
	Agents []Seat `json:"agents"`
}
