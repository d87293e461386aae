package mmpagent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp/relay"
)

func post(t *testing.T, w *world, path string, body any) int {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

func TestOurPlacePassesItsOwnCheckInEachPolicy(t *testing.T) {
	for _, auth := range []place.Auth{place.Open, place.TOFU, place.Strict} {
		t.Run(string(auth), func(t *testing.T) {
			w := newWorld(t, place.Config{Auth: auth})
			report, err := mmpagent.Check(t.Context(), w.url, mmpagent.CheckOptions{HTTP: w.http, Keys: shared()[:2]})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Findings) != 5 || !report.OK {
				t.Errorf("%+v; want len(report.Findings) to be 5, report.OK", report)
			}
			for i, f := range report.Findings {
				if f.Number != i+1 || f.Result != mmpagent.Pass || f.Detail == "" {
					t.Errorf("%+v", f)
				}
			}
			// The figure is refreshed now and then.
			for left := int64(1); left > 0; {
				health, err := w.place.Health(t.Context())
				if err != nil {
					t.Fatalf("the check left agents behind: %v", err)
				}
				left = int64(health.Agents)
			}
		})
	}
}

// bad is a server that does everything wrong politely.
func bad(answers map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for suffix, body := range answers {
			if strings.Contains(r.URL.Path, suffix) {
				_, _ = io.WriteString(w, body)
				return
			}
		}
		_, _ = io.WriteString(w, `{}`)
	})
}

func TestABadServerFailsTheCheck(t *testing.T) {
	server := httptest.NewServer(bad(map[string]string{
		"/register": `{"agent_id":"x","status":"registered"}`, "/relay/receive": `{"messages":[],"count":0}`,
		"/keys/": `{"public_key":"-----BEGIN PUBLIC KEY-----"}`,
	}))
	defer server.Close()
	report, err := mmpagent.Check(t.Context(), server.URL, mmpagent.CheckOptions{HTTP: server.Client(), Keys: shared()[:2]})
	if err != nil {
		t.Fatal(err)
	}
	if report.OK {
		t.Errorf("passed: %+v", report.Findings)
	}
	for _, f := range report.Findings {
		if f.Number >= 2 && f.Result == mmpagent.Pass {
			t.Errorf("%+v", f)
		}
	}
}

func TestAServerThatIsNotThereIsUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if _, err := mmpagent.Check(t.Context(), server.URL, mmpagent.CheckOptions{Keys: shared()[:2]}); !errors.Is(err, mmpagent.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

// firstGeneration is a place of the first clients' days: no info worth the name, no
// tokens, no acknowledgements; a receive empties the queue.
type firstGeneration struct {
	keys  map[string]string
	queue []relay.Message
}

func (f *firstGeneration) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	str := func(k string) string { s, _ := in[k].(string); return s }
	answer := func(status int, v any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/place/v1"); {
	case path == "/register":
		answer(200, map[string]any{"agent_id": str("id"), "status": "registered"})
	case path == "/keys/register":
		f.keys[str("agent_id")] = str("public_key")
		answer(201, map[string]any{"status": "registered"})
	case strings.HasPrefix(path, "/keys/"):
		answer(200, map[string]any{"agent_id": path[6:], "public_key": f.keys[path[6:]]})
	case path == "/relay/send":
		f.queue = append(f.queue, relay.Message{ID: "relay_1", From: str("from"), To: str("to"), MessageType: str("message_type"), Blob: str("encrypted_blob"), BlobHash: str("blob_hash")})
		answer(201, map[string]any{"relay_id": "relay_1", "status": "queued"})
	case path == "/relay/receive":
		answer(200, map[string]any{"messages": f.queue, "count": len(f.queue)})
		f.queue = nil
	default:
		answer(404, map[string]any{"error": "Not found"})
	}
}

func TestAgainstAPlaceOfTheFirstGenerationEverythingDegrades(t *testing.T) {
	server := httptest.NewServer(&firstGeneration{keys: map[string]string{}})
	defer server.Close()
	open := func(i int, id string) *mmpagent.Agent {
		a, err := mmpagent.Open(server.URL, mmpagent.Options{ID: id, Keys: shared()[i], HTTP: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	ada, bob := open(0, "ada"), open(1, "bob")
	if sent, err := ada.Send(t.Context(), "bob", "note", "hello"); err != nil || sent.Version != 1 {
		t.Fatalf("%+v %v; want no error, sent.Version to be 1", sent, err)
	}
	if m := one(t, bob); m.Problem != nil || m.Content.Text != "hello" || m.Level != "L2" {
		t.Errorf("%+v; want m.Problem to be nil, m.Content.Text to be \"hello\", m.Level to be \"L2\"", m)
	}
}
