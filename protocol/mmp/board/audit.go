package board

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"parley.internal/protocol/mmp"
)

// AuditNote comes with every listing.
const AuditNote = "Metadata only: the place cannot read message content."

// The event types of audit entries.
const (
	AuditRelay           = "relay"
	AuditKeyRegistration = "key_registration"
	AuditRegistration    = "registration"
	AuditBulletin        = "bulletin"
	AuditDeposit         = "deposit"
	AuditAuth            = "auth"
	AuditPeer            = "peer"
)

// AuditEntry is one event, never its content. What an event type has no use for
// is left out.
type AuditEntry struct {
	Timestamp      mmp.Time `json:"timestamp"`
	EventType      string   `json:"event_type"`
	Action         string   `json:"action"`
	RelayID        string   `json:"relay_id,omitzero"`
	Participants   []string `json:"participants,omitempty"`
	MessageType    string   `json:"message_type,omitzero"`
	SizeBytes      *int64   `json:"size_bytes,omitzero"`
	ContentHash    string   `json:"content_hash,omitzero"`
	AgentID        string   `json:"agent_id,omitzero"`
	KeyFingerprint string   `json:"key_fingerprint,omitzero"`
	KeyID          string   `json:"key_id,omitzero"`
	Changed        *bool    `json:"changed,omitzero"`
	Proof          string   `json:"proof,omitzero"`
	Reason         string   `json:"reason,omitzero"`
	PostingID      string   `json:"posting_id,omitzero"`
	SkillID        string   `json:"skill_id,omitzero"`
	Peer           string   `json:"peer,omitzero"`
}

// AuditAnswer lists the last entries in time order.
type AuditAnswer struct {
	Entries []AuditEntry `json:"entries"`
	Count   int          `json:"count"`
	Note    string       `json:"note"`
}

// AuditSummary sums the whole audit; relays are enqueues and dequeues together.
type AuditSummary struct {
	TotalRelays           int64    `json:"total_relays"`
	TotalBytesRelayed     int64    `json:"total_bytes_relayed"`
	TotalRegistrations    int64    `json:"total_registrations"`
	TotalKeyRegistrations int64    `json:"total_key_registrations"`
	TotalBulletinPosts    int64    `json:"total_bulletin_posts"`
	TotalDropped          int64    `json:"total_dropped"`
	TotalRefused          int64    `json:"total_refused"`
	TotalExpired          int64    `json:"total_expired"`
	StartedAt             mmp.Time `json:"started_at"`
	LastActivityAt        mmp.Time `json:"last_activity_at"`
}

// AuditHour sums one hour.
type AuditHour struct {
	RelayCount   int64 `json:"relay_count"`
	TotalBytes   int64 `json:"total_bytes"`
	UniqueAgents int64 `json:"unique_agents"`
}

// AuditStats answers audit/stats.
type AuditStats struct {
	Summary AuditSummary         `json:"summary"`
	Hourly  map[string]AuditHour `json:"hourly"`
}

// HourKey names an hour in those sums.
func HourKey(t time.Time) string { return t.UTC().Format("2006-01-02 15:00") }

// HourKeys names the last n hours, the present one included, oldest first.
func HourKeys(now time.Time, n int) []string {
	keys := make([]string, 0, max(n, 0))
	for i := n - 1; i >= 0; i-- {
		keys = append(keys, HourKey(now.Add(-time.Duration(i)*time.Hour)))
	}
	return keys
}

// Anonymize hides an id from strangers: stable under one salt, unlinkable across
// two.
func Anonymize(salt []byte, id string) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(id))
	return "anon_" + hex.EncodeToString(mac.Sum(nil))[:12]
}
