package mmp

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
	o := openObject(body)
	r := &SendRequest{
		From: o.id("from", ValidID), To: o.id("to", ValidAddress), Blob: o.bytes("encrypted_blob", MaxRelayBody),
		BlobHash: o.text("blob_hash", MaxID), MessageType: o.textOr("message_type", MaxMessageType, "unknown"),
		IdempotencyKey: o.textOr("idempotency_key", MaxIdempotency, idempotencyKey),
	}
	if o.err != nil {
		return nil, o.err
	}
	var err error
	if r.From, err = actAs("from", r.From, token); err != nil {
		return nil, err
	}
	return r, r.check(o)
}

func (r *SendRequest) check(o *object) error {
	switch {
	case r.To == "":
		return Required("to")
	case !o.has("encrypted_blob"):
		return Required("encrypted_blob")
	case r.BlobHash == "":
		return Required("blob_hash")
	case len(r.Blob) == 0:
		return ErrBlobEmpty
	case len(r.Blob) > MaxBlob:
		return ErrBlobTooLarge
	case !HashFits(r.BlobHash, r.Blob):
		return ErrBlobHash
	case len(r.IdempotencyKey) > MaxIdempotency:
		return InvalidField("idempotency_key")
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
	o := openObject(body)
	r := &AckRequest{
		AgentID: o.id("agent_id", ValidID),
		IDs:     o.texts("ids", MaxAckIDs, MaxID), Release: o.texts("release", MaxAckIDs, MaxID),
	}
	if o.err != nil {
		return nil, o.err
	}
	var err error
	r.AgentID, err = actAs("agent_id", r.AgentID, token)
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
	ExpiresAt Time     `json:"expires_at"`
	Dropped   *Dropped `json:"dropped,omitzero"`
	Duplicate bool     `json:"duplicate,omitzero"`
}

// RelayMessage is one message as it is handed out.
type RelayMessage struct {
	ID           string `json:"id"`
	From         string `json:"from"`
	To           string `json:"to"`
	MessageType  string `json:"message_type"`
	Blob         string `json:"encrypted_blob"`
	BlobHash     string `json:"blob_hash"`
	CreatedAt    Time   `json:"created_at"`
	ExpiresAt    Time   `json:"expires_at"`
	SenderProven bool   `json:"sender_proven"`
	Attempt      int    `json:"attempt,omitzero"`
	LeasedUntil  Time   `json:"leased_until,omitzero"`
}

// ReceiveAnswer answers relay/receive; more tells that the limit cut it short.
type ReceiveAnswer struct {
	Messages []RelayMessage `json:"messages"`
	Count    int            `json:"count"`
	More     bool           `json:"more"`
}

// PeekAnswer answers relay/peek.
type PeekAnswer struct {
	Messages     []RelayMessage `json:"messages"`
	Count        int            `json:"count"`
	More         bool           `json:"more"`
	TotalPending int            `json:"total_pending"`
}

// StatusAnswer answers relay/status.
type StatusAnswer struct {
	AgentID      string `json:"agent_id"`
	PendingCount int    `json:"pending_count"`
	OldestAt     Time   `json:"oldest_at"`
	NewestAt     Time   `json:"newest_at"`
	LeasedCount  int    `json:"leased_count"`
	DroppedCount int64  `json:"dropped_count"`
	Limit        int    `json:"limit"`
}

// RelayStats answers relay/stats; the oldest message is its age in seconds.
type RelayStats struct {
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
	RelayID     string `json:"relay_id"`
	To          string `json:"to"`
	MessageType string `json:"message_type"`
	SizeBytes   int    `json:"size_bytes"`
	BlobHash    string `json:"blob_hash"`
	Status      Fate   `json:"status"`
	Reason      string `json:"reason,omitzero"`
	CreatedAt   Time   `json:"created_at"`
	ExpiresAt   Time   `json:"expires_at"`
	ChangedAt   Time   `json:"changed_at"`
}

// SentAnswer answers relay/sent.
type SentAnswer struct {
	Messages []SentMessage `json:"messages"`
	Count    int           `json:"count"`
}
