package mmpagent_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp/meeting"
)

// listening is a way to a place that tells what is asked over HTTP.
type listening struct {
	next http.RoundTripper
	// shut lets no WebSocket through, as some proxies do.
	shut bool

	mu    sync.Mutex
	paths []string
}

func (l *listening) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.paths = append(l.paths, req.URL.Path)
	l.mu.Unlock()
	if l.shut && strings.HasSuffix(req.URL.Path, "/socket") {
		return &http.Response{StatusCode: http.StatusBadGateway, Request: req, Header: http.Header{}, Body: http.NoBody}, nil
	}
	return l.next.RoundTrip(req)
}

func (l *listening) asked(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.paths, path)
}

// Where the place has WebSockets, messages come by one and nobody asks for them; they are
// acknowledged by it, too. Where none gets through, they come as before.
func TestMessagesComeByWebSocketWithoutPolls(t *testing.T) {
	for name, shut := range map[string]bool{"by WebSocket": false, "where none gets through": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, place.Config{Auth: place.Strict})
			way := &listening{next: w.http.Transport, shut: shut}
			ada, bob := w.agent(0, "ada"), w.agent(1, "bob", func(o *mmpagent.Options) { o.HTTP = &http.Client{Transport: way} })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got, done := make(chan string, 10), make(chan error, 1)
			go func() {
				done <- bob.Run(ctx, func(_ context.Context, m mmpagent.Message) error {
					got <- m.Content.Text
					return m.Problem
				})
			}()
			for _, text := range []string{"one", "two", "three"} {
				if _, err := ada.Send(t.Context(), "bob", "note", text); err != nil {
					t.Fatal(err)
				}
				if s := <-got; s != text {
					t.Errorf("got %q, want %q", s, text)
				}
			}
			// A session that ends is begun again, whatever carries the messages.
			if _, err := w.place.RevokeTokens(t.Context(), operator, "bob"); err != nil {
				t.Fatal(err)
			}
			if _, err := ada.Send(t.Context(), "bob", "note", "four"); err != nil {
				t.Fatal(err)
			}
			if s := <-got; s != "four" {
				t.Errorf("after the session ended got %q", s)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if st, err := bob.Status(t.Context()); err != nil || st.PendingCount+st.LeasedCount != 0 {
				t.Errorf("after all were acknowledged the queue has %+v, %v", st, err)
			}
			if way.asked("/place/v1/relay/receive") != shut || way.asked("/place/v1/relay/ack") != shut {
				t.Errorf("over HTTP was asked: %q", way.paths)
			}
		})
	}
}

// An agent that is met at its address is spoken with by one WebSocket.
func TestAnAgentIsSpokenWithByWebSocket(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.Strict})
	way := &listening{next: w.http.Transport}
	d, err := mmpagent.OpenDirect(w.url, mmpagent.Options{Name: "ada", Keys: shared()[0], HTTP: &http.Client{Transport: way}, Now: w.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Introduce(t.Context(), meeting.Introduction{PublicKey: shared()[0].Ring.RSA.Public().PEM()}); err != nil {
		t.Fatal(err)
	}
	m, err := meeting.NewMessage(meeting.ActionGoodbye, shared()[0].ID(), "", map[string]string{"reason": "session_complete"}, w.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := d.Say(t.Context(), m); err != nil || !strings.Contains(string(out), `"received"`) {
		t.Errorf("said goodbye and heard %s, %v", out, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if !way.asked("/meeting/v1/socket") || way.asked("/meeting/v1/message") || way.asked("/meeting/v1/introduce") {
		t.Errorf("over HTTP was asked: %q", way.paths)
	}
}

// Envelope 1 has no time and no name of its own. The very same one comes again, under its
// old id or under another: it is taken once.
func TestAnOldEnvelopeIsTakenOnce(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.Open})
	bob := w.agent(1, "bob")
	ada, err := mmpagent.Open(w.url, mmpagent.Options{ID: "ada", HTTP: w.http, AllowDowngrade: true, Now: w.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Send(t.Context(), "bob", "note", "pay once"); err != nil {
		t.Fatal(err)
	}
	first := one(t, bob)
	if first.Problem != nil || first.Version != 1 {
		t.Fatalf("the message arrived as %+v", first)
	}
	if again := bob.Open(t.Context(), first.Message); again.Problem == nil {
		t.Error("it was taken again under its old id")
	}
	other := first.Message
	other.ID = "relay_0123456789abcdef"
	if again := bob.Open(t.Context(), other); again.Problem == nil {
		t.Error("it was taken again under another id")
	}
}
