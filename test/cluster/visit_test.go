package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

// A visit belongs to no hub in particular: when the one that runs it dies, another
// that holds the agent's keys goes on, and what was sent to the visitor meanwhile
// arrives.
func TestAVisitGoesOnWhenItsHubDies(t *testing.T) {
	t.Parallel()
	away := hubtest.Start(t, hubtest.Config{})
	c := start(t, 1)
	a := c.hubs[0]
	got := a.Do("POST", "/api/place/visits", fmt.Sprintf(`{"agent":"parley","url":%q}`, away.URL))
	if got.Status != http.StatusOK {
		t.Fatalf("visiting: %d %s", got.Status, got.Body)
	}
	visitor := visits(t, a)[0].AgentID
	relaySend(t, away, visitor, "c2VhbGVk")
	hubtest.Eventually(t, "the visitor takes what is sent to it", func() bool {
		pending, leased := waiting(t, away, visitor)
		return pending+leased == 0
	})

	// The other hub of the cluster is another machine with the same keys.
	data := filepath.Join(pgtest.Folder(t), "data")
	copyKeys(t, a.Path("keys/place"), filepath.Join(data, "keys", "place"))
	b := hubtest.Start(t, hubtest.Config{Data: data, Args: []string{"--db", c.db, "--nats", c.urls(), "--name", "hub-b"}, Env: []string{hubtest.Visits}})
	if all := visits(t, b); len(all) != 1 || all[0].AgentID != visitor {
		t.Fatalf("the other hub knows of %+v", all)
	}
	a.Kill9()
	sent := 0
	hubtest.Eventually(t, "the other hub takes what is sent to the visitor", func() bool {
		pending, leased := waiting(t, away, visitor)
		if pending == 0 && pending+leased == sent {
			// Perhaps the dead hub's last request was handed one; it would come again after a minute.
			relaySend(t, away, visitor, "YWdhaW4=")
			sent++
			return false
		}
		return pending+leased < sent
	})
	if all := visits(t, b); len(all) != 1 {
		t.Errorf("the visit did not go on: %+v", all)
	}
}

// copyKeys copies a folder of keys for the eyes of its owner only.
func copyKeys(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(from)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d keys: %v", len(files), err)
	}
	for _, f := range files {
		key, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, f.Name()), key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

type visitor struct {
	AgentID string `json:"agent_id"`
}

func visits(t *testing.T, h *hubtest.Hub) []visitor {
	t.Helper()
	var out struct {
		Visits []visitor `json:"visits"`
	}
	got := h.Do("GET", "/api/place/visits", "")
	if err := json.Unmarshal(got.Body, &out); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s: %v; want no error, got.Status to be %v", got.Status, got.Body, err, http.StatusOK)
	}
	return out.Visits
}

// waiting is how many messages a place keeps for an agent, and how many of those it
// has handed out.
func waiting(t *testing.T, h *hubtest.Hub, agent string) (pending, leased int) {
	t.Helper()
	var out struct {
		Queues []struct {
			Agent           string
			Pending, Leased int
		} `json:"queues"`
	}
	got := h.Do("GET", "/api/place/queues", "")
	if err := json.Unmarshal(got.Body, &out); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s: %v; want no error, got.Status to be %v", got.Status, got.Body, err, http.StatusOK)
	}
	for _, q := range out.Queues {
		if q.Agent == agent {
			pending, leased = q.Pending, q.Leased
		}
	}
	return pending, leased
}
