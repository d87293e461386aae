package mmp

import "time"

// ProtocolVersion is what this package speaks and what a message without a
// version is taken for.
const ProtocolVersion = "1.0.0"

// Body limits, in bytes.
const (
	MaxRelayBody   = 4 << 20
	MaxMeetingBody = 1 << 20
	MaxDepositBody = 512 << 10
	MaxBody        = 256 << 10
	// MaxDrain is how much of an oversized body is read and thrown away, so that
	// a client that writes before it reads gets its answer.
	MaxDrain = 8 << 20
)

// Limits of single fields. Texts count characters, raw JSON counts bytes.
const (
	MaxID            = 128
	MaxName          = 200
	MaxDescription   = 2000
	MaxScope         = 64
	MaxMessageType   = 64
	MaxRawField      = 8 << 10
	MaxTags          = 20
	MaxTag           = 64
	MaxEndpoint      = 2000
	MaxSummary       = 2000
	MaxNeeds         = 20
	MaxClaim         = 200 // bytes
	MaxReason        = 2000
	MaxSearch        = 200
	MaxIdempotency   = 200
	MaxAckIDs        = 1000
	MaxSignatureText = 4096
)

// MaxDepth and MaxNumber bound any JSON that is read: nesting, and the length of
// one number. MaxExponent bounds the digits of its exponent, so that no reader
// with exact decimals is made to write out a billion zeros.
const (
	MaxDepth    = 64
	MaxNumber   = 128
	MaxExponent = 4
)

// Limits of the relay, the board and the registry.
const (
	MaxBlob           = 1 << 20 // bytes of the base64 text
	QueueLimit        = 100
	PostingLimit      = 10
	DepositLimit      = 20
	MaxSkill          = 100_000 // bytes of one skill or extension
	MaxCustomPayload  = 64 << 10
	MaxHops           = 3
	MaxActions        = 20
	MaxExtensionName  = 100
	DefaultPostingTTL = 24 * time.Hour
	MaxPostingTTL     = 720 * time.Hour
	RegistryTTL       = 300 * time.Second
	TokenTTL          = time.Hour
	RelayTTL          = time.Hour
	ChallengeTTL      = time.Minute
	DefaultLease      = 60 * time.Second
	MinLease          = 5 * time.Second
	MaxLease          = 600 * time.Second
	MaxWait           = 60 * time.Second
)

// How far the time in a sealed message may be off, and how long its id is kept.
const (
	MaxAge       = 24 * time.Hour
	MaxAhead     = 5 * time.Minute
	ReplayWindow = 24 * time.Hour
	PeerSkew     = time.Minute
)
