package openai

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// DefaultBaseURL is where OpenAI listens.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options of a provider. OpenAI itself needs only Key, a local server only BaseURL.
type Options struct {
	Name    string // "openai" if empty
	Key     string
	BaseURL string // DefaultBaseURL if empty; without a path, /v1 is meant
	// SystemFirst folds injected texts into the first system message, for chat
	// templates that know no other place.
	SystemFirst bool
	// SendReasoning gives earlier reasoning back as reasoning_content.
	SendReasoning bool
	// MaxOutput is sent when a request sets no limit; 0 leaves it to the server.
	MaxOutput int
	// Zero times stand for 10 s, 120 s and 60 s.
	Connect, FirstToken, BetweenTokens time.Duration
}

// LogValue keeps the key out of logs.
func (o Options) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", o.Name), slog.Bool("key", o.Key != ""))
}

// String keeps the key out of printed values.
func (o Options) String() string { return "openai options" }

// GoString does the same for %#v.
func (o Options) GoString() string { return o.String() }

// Provider speaks to one server. It is safe for concurrent use.
type Provider struct {
	opts Options
	own  bool // OpenAI itself, which renamed max_tokens
	http *http.Client
	chat sdk.ChatCompletionService
}

// New checks the options; it does not connect.
func New(o Options) (*Provider, error) {
	if o.Name == "" {
		o.Name = "openai"
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	base, err := modelhttp.ParseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if strings.Trim(base.Path, "/") == "" {
		base.Path = "/v1"
	}
	client := modelhttp.NewClient(o.Connect)
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	// the service made directly reads nothing from the environment
	return &Provider{opts: o, own: base.Hostname() == "api.openai.com", http: client, chat: sdk.NewChatCompletionService(opts...)}, nil
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
			return p.chat.NewStreaming(ctx, p.params(req), option.WithResponseInto(into)).Err()
		},
		Answer: func() modelhttp.Answer { return &answer{provider: p} },
	}.Stream(ctx)
}
