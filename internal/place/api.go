package place

import (
	"context"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

// API is all that faces and hosted agents need. *Place is one. Every method is
// safe for concurrent use; refusals are mmp.Error (or *mmp.Rejection).
type API interface {
	// Authenticate tells whose session token it is; 401 when it is nobody's. Every
	// use is a sign of life.
	Authenticate(ctx context.Context, token string) (Visitor, error)
	// Logout takes one session token back.
	Logout(ctx context.Context, who Visitor) error
	// Challenge makes a nonce for a proof.
	Challenge(ctx context.Context, who Visitor, agent string) (mmp.ChallengeAnswer, error)
	// Prove checks a proof outside a registration (an introduction) and pins the key
	// like a registration would; the token is empty when the id is not covered.
	Prove(ctx context.Context, who Visitor, req ProveRequest) (Proven, error)

	// Speak tells who a direct message comes from, and refuses one in the name of an
	// agent that has proven its key elsewhere than in this request.
	Speak(ctx context.Context, who Visitor, from string) (Sender, error)

	// StartTalk, EndTalk and Talks are the sessions of direct talk; agent is the one
	// of this hub, by its id.
	StartTalk(ctx context.Context, who Visitor, agent, peer string) (Talk, error)
	EndTalk(ctx context.Context, who Visitor, agent string, req meeting.SessionEnd) (Talk, error)
	Talks(ctx context.Context, agent, peer string, limit int) ([]Talk, error)

	// Register, Heartbeat and Unregister are the registry.
	Register(ctx context.Context, who Visitor, req *board.Registration) (board.RegisterAnswer, error)
	Heartbeat(ctx context.Context, who Visitor, agent string) (board.HeartbeatAnswer, error)
	Unregister(ctx context.Context, who Visitor, agent string) (board.UnregisterAnswer, error)
	Agents(ctx context.Context, who Visitor, q board.AgentsQuery) (board.AgentsAnswer, error)
	// Agent finds one, also of a peered place (id@place).
	Agent(ctx context.Context, who Visitor, id string) (board.Agent, error)
	Profile(ctx context.Context, who Visitor, id string) (board.ProfileAnswer, error)

	// Post and its neighbours are the board.
	Post(ctx context.Context, who Visitor, req *board.PostRequestBody) (board.PostAnswer, error)
	RemovePosting(ctx context.Context, who Visitor, id, agent string) (board.RemoveAnswer, error)
	Browse(ctx context.Context, who Visitor, q board.BrowseQuery) (board.BrowseAnswer, error)
	Posting(ctx context.Context, who Visitor, id string) (board.Posting, error)
	MyPostings(ctx context.Context, who Visitor, agent string) (board.BrowseAnswer, error)
	PublishNeeds(ctx context.Context, who Visitor, req *board.NeedsRequest) (board.NeedsAnswer, error)
	RemoveNeeds(ctx context.Context, who Visitor, agent string) (board.NeedsAnswer, error)

	// Deposit and its neighbours are the shelf of skills; they need a token.
	Deposit(ctx context.Context, who Visitor, req *board.DepositRequest) (board.DepositAnswer, error)
	UpdateDeposit(ctx context.Context, who Visitor, req *board.DepositRequest) (board.UpdateAnswer, error)
	Withdraw(ctx context.Context, who Visitor, skillID, reason string) (board.WithdrawAnswer, error)
	Preview(ctx context.Context, who Visitor, skillID string, q board.PreviewQuery) (board.Deposit, error)
	SkillContent(ctx context.Context, who Visitor, skillID, owner string) (board.ContentAnswer, error)
	Attest(ctx context.Context, who Visitor, req *board.AttestRequest) (board.AttestAnswer, error)

	// RegisterKey and Key are the key directory; a key of a peered place is found
	// under id@place.
	RegisterKey(ctx context.Context, who Visitor, req *mmp.KeyRequest) (mmp.KeyRegistered, error)
	Key(ctx context.Context, who Visitor, agent string) (mmp.KeyAnswer, error)
	// KeyHead, KeyConsistency and KeyHistory are the log of all keys; Heads and HandOver
	// exchange what was seen of other places' logs.
	KeyHead(ctx context.Context) (mmp.Head, error)
	KeyConsistency(ctx context.Context, from, to int64) (mmp.ConsistencyAnswer, error)
	KeyHistory(ctx context.Context, who Visitor, agent string) (mmp.HistoryAnswer, error)
	Heads(ctx context.Context, who Visitor) (mmp.SeenAnswer, error)
	HandOver(ctx context.Context, who Visitor, heads []mmp.Head) (mmp.SeenAnswer, error)

	// Send is durable when it returns. Receive consumes, or leases with ManualAck,
	// and waits as long as the query says; Peek only looks.
	Send(ctx context.Context, who Visitor, req *relay.SendRequest) (relay.SendAnswer, error)
	Receive(ctx context.Context, who Visitor, q relay.ReceiveQuery) (relay.ReceiveAnswer, error)
	// Poll is Receive for those who wait for thousands.
	Poll(who Visitor, q relay.ReceiveQuery, wake func()) (*Poll, error)
	Peek(ctx context.Context, who Visitor, q relay.ReceiveQuery) (relay.PeekAnswer, error)
	Ack(ctx context.Context, who Visitor, req *relay.AckRequest) (relay.AckAnswer, error)
	QueueStatus(ctx context.Context, who Visitor, agent string) (relay.StatusAnswer, error)
	RelayStats(ctx context.Context, who Visitor) (relay.Stats, error)
	Sent(ctx context.Context, who Visitor, q relay.SentQuery) (relay.SentAnswer, error)

	// Audit is metadata of what happened; AuditStats its sums.
	Audit(ctx context.Context, who Visitor, q board.AuditQuery) (board.AuditAnswer, error)
	AuditStats(ctx context.Context, who Visitor, hours int) (board.AuditStats, error)

	// Info, Stats, Welcome and Health say what this place is; anybody may ask.
	Info(ctx context.Context, who Visitor) (board.Info, error)
	Stats(ctx context.Context, who Visitor) (board.Stats, error)
	Welcome(ctx context.Context) board.Welcome
	Health(ctx context.Context) (board.Health, error)

	Operator
	Federation
}

// Operator is what people of this hub may do and see at the place: metadata, never
// content, and never as an agent. Whoever runs the place reaches everything; others
// reach what is about agents of theirs, as if nothing else were there.
type Operator interface {
	// Queues lists queues with something in them or lost, the fullest first.
	Queues(ctx context.Context, who Visitor, limit int) ([]Queue, error)
	// Pins lists keys.
	Pins(ctx context.Context, who Visitor, limit int) ([]Pin, error)
	// Forget releases a pin: the id's key, proof and tokens are gone, and whoever
	// comes next may have it.
	Forget(ctx context.Context, who Visitor, agent string) error
	// RevokeTokens ends every session of an agent and its open polls.
	RevokeTokens(ctx context.Context, who Visitor, agent string) (int, error)

	// What follows is for whoever runs the place alone.

	// Graph is who sent how much to whom.
	Graph(ctx context.Context, who Visitor, limit int) ([]Edge, error)
	// Trusted lists the keys a person trusts. Trust marks the key an address has now as
	// looked at by a person; keyID must be that key, so that nobody trusts what was
	// swapped meanwhile.
	Trusted(ctx context.Context, who Visitor) ([]Trust, error)
	Trust(ctx context.Context, who Visitor, address, keyID string) (Trust, error)
	Untrust(ctx context.Context, who Visitor, keyID string) error
	// RenewSalt makes all anonymised ids new ones.
	RenewSalt(ctx context.Context, who Visitor) error

	// TrustedKey tells whether a person trusts the key.
	TrustedKey(ctx context.Context, keyID string) (bool, error)
	// PlaceID and PlaceKey name this place to others.
	PlaceID() string
	PlaceKey() string
	// Policy is how agents prove themselves here.
	Policy() Auth
}

// Federation is the place's life with other places.
type Federation interface {
	// AddPeer starts peering; the other operator must do the same.
	AddPeer(ctx context.Context, who Visitor, p Peer) (Peer, error)
	RemovePeer(ctx context.Context, who Visitor, name string) error
	Peers(ctx context.Context, who Visitor) ([]Peer, error)
	// PeerCall verifies a call of a peered place and names it; 401 otherwise.
	PeerCall(ctx context.Context, call InboundCall) (Peer, error)
	// PeerAgents, PeerKey and PeerRelay answer such calls.
	PeerAgents(ctx context.Context, from Peer) (board.AgentsAnswer, error)
	PeerKey(ctx context.Context, from Peer, agent string) (mmp.KeyAnswer, error)
	PeerRelay(ctx context.Context, from Peer, m Forwarded) (relay.SendAnswer, error)
}

// ProveRequest is a proof that came with an introduction.
type ProveRequest struct {
	Agent     string
	PublicKey string
	Static    mmp.Static
	Proof     *mmp.Proof
}

// Proven is the verdict on it.
type Proven struct {
	// Verified: the signature fits. Challenged: it answers a challenge, and only that
	// makes the sender a proven one.
	Verified, Challenged bool

	Token   string
	Expires time.Time
	KeyID   string
}

// Queue is one recipient's, without content.
type Queue struct {
	Agent    string
	Pending  int
	Leased   int
	Bytes    int64
	Dropped  int64
	Oldest   time.Time
	Newest   time.Time
	Limit    int
	Proven   bool
	Outgoing bool // it waits for a peered place
}

// Edge is what one agent sent another.
type Edge struct {
	From, To string
	Messages int64
	Bytes    int64
	Last     time.Time
}

// Pin is an agent's key as the operator sees it.
type Pin struct {
	Agent       string
	KeyID       string
	Fingerprint string
	Previous    string
	Proof       string // "", "static" or "challenge"
	Registered  time.Time
	Changed     time.Time
	Proven      time.Time
	Envelopes   []int
	Trusted     bool
	Sessions    int
}

// Trust is a person's word that a key is who it says.
type Trust struct {
	KeyID   string
	Address string
	By      string
	At      time.Time
}

// Peer is a place this one exchanges messages with.
type Peer struct {
	Name    string
	URL     string
	Key     string // ed25519:…
	PlaceID string // learnt at the first call
	Added   time.Time
	Seen    time.Time
	Problem string
	Agents  int
	Waiting int
}

// InboundCall is a call of another place, as it came.
type InboundCall struct {
	Method, Target         string
	Body                   []byte
	Peer, Time, Nonce, Sig string
}

// Forwarded is a message on its way between places.
type Forwarded struct {
	RelayID   string   `json:"relay_id"`
	From      string   `json:"from"`
	To        string   `json:"to"`
	Type      string   `json:"message_type"`
	Blob      string   `json:"encrypted_blob"`
	BlobHash  string   `json:"blob_hash"`
	CreatedAt mmp.Time `json:"created_at"`
	ExpiresAt mmp.Time `json:"expires_at"`
}
