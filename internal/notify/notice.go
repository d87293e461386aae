package notify

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/store"
)

// Notice is one thing worth telling.
type Notice struct {
	// ID makes a notice unique: the same one is told once.
	ID string `json:"id"`
	// Person is whom it is for; empty tells whoever looks after the hub.
	Person string `json:"person,omitempty"`
	// Kind is what it is about: "approval", "machine" …
	Kind  string `json:"kind"`
	Title string `json:"title"`
	// Text may be read by whoever runs the webhook or ntfy.
	Text string `json:"text,omitempty"`
	// Sealed is shown only where nobody between can read it.
	Sealed string `json:"sealed,omitempty"`
	// Path is the page to open.
	Path string `json:"path,omitempty"`
	// Approval is the question this is about, if it can be answered with one word.
	Approval string `json:"approval,omitempty"`
	// Urgent notices may wake somebody.
	Urgent bool `json:"urgent,omitempty"`
	// Due is when it is told; zero is at once.
	Due     time.Time `json:"-"`
	Created time.Time `json:"created_at"`
	// Expires is when telling it stops making sense (default one day).
	Expires time.Time `json:"expires_at"`
}

// Target is where notices go besides browsers, from the hub's settings.
type Target struct {
	// Person whose notices it gets; empty gets everybody's and the hub's own.
	Person string
	// Webhook or Ntfy is the address; exactly one is set.
	Webhook string
	Ntfy    string
	// Secret signs webhooks; for ntfy it is the access token.
	Secret string
}

// Deps is what notices are made with.
type Deps struct {
	DB    *store.DB
	Inbox *approval.Inbox
	// Seed is a secret the push key is derived from; hubs of a cluster share it.
	Seed    []byte
	Targets []Target
	// Owner is whom a notice without a person is for.
	Owner func(context.Context) (person string, err error)
	// PageStands reports whether a page's login still holds.
	PageStands func(ctx context.Context, page string) (bool, error)
	// URL is the hub's address as people reach it.
	URL func() string
	// Client sends to configured targets, Push to addresses browsers name.
	Client, Push *http.Client
	Logger       *slog.Logger
}

func (n Notice) encode() (string, error) {
	text, err := json.Marshal(n)
	return string(text), err
}
