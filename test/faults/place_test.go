package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"parley.internal/protocol/mmp"
	"parley.internal/test/hubtest"
)

// relayed is what senders were told is queued, by recipient.
type relayed struct {
	mu   sync.Mutex
	sent map[string][]string
	n    int
}

// work sends until the hub is gone; a recipient gets few, so that no queue is full.
func (r *relayed) work(url, name string, seen func(total int)) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for i := 0; ; i++ {
		to := fmt.Sprintf("%s-%d", name, i/40)
		blob := fmt.Sprintf("%s message %d", name, i)
		body, err := json.Marshal(map[string]string{"from": name, "to": to, "encrypted_blob": blob, "blob_hash": mmp.HashOf(blob).Bare(), "message_type": "t"})
		if err != nil {
			return
		}
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/place/v1/relay/send", strings.NewReader(string(body)))
		if err != nil {
			return
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			return
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusCreated {
			return
		}
		r.mu.Lock()
		r.sent[to] = append(r.sent[to], blob)
		r.n++
		total := r.n
		r.mu.Unlock()
		seen(total)
	}
}

// check receives everything and looks for what was acknowledged, in order.
func (r *relayed) check(t *testing.T, h *hubtest.Hub) {
	t.Helper()
	for to, want := range r.sent {
		var got struct {
			Messages []struct {
				Blob string `json:"encrypted_blob"`
			} `json:"messages"`
		}
		answer := h.As("", "GET", "/place/v1/relay/receive?limit=100&agent_id="+to, "")
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			t.Fatalf("%d %s; want no error", answer.Status, answer.Body)
		}
		// One more may have been stored without its sender hearing of it.
		if len(got.Messages) < len(want) || len(got.Messages) > len(want)+1 {
			t.Errorf("%s: %d messages, %d were acknowledged", to, len(got.Messages), len(want))
			continue
		}
		for i, blob := range want {
			if got.Messages[i].Blob != blob {
				t.Errorf("%s: message %d is %q, want %q", to, i, got.Messages[i].Blob, blob)
			}
		}
	}
	r.sent, r.n = map[string][]string{}, 0
}

func TestKill9BetweenSendAndReceiveLosesNoAcknowledgedMessage(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{})
	r := &relayed{sent: map[string][]string{}}
	for round := range 3 {
		var senders sync.WaitGroup
		enough := make(chan struct{})
		var once sync.Once
		for i := range 8 {
			url, name := h.URL, fmt.Sprintf("s%d-%d", round, i)
			senders.Go(func() {
				r.work(url, name, func(total int) {
					if total >= 300 {
						once.Do(func() { close(enough) })
					}
				})
			})
		}
		<-enough
		h.Kill9()
		senders.Wait()
		h.Restart()
		r.check(t, h)
	}
}
