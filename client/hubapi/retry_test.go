package hubapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
)

// busy is a hub that refuses so many requests first, and asks to wait.
type busy struct {
	refusals int
	wait     string
	asked    int
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	b.asked++
	status, body := http.StatusOK, `{"fine":true}`
	if b.asked <= b.refusals {
		status, body = http.StatusTooManyRequests, `{"status":429,"code":"rate_limited","detail":"wait"}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {b.wait}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func TestAClientWaitsWhenTheHubAsksItTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := &busy{refusals: 2, wait: "3"}
		began, told := time.Now(), 0
		client := hubapi.WithTransport("http://hub", "", hub)
		client.Waits = func(time.Duration) { told++ }
		if err := client.Do(t.Context(), "POST", "/x", nil, map[string]any{"a": 1}, nil); err != nil {
			t.Fatalf("gave up: %v", err)
		}
		if told != 2 {
			t.Errorf("told %d times that it waits, want each time", told)
		}
		if took := time.Since(began); hub.asked != 3 || took != 6*time.Second {
			t.Errorf("asked %d times in %v, want three times with three seconds between", hub.asked, took)
		}
	})
}

func TestAClientDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, hub := range []*busy{{refusals: 100, wait: "300"}, {refusals: 100, wait: "10"}, {refusals: 100, wait: ""}} {
			began := time.Now()
			err := hubapi.WithTransport("http://hub", "", hub).Do(t.Context(), "GET", "/x", nil, nil, nil)
			if !hubapi.IsCode(err, "rate_limited") || time.Since(began) > 30*time.Second {
				t.Errorf("Retry-After %q: %v after %v, want the refusal within half a minute", hub.wait, err, time.Since(began))
			}
		}
	})
}

// What was sent once cannot be sent again.
func TestAStreamIsNotSentTwice(t *testing.T) {
	hub := &busy{refusals: 1, wait: "1"}
	if _, err := hubapi.Call(t.Context(), hubapi.WithTransport("http://hub", "", hub), rest.ImportConversation, rest.ConversationImport{Body: strings.NewReader("lines")}); err == nil || hub.asked != 1 {
		t.Errorf("%v after %d requests, want the refusal of the first", err, hub.asked)
	}
}
