package hub

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"parley.internal/protocol/rest"
)

// checkTime bounds how long one look at a dependency may take.
const checkTime = 2 * time.Second

// checks looks at everything the hub depends on.
func (h *Hub) checks(ctx context.Context) []rest.Check {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	checks := []rest.Check{
		check("database", h.db.String()+" answers", h.db.Ping(ctx)),
		check("bus", busName(h.conf.NATS), h.bus.Healthy()),
		check("data folder", "writable", h.folder.Make()),
		check("box", h.sandbox.Support().String(), nil), // what there is not is a warning
	}
	if h.draining.Load() {
		checks = append(checks, rest.Check{Name: "hub", OK: false, Detail: "stopping"})
	}
	return checks
}

func check(name, good string, err error) rest.Check {
	if err != nil {
		return rest.Check{Name: name, Detail: err.Error()}
	}
	return rest.Check{Name: name, OK: true, Detail: good}
}

func busName(nats string) string {
	if nats == "" {
		return "in process"
	}
	return "NATS answers"
}

// probes lets whoever asks how the hub is past everything that refuses people: a balancer
// or a supervisor asks by a bare address or by no name at all, comes not through the
// proxy, and shall read that the hub is stopping instead of finding nobody there. What
// they are told names nobody and nothing.
func probes(routes, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			if r.ContentLength != 0 {
				w.Header().Set("Connection", "close") // nobody waits for a body that no probe has
			}
			routes.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

// healthz says that the process lives.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{\"status\":\"ok\"}\n"))
}

// readyz says whether the hub should be sent requests.
func (h *Hub) readyz(w http.ResponseWriter, r *http.Request) {
	ready, names := true, map[string]bool{}
	for _, c := range h.checks(r.Context()) {
		ready = ready && c.OK
		names[c.Name] = c.OK
	}
	w.Header().Set("Content-Type", "application/json")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// Only names and verdicts: details may name hosts, and nobody has logged in here.
	_ = json.NewEncoder(w).Encode(map[string]any{"ready": ready, "checks": names})
}
