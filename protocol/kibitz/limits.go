package kibitz

import "time"

// Sizes in bytes unless said otherwise.
const (
	MaxFrame     = 307_200  // a larger message closes the connection: CloseTooBig
	MaxHubFrame  = 16 << 20 // of the hub: the roster of a full room
	MaxApp       = 262_144  // app.data and a schema's document, compact
	MaxMeta      = 4_096
	MaxAvatar    = 2_048
	MaxGuest     = 128 // the stable secret of an anonymous client
	MaxAssertion = 2_048
	MaxProof     = 8_192 // every other proof: token, certificate, key, credit
	MaxChain     = 4     // certificates
	MaxSignal    = 65_536
	MaxInk       = 4_096
	MaxPayURL    = 512
	MaxDepth     = 64    // of app.data and a schema: arrays and objects within each other
	MaxChatBox   = 8_192 // a sealed line: 500 characters, escaped and encoded
)

// Lengths in characters (code points).
const (
	MaxRoomID  = 40
	MaxName    = 40
	MaxChat    = 500
	MaxLabel   = 80
	MaxBackend = 80
	MaxColor   = 32
	MaxSendID  = 64
	MaxSchema  = 120
	MaxVersion = 64
)

// MaxN is the largest number a frame may ask to be answered by: what every
// JSON reader keeps exact.
const MaxN = 1<<53 - 1

// How far clocks may differ, and how old a proof may be.
const (
	ClockSkew        = 60 * time.Second
	MaxAssertionAge  = 300 * time.Second
	MaxCommandAge    = 120 * time.Second
	CreditReapLeeway = 90 * time.Second
)
