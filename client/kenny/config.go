package kenny

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	wire "parley.internal/protocol/kenny"
)

// Handler does what a hub asks for.
type Handler interface {
	// Call runs one tool and gives its result object. A [*wire.Error] travels
	// as it is; any other error is answered "internal". It runs in a goroutine
	// of its own; ctx ends when Run does.
	Call(ctx context.Context, req *wire.Request) (jsontext.Value, error)
	// Policy takes the operator's rules in place of earlier ones. No request
	// that arrives later starts before it returns.
	Policy(rules []wire.Rule)
}

// Config is what a machine needs to know.
type Config struct {
	// URL is the hub's address; see [TunnelURL].
	URL string
	// Others are further addresses of the same hub, or of hubs of its cluster: they are
	// tried in turn, at once, before there is a pause.
	Others []string
	// InsecurePlaintext allows an unencrypted tunnel to another host. Use
	// https instead.
	InsecurePlaintext bool
	AgentID           string
	// Key is the machine's own; ServerKeys are the one or two it trusts.
	Key        ed25519.PrivateKey
	ServerKeys []ed25519.PublicKey
	Meta       wire.Meta
	// MetaNow, where given, is asked at each connection in place of Meta.
	MetaNow func() wire.Meta
	Handler Handler
	Log     *slog.Logger
	// HTTPClient carries TLS settings and proxies; nil is a plain client.
	HTTPClient *http.Client
	// Dial replaces the WebSocket transport; nil is [WebSocketDialer].
	Dial Dialer
	// OnConnect and OnDisconnect, where given, tell of sessions the hub
	// accepted. They must not block.
	OnConnect    func()
	OnDisconnect func(error)
}

// New checks a configuration. It does not connect yet.
func New(cfg Config) (*Client, error) {
	var urls []string
	for _, hub := range append([]string{cfg.URL}, cfg.Others...) {
		url, err := TunnelURL(hub, cfg.InsecurePlaintext)
		if err != nil {
			return nil, err
		}
		urls = append(urls, url)
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Dial == nil {
		cfg.Dial = WebSocketDialer(cfg.HTTPClient)
	}
	return &Client{cfg: cfg, urls: urls, random: rand.Float64, slots: make(chan struct{}, maxCalls)}, nil
}

func (cfg Config) check() error {
	if cfg.Handler == nil {
		return errors.New("no handler")
	}
	if len(cfg.Key) != ed25519.PrivateKeySize {
		return wire.ErrBadSeed
	}
	if len(cfg.ServerKeys) == 0 || len(cfg.ServerKeys) > 2 {
		return wire.ErrBadPins
	}
	for _, k := range cfg.ServerKeys {
		if err := wire.CheckPublicKey(k); err != nil {
			return err
		}
	}
	own, _ := cfg.Key.Public().(ed25519.PublicKey)
	if slices.ContainsFunc(cfg.ServerKeys, func(k ed25519.PublicKey) bool { return own.Equal(k) }) {
		return fmt.Errorf("%w: a machine must not trust its own key as the hub's", wire.ErrBadPins)
	}
	// The first frame must be one a hub can accept, or nothing ever works.
	_, err := wire.Encode(&wire.Register{AgentID: cfg.AgentID, Protocol: wire.Version, ClientNonce: make([]byte, wire.NonceSize), Meta: cfg.Meta})
	return err
}
