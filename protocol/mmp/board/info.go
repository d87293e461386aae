package board

import (
	"strconv"
	"strings"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/relay"
)

// The features a place may list.
const (
	FeatureRegistry    = "registry"
	FeatureBoard       = "bulletin_board"
	FeatureRelay       = "message_relay"
	FeatureEncryption  = "e2e_encryption"
	FeatureAudit       = "audit"
	FeatureDeposit     = "deposit"
	FeatureChallenge   = "challenge"
	FeatureLongPoll    = "long_poll"
	FeatureAck         = "ack"
	FeatureIdempotency = "idempotency"
	FeatureEnvelope2   = "envelope_v2"
	FeatureKeyLog      = "key_log"
	FeatureWebSocket   = "websocket"
	FeatureFederation  = "federation"
)

// Features lists what a place of ours offers, federation where it is on.
func Features(federation bool) []string {
	all := []string{
		FeatureRegistry, FeatureBoard, FeatureRelay, FeatureEncryption, FeatureAudit, FeatureDeposit,
		FeatureChallenge, FeatureLongPoll, FeatureAck, FeatureIdempotency, FeatureEnvelope2, FeatureKeyLog, FeatureWebSocket,
	}
	if federation {
		all = append(all, FeatureFederation)
	}
	return all
}

// PrivacyNote is part of every info answer.
const PrivacyNote = "Messages are encrypted end to end. The place keeps metadata (who, when, type, size) and cannot read content."

// Info answers /info. Counts that a reader may not see are null.
type Info struct {
	Name                 string   `json:"name"`
	Description          string   `json:"description"`
	Version              string   `json:"version"`
	ProtocolVersion      string   `json:"protocol_version"`
	PlaceID              string   `json:"place_id"`
	PlaceKey             *string  `json:"place_key"`
	Auth                 string   `json:"auth"`
	Features             []string `json:"features"`
	AgentsCount          int64    `json:"agents_count"`
	RegisteredAgents     int64    `json:"registered_agents"`
	MaxAgents            int64    `json:"max_agents"`
	PostingsCount        int64    `json:"postings_count"`
	PendingMessages      int64    `json:"pending_messages"`
	Limits               Limits   `json:"limits"`
	DepositLimits        Limits   `json:"deposit_limits"`
	SessionRatePerMinute int64    `json:"session_rate_limit_per_minute"`
	PrivacyNote          string   `json:"privacy_note"`
	StartedAt            mmp.Time `json:"started_at"`
	Timestamp            mmp.Time `json:"timestamp"`
}

// Limits are a place's figures by name.
type Limits map[string]int64

// UnmarshalJSON leaves out what is no whole number: places of today tell their limits
// in words, too.
func (l *Limits) UnmarshalJSON(raw []byte) error {
	*l = Limits{}
	for name, value := range mmp.OpenObject(raw).All() {
		if n, err := strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64); err == nil {
			(*l)[name] = n
		}
	}
	return nil
}

// Stats answers /stats.
type Stats struct {
	Place         map[string]any `json:"place"`
	Registry      RegistryStats  `json:"registry"`
	BulletinBoard BoardStats     `json:"bulletin_board"`
	MessageRelay  relay.Stats    `json:"message_relay"`
	Audit         AuditSummary   `json:"audit"`
	Timestamp     mmp.Time       `json:"timestamp"`
}

// RegistryStats sums the registry.
type RegistryStats struct {
	TotalAgents        int64            `json:"total_agents"`
	ByScope            map[string]int64 `json:"by_scope"`
	OldestRegistration mmp.Time         `json:"oldest_registration"`
	NewestRegistration mmp.Time         `json:"newest_registration"`
}

// BoardStats sums the board.
type BoardStats struct {
	TotalPostings int64            `json:"total_postings"`
	ByType        map[string]int64 `json:"by_type"`
	ByFormat      map[string]int64 `json:"by_format"`
	PopularTags   map[string]int64 `json:"popular_tags"`
	UniqueAgents  int64            `json:"unique_agents"`
}

// Welcome answers /welcome.
type Welcome struct {
	PlaceName      string   `json:"place_name"`
	Guide          string   `json:"guide"`
	AvailableTools []string `json:"available_tools"`
}

// Health answers /health.
type Health struct {
	Status    string   `json:"status"`
	Place     string   `json:"place"`
	Agents    int64    `json:"agents"`
	Postings  int64    `json:"postings"`
	Timestamp mmp.Time `json:"timestamp"`
}
