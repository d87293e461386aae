//go:build unix

package faults_test

import (
	"io"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

// slowBackup is a request that goes on as long as nobody reads its answer.
func slowBackup(t *testing.T, h *hubtest.Hub) io.ReadCloser {
	t.Helper()
	body, err := hubapi.Open(t.Context(), h.Client(), rest.Backup, rest.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = body.Close() })
	return body
}

func startWithNoise(t *testing.T, args ...string) *hubtest.Hub {
	t.Helper()
	data := filepath.Join(pgtest.Folder(t), "data")
	fill(t, data, 16)
	return hubtest.Start(t, hubtest.Config{Data: data, Args: args})
}

func TestARequestThatRunsIsFinishedBeforeTheHubStops(t *testing.T) {
	t.Parallel()
	h := startWithNoise(t, "--shutdown-grace", "1h")
	body := slowBackup(t, h)
	h.Terminate()
	hubtest.Eventually(t, "/readyz says no", func() bool { return h.Do("GET", "/readyz", "").Status == http.StatusServiceUnavailable })
	if a := h.Do("POST", "/api/tokens", newToken); a.Status != http.StatusServiceUnavailable || a.Code != "shutting_down" {
		t.Errorf("a new request: %d %s %v", a.Status, a.Body, a.Err)
	}
	if a := h.Do("GET", "/healthz", ""); a.Status != http.StatusOK {
		t.Errorf("/healthz: %d %v", a.Status, a.Err)
	}
	if n, err := io.Copy(io.Discard, body); err != nil || n < 16<<20 {
		t.Errorf("the backup broke after %d bytes: %v", n, err)
	}
	if state := h.Wait(); state.ExitCode() != 0 {
		t.Errorf("the hub ended with %s", state)
	}
}

// A balancer that has not looked yet still sends people to a hub that stops.
func TestAHubThatStopsServesUntilBalancersHaveNoticed(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{Args: []string{"--shutdown-notice", "1h"}})
	h.Terminate()
	hubtest.Eventually(t, "/readyz says no", func() bool { return h.Do("GET", "/readyz", "").Status == http.StatusServiceUnavailable })
	if a := h.Do("POST", "/api/tokens", newToken); a.Status != http.StatusOK {
		t.Errorf("a new request while nobody has noticed: %d %s %v, want it served", a.Status, a.Body, a.Err)
	}
	h.Terminate()
	h.Wait()
}

func TestASecondSignalEndsTheHubAtOnce(t *testing.T) {
	t.Parallel()
	h := startWithNoise(t, "--shutdown-grace", "1h")
	slowBackup(t, h)
	h.Terminate()
	hubtest.Eventually(t, "/readyz says no", func() bool { return h.Do("GET", "/readyz", "").Status == http.StatusServiceUnavailable })
	h.Terminate()
	if how, ok := h.Wait().Sys().(syscall.WaitStatus); !ok || !how.Signaled() || how.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", how)
	}
	// And nothing is broken by it.
	h.Restart()
}

func TestTheGraceIsNotForEver(t *testing.T) {
	t.Parallel()
	h := startWithNoise(t, "--shutdown-grace", "200ms")
	slowBackup(t, h)
	h.Terminate()
	if state := h.Wait(); state.ExitCode() != 0 {
		t.Errorf("the hub ended with %s", state)
	}
}

// A stream would hold the hub up; it is ended instead.
func TestALiveStreamDoesNotHoldTheHubUp(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{Args: []string{"--shutdown-grace", "1h"}})
	body, err := hubapi.Open(t.Context(), h.Client(), rest.Events, rest.EventsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	h.Terminate()
	if state := h.Wait(); state.ExitCode() != 0 {
		t.Errorf("the hub ended with %s", state)
	}
}
