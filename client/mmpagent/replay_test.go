package mmpagent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// replaying is a way to a place that hands out again what it handed out first.
type replaying struct {
	next  http.RoundTripper
	first []byte
	// acked is told of each acknowledgement.
	acked func()
}

func (r *replaying) RoundTrip(req *http.Request) (*http.Response, error) {
	receives := strings.HasSuffix(req.URL.Path, "/relay/receive")
	if receives && r.first != nil {
		return &http.Response{StatusCode: 200, Request: req, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(r.first))}, nil
	}
	res, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if r.acked != nil && strings.HasSuffix(req.URL.Path, "/relay/ack") {
		r.acked()
	}
	if receives {
		if r.first, err = io.ReadAll(res.Body); err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(r.first))
	}
	return res, nil
}

// A place hands out a message again that was acknowledged, under its old id.
func TestWhatWasAcknowledgedIsNotTakenAgainUnderItsOldId(t *testing.T) {
	for name, o := range map[string]mmpagent.ReceiveOptions{"leased and acknowledged": {Manual: true}, "taken at once": {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, place.Config{Auth: place.TOFU})
			// Ada's clock is ahead, as far as an envelope's may be: it is good for longer.
			ada := w.agent(0, "ada", func(o *mmpagent.Options) { o.Now = func() time.Time { return w.clock.now().Add(4 * time.Minute) } })
			file := filepath.Join(t.TempDir(), "peers.json")
			way := &replaying{next: w.http.Transport}
			start := func() *mmpagent.Agent { // each time as after a restart
				peers, err := mmpagent.OpenPeers(file)
				if err != nil {
					t.Fatal(err)
				}
				return w.agent(1, "bob", func(o *mmpagent.Options) { o.Peers, o.HTTP = peers, &http.Client{Transport: way} })
			}
			bob := start()
			if _, err := ada.Send(t.Context(), "bob", "note", "pay once"); err != nil {
				t.Fatal(err)
			}
			receive := func(bob *mmpagent.Agent) mmpagent.Message {
				t.Helper()
				got, err := bob.Receive(t.Context(), o)
				if err != nil || len(got) != 1 {
					t.Fatalf("got %d messages, %v, want the one that is handed out", len(got), err)
				}
				return got[0]
			}
			m := receive(bob)
			if m.Problem != nil || m.Content.Text != "pay once" {
				t.Fatalf("the message arrived as %+v", m)
			}
			if o.Manual {
				if again := receive(bob); again.Problem != nil {
					t.Errorf("a lease that ended brought it back, and it was refused: %v", again.Problem)
				}
				if _, err := bob.Ack(t.Context(), m.ID); err != nil {
					t.Fatal(err)
				}
			}
			if again := receive(bob); mmp.ReasonOf(again.Problem) != mmp.ReasonReplayed {
				t.Errorf("it was taken again: %+v", again)
			}
			if again := receive(start()); mmp.ReasonOf(again.Problem) != mmp.ReasonReplayed {
				t.Errorf("it was taken again after a restart: %+v", again)
			}
			w.clock.pass(24*time.Hour + 2*time.Minute) // the envelope is still good, by ada's clock
			if again := receive(start()); mmp.ReasonOf(again.Problem) != mmp.ReasonReplayed {
				t.Errorf("it was taken again a day later: %+v", again)
			}
		})
	}
}

// The place claims not to have heard, and hands the message out again and again.
func TestAMessageThatWasHandledIsOnlyAcknowledgedAgain(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	acks := 0
	way := &replaying{next: w.http.Transport, acked: func() {
		if acks++; acks == 3 {
			stop()
		}
	}}
	ada, bob := w.agent(0, "ada"), w.agent(1, "bob", func(o *mmpagent.Options) { o.HTTP, o.NoSocket = &http.Client{Transport: way}, true })
	if _, err := ada.Send(t.Context(), "bob", "note", "pay once"); err != nil {
		t.Fatal(err)
	}
	handled := 0
	err := bob.Run(ctx, func(_ context.Context, m mmpagent.Message) error {
		handled++
		return m.Problem
	})
	if !errors.Is(err, context.Canceled) || handled != 1 {
		t.Errorf("the handler was called %d times for one message, %v", handled, err)
	}
}
