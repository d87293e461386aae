package mmpagent_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// hostile is a place that pretends to be the visitor's home, or uses what the visitor
// shows to get in there.
type hostile struct {
	t    *testing.T
	home *world
	// host is what it tells the home it was called at; empty passes the visitor's on.
	host string
	// change alters what the home says before the visitor hears it.
	change func(path string, answer map[string]any)
	// sent are the registrations it was sent.
	sent [][]byte
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Error(err)
	}
	if strings.HasSuffix(r.URL.Path, "/register") {
		h.sent = append(h.sent, body)
	}
	status, answer := h.ask(r.Method, r.URL.Path, orHost(h.host, r.Host), body)
	if h.change != nil {
		h.change(r.URL.Path, answer)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func orHost(host, otherwise string) string {
	if host == "" {
		return otherwise
	}
	return host
}

// ask calls the home with a Host of its choice.
func (h *hostile) ask(method, path, host string, body []byte) (int, map[string]any) {
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.home.url+path, bytes.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return 500, nil
	}
	req.Host = host
	res, err := h.home.http.Do(req)
	if err != nil {
		h.t.Error(err)
		return 500, nil
	}
	defer func() { _ = res.Body.Close() }()
	var answer map[string]any
	_ = json.NewDecoder(res.Body).Decode(&answer)
	return res.StatusCode, answer
}

// An agent visits a place that hands it the challenge of the agent's home. Whatever
// that place does, it gets no session there.
func TestAHostilePlaceGetsNoSessionAtTheVisitorsHome(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{66}, ed25519.SeedSize))
	own := mmp.FormatPeerKey(key.Public().(ed25519.PublicKey))
	for name, set := range map[string]func(h *hostile, address string){
		"it passes everything on":              func(*hostile, string) {},
		"it calls the home by the home's name": func(h *hostile, _ string) { h.host = strings.TrimPrefix(h.home.url, "http://") },
		"it calls the home without a port":     func(h *hostile, _ string) { h.host = "127.0.0.1" },
		"it puts its own address in": func(h *hostile, address string) {
			h.host = strings.TrimPrefix(h.home.url, "http://")
			h.change = func(path string, a map[string]any) {
				if strings.HasSuffix(path, "/challenge") {
					a["address"] = address
				}
			}
		},
		"it seems to be too old to prove itself": func(h *hostile, _ string) {
			h.host = strings.TrimPrefix(h.home.url, "http://")
			h.change = func(path string, a map[string]any) {
				if strings.HasSuffix(path, "/challenge") {
					delete(a, "place_signature")
					delete(a, "address")
					delete(a, "place_key")
				}
			}
		},
		"it makes the home's challenge its own": func(h *hostile, address string) {
			h.host = strings.TrimPrefix(h.home.url, "http://")
			h.change = func(path string, a map[string]any) {
				if strings.HasSuffix(path, "/info") {
					a["place_key"] = own
				}
				if nonce, ok := a["nonce"].(string); ok {
					c := mmp.ChallengeAnswer{Nonce: nonce, Address: address, ExpiresAt: mmp.At(h.home.clock.now())}
					c.Sign(key, "ada")
					a["place_key"], a["address"], a["place_signature"], a["expires_at"] = c.PlaceKey, c.Address, c.PlaceSignature, c.ExpiresAt
				}
			}
		},
		"it takes only static signatures": func(h *hostile, _ string) {
			h.change = func(path string, a map[string]any) {
				if strings.HasSuffix(path, "/info") {
					a["features"] = []string{"registry"}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := newWorld(t, place.Config{Auth: place.TOFU})
			home.agent(0, "ada")
			h := &hostile{t: t, home: home}
			server := httptest.NewServer(h)
			defer server.Close()
			set(h, strings.TrimPrefix(server.URL, "http://"))
			visitor, err := mmpagent.Open(server.URL, mmpagent.Options{ID: "ada", Name: "ada", Keys: shared()[0], HTTP: server.Client(), Now: home.clock.now})
			if err != nil {
				t.Fatal(err)
			}
			if answer, err := visitor.Register(t.Context()); err == nil || visitor.Token() != "" {
				t.Errorf("the visitor believes to be registered: %+v", answer)
			}
			elsewhere := newWorld(t, place.Config{Auth: place.TOFU}) // where nobody knows ada yet
			for _, body := range h.sent {
				for who, at := range map[string]*world{"the visitor's home": home, "a place the visitor never saw": elsewhere} {
					there := &hostile{t: t, home: at}
					if status, a := there.ask("POST", "/place/v1/register", strings.TrimPrefix(at.url, "http://"), body); a["session_token"] != nil || a["identity_verified"] == true {
						t.Errorf("%s took what the visitor had sent to the hostile place: %d %v", who, status, a)
					}
				}
			}
		})
	}
}

// A place shows a key of its own for an agent whose id says which key it has.
func TestAnIdThatIsAKeysHashIsNotSealedForAnotherKey(t *testing.T) {
	id := shared()[1].ID()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(mmp.KeyAnswer{AgentID: id, PublicKey: shared()[2].Ring.RSA.Public().PEM(), Proven: true})
	}))
	defer server.Close()
	ada, err := mmpagent.Open(server.URL, mmpagent.Options{ID: "ada", Keys: shared()[0], HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ada.Key(t.Context(), id); !errors.Is(err, mmpagent.ErrKeyChanged) {
		t.Errorf("got %v, want an alarm: the key is not the one the id names", err)
	}
	// A person who knows better may say so: the owner may have changed its key.
	if err := ada.AcceptKey(t.Context(), id, shared()[2].Ring.RSA.Public().KeyID()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ada.Key(t.Context(), id); err != nil {
		t.Errorf("an accepted key is not used: %v", err)
	}
}
