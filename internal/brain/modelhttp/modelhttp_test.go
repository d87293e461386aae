package modelhttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"parley.internal/internal/brain/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWatchdogWaitsLongerForTheFirstToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Watch(t.Context(), 0, 0)
		defer w.Stop()
		<-time.After(FirstToken - time.Second)
		if w.Context().Err() != nil {
			t.Fatal("ended early")
		}
		w.Pause()
		<-time.After(time.Hour) // a slow consumer is no stall
		w.Wait()
		<-time.After(BetweenTokens - time.Second)
		if w.Context().Err() != nil {
			t.Fatal("ended early")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if text, ok := w.stalled(); !ok || text != "no answer for 1m0s" {
			t.Errorf("stalled = %q, %v", text, ok)
		}
	})
}

func TestFailSortsByWhoIsToBlame(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	w := Watch(context.Background(), 0, 0)
	defer w.Stop()
	tests := []struct {
		name  string
		ctx   context.Context
		err   error
		cause model.Cause
		retry bool
		is    error
	}{
		{"cancelled", done, errors.New("x"), model.CauseConnect, false, context.Canceled},
		{"deadline", late, errors.New("x"), model.CauseTimeout, false, context.DeadlineExceeded},
		{"cut", context.Background(), &readError{net.ErrClosed}, model.CauseConnect, true, nil},
		{"else", context.Background(), errors.New("odd"), model.CauseBadData, false, nil},
	}
	for _, tt := range tests {
		e := fail("p", tt.ctx, w, tt.err)
		if e.Cause != tt.cause || e.Retryable() != tt.retry || (tt.is != nil && !errors.Is(e, tt.is)) {
			t.Errorf("%s: %q retry %v: %v", tt.name, e.Cause, e.Retryable(), e)
		}
	}
}

func TestConnectingGivesUp(t *testing.T) {
	// A listener that accepts and says nothing: the TLS handshake never ends.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := NewClient(20 * time.Millisecond)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := Watch(t.Context(), 0, 0)
	defer w.Stop()
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
		t.Fatal("connected")
	}
	if e := fail("p", t.Context(), w, err); e.Cause != model.CauseConnect || !e.Retryable() {
		t.Errorf("got %v", e)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		ms, s string
		want  time.Duration
	}{
		{"", "", 0},
		{"", "2", 2 * time.Second},
		{"", "0.5", 500 * time.Millisecond},
		{"1500", "9", 1500 * time.Millisecond},
		{"x", "9", 9 * time.Second},
		{"", "Thu, 01 Jan 2026 00:00:10 GMT", 10 * time.Second},
		{"", "Wed, 31 Dec 2025 00:00:10 GMT", 0},
		{"", "-1", 0},
		{"", "NaN", 0},
		{"", "1e300", 0},
	}
	for _, tt := range tests {
		h := http.Header{}
		h.Set("Retry-After-Ms", tt.ms)
		h.Set("Retry-After", tt.s)
		if got := RetryAfter(h, now); got != tt.want {
			t.Errorf("%q %q = %v, want %v", tt.ms, tt.s, got, tt.want)
		}
	}
}

func TestForeignWordsAreClipped(t *testing.T) {
	e := BadData("p", strings.Repeat("ä ", 1000)+"\xff")
	if len(e.Text) > maxText+3 || !strings.HasSuffix(e.Text, "…") {
		t.Errorf("%d bytes", len(e.Text))
	}
}

func TestRepair(t *testing.T) {
	calls := func(ids ...string) model.Message {
		m := model.Message{Role: model.Assistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, model.Call{ID: id, Name: "n"})
		}
		return m
	}
	answer := func(id string) model.Message { return model.Message{Role: model.Tool, CallID: id, Text: "r"} }
	lost := func(id string) model.Message {
		return model.Message{Role: model.Tool, CallID: id, Name: "n", Text: noResult, IsError: true}
	}
	user := model.Message{Role: model.User, Text: "u"}
	in := []model.Message{answer("x"), user, calls("a", "b"), answer("b"), user, answer("a"), calls("a", ""), answer("a"), answer("a"), answer("")}
	want := []model.Message{user, calls("a", "b"), answer("b"), lost("a"), user, calls("a_2", "call"), answer("a_2"), answer("call")}
	if d := cmp.Diff(want, Repair(in, nil)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if in[6].Calls[0].ID != "a" {
		t.Error("the caller's messages were changed")
	}
}

func TestRepairedHistoriesAreAlwaysPaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"", "a", "b", "a_2"})
		msg := rapid.Custom(func(t *rapid.T) model.Message {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				return model.Message{Role: model.User}
			case 1:
				return model.Message{Role: model.Tool, CallID: id.Draw(t, "id")}
			default:
				m := model.Message{Role: model.Assistant}
				for range rapid.IntRange(0, 3).Draw(t, "calls") {
					m.Calls = append(m.Calls, model.Call{ID: id.Draw(t, "id")})
				}
				return m
			}
		})
		seen, open := map[string]bool{}, map[string]bool{}
		for _, m := range Repair(rapid.SliceOf(msg).Draw(t, "history"), nil) {
			if m.Role == model.Tool {
				if !open[m.CallID] {
					t.Fatalf("answer to nothing: %q", m.CallID)
				}
				delete(open, m.CallID)
				continue
			}
			if len(open) > 0 {
				t.Fatalf("unanswered: %v", open)
			}
			for _, c := range m.Calls {
				if seen[c.ID] {
					t.Fatalf("id %q twice", c.ID)
				}
				seen[c.ID], open[c.ID] = true, true
			}
		}
		if len(open) > 0 {
			t.Fatalf("unanswered at the end: %v", open)
		}
	})
}

func FuzzErrorBody(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"m","code":1}}`))
	f.Add([]byte(`{"error":"m"}`))
	f.Add([]byte(`{"detail":["x"]}`))
	f.Add([]byte(`<html>`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		code, text := said(raw)
		if e := Status("p", "k", 400, code, text); len(e.Text) > maxText+64 {
			t.Errorf("%d bytes of text", len(e.Text))
		}
	})
}
