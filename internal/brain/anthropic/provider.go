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
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

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
	return func(yield func(model.Event, error) bool) {
		w := modelhttp.Watch(ctx, p.opts.FirstToken, p.opts.BetweenTokens)
		defer w.Stop()
		var resp *http.Response
		err := p.messages.NewStreaming(w.Context(), p.params(req), option.WithResponseInto(&resp)).Err()
		switch {
		case resp != nil && resp.StatusCode >= 300:
			yield(model.Event{}, modelhttp.FromStatus(p.Name(), p.opts.Key, resp))
		case err != nil:
			yield(model.Event{}, modelhttp.Fail(p.Name(), ctx, w, err))
		default:
			defer resp.Body.Close()
			if modelhttp.IsWhole(resp) {
				p.readWhole(ctx, w, resp, yield)
				return
			}
			p.read(ctx, w, resp, yield)
		}
	}
}

// read follows the event stream. The SDK's typed stream is not used for it: it goes by the names
// of events, which some gateways leave out, and would take their errors for silence.
func (p *Provider) read(ctx context.Context, w *modelhttp.Watchdog, resp *http.Response, yield func(model.Event, error) bool) {
	a := answer{}
	events := ssestream.NewDecoder(resp)
	for events.Next() {
		w.Pause()
		out, err := p.readEvent(&a, events.Event().Data)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		for _, ev := range out {
			if !yield(ev, nil) {
				return
			}
		}
		if a.stopped {
			yield(a.done(), nil)
			return
		}
		w.Wait()
	}
	yield(model.Event{}, p.failure(ctx, w, resp, events.Err(), a.events))
}
