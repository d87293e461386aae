package viber

import (
	"crypto/ed25519"
	"net/http"
	"time"

	wire "parley.internal/protocol/viber"
)

// Options are how to reach a server and who we are.
type Options struct {
	// Token proves who we are. After pairing, the client goes on with the device
	// token it was given; keep that from Session.
	Token string
	// Key signs the server's challenge; servers elsewhere want that. It also gives
	// the device its id.
	Key ed25519.PrivateKey
	// DeviceID names this device when there is no Key; empty = "parley-go".
	DeviceID string
	// Role is what we are; empty = operator.
	Role wire.Role
	// Scopes is what we ask for; nil = everything the token allows.
	Scopes []string
	// Client is how we are called in the server's logs.
	Client wire.ClientInfo

	// MaxBuffered is how many bytes of one stream may wait for its consumer; zero = 16 MiB.
	MaxBuffered int
	// Heartbeat is the time between signs of life; zero = 30 s. A server that does
	// not answer one for as long and a half again is given up.
	Heartbeat time.Duration
	// WriteTimeout is how long the server may take to accept a frame; zero = 30 s.
	WriteTimeout time.Duration
	// RetryMin and RetryMax bound the pause before coming back; zero = 1 s and 30 s.
	RetryMin, RetryMax time.Duration
	// HTTPClient makes the handshake; nil = one of its own.
	HTTPClient *http.Client
	// OnChange, if set, is told each time the connection comes (nil) or goes (why).
	// It must not wait for the client.
	OnChange func(why error)
}

const handshakeTimeout = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.Role == "" {
		o.Role = wire.RoleOperator
	}
	if o.Scopes == nil {
		// A star does not stand for opening terminals, nor for tasks, and machines through
		// them, that are used unasked.
		o.Scopes = []string{"*", string(wire.ScopeTerminalCreate), string(wire.ScopeTaskUnattended), "fleet:unattended"}
	}
	if o.Key != nil {
		o.DeviceID = wire.DeviceID(o.publicKey())
	} else if o.DeviceID == "" {
		o.DeviceID = "parley-go"
	}
	if o.Client.Name == "" {
		o.Client.Name = "parley-go"
	}
	if o.MaxBuffered <= 0 {
		o.MaxBuffered = 16 << 20
	}
	o.Heartbeat = orElse(o.Heartbeat, 30*time.Second)
	o.WriteTimeout = orElse(o.WriteTimeout, 30*time.Second)
	o.RetryMin = orElse(o.RetryMin, time.Second)
	o.RetryMax = max(orElse(o.RetryMax, 30*time.Second), o.RetryMin)
	return o
}

func (o Options) publicKey() ed25519.PublicKey {
	public, _ := o.Key.Public().(ed25519.PublicKey)
	return public
}

func orElse(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}
