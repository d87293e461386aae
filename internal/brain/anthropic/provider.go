package anthropic

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// DefaultBaseURL is where Anthropic listens.
const DefaultBaseURL = "https://api.anthropic.com"

// Options of a provider. Only Key is needed.
type Options struct {
	Name    string // "anthropic" if empty
	Key     string
	BaseURL string // DefaultBaseURL if empty
	// MaxOutput is sent when a request sets no limit; the API insists on one. 0
	// chooses by model.
	MaxOutput int
	// Zero times stand for 10 s, 120 s and 60 s.
	Connect, FirstToken, BetweenTokens time.Duration
}

// LogValue keeps the key out of logs.
func (o Options) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", o.Name), slog.Bool("key", o.Key != ""))
}

// String keeps the key out of printed values.
func (o Options) String() string { return "anthropic options" }

// GoString does the same for %#v.
func (o Options) GoString() string { return o.String() }

// Provider speaks to one Messages API. It is safe for concurrent use.
type Provider struct {
	opts     Options
	http     *http.Client
	messages sdk.MessageService
}

// New checks the options; it does not connect.
func New(o Options) (*Provider, error) {
	if o.Name == "" {
		o.Name = "anthropic"
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	base, err := modelhttp.ParseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	// people paste the address with the version, the SDK adds it itself
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1") + "/"
	client := modelhttp.NewClient(o.Connect)
	// the service made directly reads nothing from the environment
	svc := sdk.NewMessageService(
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(client),
		option.WithAPIKey(o.Key),
		option.WithMaxRetries(0),
	)
	return &Provider{opts: o, http: client, messages: svc}, nil
}

// Name is the provider's name in model references.
func (p *Provider) Name() string { return p.opts.Name }

// Close drops idle connections.
func (p *Provider) Close() { p.http.CloseIdleConnections() }

// Stream makes one attempt.
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return modelhttp.Attempt{
		Provider: p.Name(), Key: p.opts.Key, FirstToken: p.opts.FirstToken, BetweenTokens: p.opts.BetweenTokens,
		Send: func(ctx context.Context, into **http.Response) error {
			return p.messages.NewStreaming(ctx, p.params(req), option.WithResponseInto(into)).Err()
		},
		Answer: func() modelhttp.Answer { return &answer{provider: p} },
	}.Stream(ctx)
}
