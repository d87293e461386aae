package faults_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"parley.internal/test/hubtest"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

const newToken = `{"name":"x","scopes":["status:read"]}`

// readiness is what /readyz says.
func readiness(h *hubtest.Hub) (ready bool, checks map[string]bool) {
	a := h.Do("GET", "/readyz", "")
	var said struct {
		Ready  bool
		Checks map[string]bool
	}
	_ = json.Unmarshal(a.Body, &said)
	return a.Status == 200 && said.Ready, said.Checks
}

func TestPostgresMayDieUnderARunningHub(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t)
	h := hubtest.Start(t, hubtest.Config{Args: []string{"--db", server.URL(t)}})
	acked := &acknowledged{}
	var clients sync.WaitGroup
	stop := make(chan struct{})
	var mu sync.Mutex
	odd := map[string]int{}
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch a := h.Do("POST", "/api/tokens", newToken); {
				case a.Status == 200:
					var made struct{ ID string }
					_ = json.Unmarshal(a.Body, &made)
					acked.add(made.ID, "")
				case a.Status == 503 && a.Code == "storage_unavailable":
				default:
					mu.Lock()
					odd[string(a.Body)]++
					mu.Unlock()
				}
			}
		})
	}
	hubtest.Eventually(t, "tokens are made", func() bool { return acked.add("", "") > 20 })
	server.Kill9()
	hubtest.Eventually(t, "/readyz says no", func() bool { ready, checks := readiness(h); return !ready && !checks["database"] })
	hubtest.Eventually(t, "requests are refused", func() bool { return h.Do("GET", "/api/tokens", "").Status == 503 })
	// A token that cannot be looked at is not a wrong one: nobody is locked out by an outage.
	for range 70 {
		if a := h.As("prl_"+strings.Repeat("A", 43), "GET", "/api/tokens", ""); a.Status != 503 || a.Code != "storage_unavailable" {
			t.Fatalf("during the outage: %d %s", a.Status, a.Body)
		}
	}
	if a := h.Do("GET", "/healthz", ""); a.Status != 200 {
		t.Errorf("/healthz: %d", a.Status)
	}
	before := acked.add("", "")
	server.Restart()
	hubtest.Eventually(t, "/readyz says yes", func() bool { ready, _ := readiness(h); return ready })
	hubtest.Eventually(t, "tokens are made again", func() bool { return acked.add("", "") > before+20 })
	close(stop)
	clients.Wait()
	for body, n := range odd {
		t.Errorf("%d times another answer than storage_unavailable: %s", n, body)
	}
	acked.check(t, h.Client())
}

func TestNATSMayDieUnderARunningHub(t *testing.T) {
	t.Parallel()
	node := natstest.Run(t)
	h := hubtest.Start(t, hubtest.Config{Args: []string{"--db", pgtest.URL(t), "--nats", node.URL()}})
	for range 2 {
		node.Kill()
		hubtest.Eventually(t, "/readyz says no", func() bool { ready, checks := readiness(h); return !ready && checks["database"] && !checks["bus"] })
		// The bus is not the record: what is written is written.
		if a := h.Do("POST", "/api/tokens", newToken); a.Status != 200 {
			t.Errorf("without a bus: %d %s", a.Status, a.Body)
		}
		node.Restart()
		hubtest.Eventually(t, "/readyz says yes", func() bool { ready, _ := readiness(h); return ready })
	}
}
