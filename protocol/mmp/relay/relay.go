package relay

import (
	"parley.internal/protocol/mmp"
)

// SendRequest is a relay/send request; blob and hash are kept as sent. The blob may be
// a part of the body it was read from.
type SendRequest struct {
	From           string
	To             string
	Blob           []byte
	BlobHash       string
	MessageType    string
	IdempotencyKey string
}

// DecodeSend reads a message for the relay. What is missing is named in the order
// from, to, encrypted_blob, blob_hash, on which old clients rely. The idempotency
// key of the header, if any, is the second argument; token the id of the token.
func DecodeSend(body []byte, idempotencyKey, token string) (*SendRequest, error) {
	o := mmp.OpenObject(body)
	r := &SendRequest{
		From: o.ID("from", mmp.ValidID), To: o.ID("to", mmp.ValidAddress), Blob: o.Bytes("encrypted_blob", mmp.MaxRelayBody),
		BlobHash: o.Text("blob_hash", mmp.MaxID), MessageType: o.TextOr("message_type", mmp.MaxMessageType, "unknown"),
		IdempotencyKey: o.TextOr("idempotency_key", mmp.MaxIdempotency, idempotencyKey),
	}
	if o.Err() != nil {
		return nil, o.Err()
	}
	var err error
	if r.From, err = mmp.ActingAgent("from", r.From, token); err != nil {
		return nil, err
	}
	return r, r.check(o)
}

func (r *SendRequest) check(o *mmp.Object) error {
	switch {
	case r.To == "":
		return mmp.Required("to")
	case !o.Has("encrypted_blob"):
		return mmp.Required("encrypted_blob")
	case r.BlobHash == "":
		return mmp.Required("blob_hash")
	case len(r.Blob) == 0:
		return mmp.ErrBlobEmpty
	case len(r.Blob) > mmp.MaxBlob:
		return mmp.ErrBlobTooLarge
	case !mmp.HashFits(r.BlobHash, r.Blob):
		return mmp.ErrBlobHash
	case len(r.IdempotencyKey) > mmp.MaxIdempotency:
		return mmp.InvalidField("idempotency_key")
	}
	return nil
}

// AckRequest settles leased messages.
type AckRequest struct {
	AgentID string
	IDs     []string
	Release []string
}

// DecodeAck reads a relay/ack request.
func DecodeAck(body []byte, token string) (*AckRequest, error) {
	o := mmp.OpenObject(body)
	r := &AckRequest{
		AgentID: o.ID("agent_id", mmp.ValidID),
		IDs:     o.Texts("ids", mmp.MaxAckIDs, mmp.MaxID), Release: o.Texts("release", mmp.MaxAckIDs, mmp.MaxID),
	}
	if o.Err() != nil {
		return nil, o.Err()
	}
	var err error
	r.AgentID, err = mmp.ActingAgent("agent_id", r.AgentID, token)
	return r, err
}

// Dropped tells a sender whose message made room for his.
type Dropped struct {
	RelayID string `json:"relay_id"`
	Reason  string `json:"reason"`
}

// SendAnswer answers relay/send.
type SendAnswer struct {
	RelayID   string   `json:"relay_id"`
	Status    string   `json:"status"`
	ExpiresAt mmp.Time `json:"expires_at"`
	Dropped   *Dropped `json:"dropped,omitzero"`
	Duplicate bool     `json:"duplicate,omitzero"`
}

// Message is one message as it is handed out.
type Message struct {
	ID           string   `json:"id"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	MessageType  string   `json:"message_type"`
	Blob         string   `json:"encrypted_blob"`
	BlobHash     string   `json:"blob_hash"`
	CreatedAt    mmp.Time `json:"created_at"`
	ExpiresAt    mmp.Time `json:"expires_at"`
	SenderProven bool     `json:"sender_proven"`
	Attempt      int      `json:"attempt,omitzero"`
	LeasedUntil  mmp.Time `json:"leased_until,omitzero"`
}

// ReceiveAnswer answers relay/receive; more tells that the limit cut it short.
type ReceiveAnswer struct {
	Messages []Message `json:"messages"`
	Count    int       `json:"count"`
	More     bool      `json:"more"`
}

// PeekAnswer answers relay/peek.
type PeekAnswer struct {
	Messages     []Message `json:"messages"`
	Count        int       `json:"count"`
	More         bool      `json:"more"`
	TotalPending int       `json:"total_pending"`
}

// StatusAnswer answers relay/status.
type StatusAnswer struct {
	AgentID      string   `json:"agent_id"`
	PendingCount int      `json:"pending_count"`
	OldestAt     mmp.Time `json:"oldest_at"`
	NewestAt     mmp.Time `json:"newest_at"`
	LeasedCount  int      `json:"leased_count"`
	DroppedCount int64    `json:"dropped_count"`
	Limit        int      `json:"limit"`
}

// Stats answers relay/stats; the oldest message is its age in seconds.
type Stats struct {
	TotalMessages    int64  `json:"total_messages"`
	ActiveQueues     int64  `json:"active_queues"`
	OldestMessage    *int64 `json:"oldest_message"`
	TotalSizeBytes   int64  `json:"total_size_bytes"`
	AverageSizeBytes int64  `json:"average_size_bytes"`
	MaxSizeBytes     int64  `json:"max_size_bytes"`
}

// AckAnswer answers relay/ack with the ids each list holds.
type AckAnswer struct {
	Acked    []string `json:"acked"`
	Released []string `json:"released"`
	Unknown  []string `json:"unknown"`
}

// Fate is what became of a sent message.
type Fate string

// The fates.
const (
	FateQueued    Fate = "queued"
	FateLeased    Fate = "leased"
	FateReceived  Fate = "received"
	FateForwarded Fate = "forwarded"
	FateExpired   Fate = "expired"
	FateDropped   Fate = "dropped"
	FateRefused   Fate = "refused"
)

// SentMessage is one message an agent sent.
type SentMessage struct {
	RelayID     string   `json:"relay_id"`
	To          string   `json:"to"`
	MessageType string   `json:"message_type"`
	SizeBytes   int      `json:"size_bytes"`
	BlobHash    string   `json:"blob_hash"`
	Status      Fate     `json:"status"`
	Reason      string   `json:"reason,omitzero"`
	CreatedAt   mmp.Time `json:"created_at"`
	ExpiresAt   mmp.Time `json:"expires_at"`
	ChangedAt   mmp.Time `json:"changed_at"`
}

// SentAnswer answers relay/sent.
type SentAnswer struct {
	Messages []SentMessage `json:"messages"`
	Count    int           `json:"count"`
}
