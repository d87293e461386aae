package watching_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

const top = "../.."

// program is a Prometheus: where scripts/setup.sh leaves one, or the machine's own.
func program(t *testing.T) string {
	t.Helper()
	if path, err := filepath.Abs(filepath.Join(top, ".tools", "bin", "prometheus")); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("prometheus")
	switch {
	case err == nil:
	case os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "":
		t.Fatal("no Prometheus: scripts/setup.sh fetches one")
	default:
		t.Skip("no Prometheus here: scripts/setup.sh fetches one (Debian: apt-get install prometheus)")
	}
	return path
}

// start runs a Prometheus that scrapes a hub, with the alerts as they are delivered.
func start(t *testing.T, h *hubtest.Hub) (address string) {
	t.Helper()
	rules, err := filepath.Abs(filepath.Join(top, "deploy/prometheus/parley.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf := fmt.Sprintf(`global: {scrape_interval: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
  - job_name: parley
    authorization: {credentials: %q}
    static_configs: [{targets: [%q]}]
`, rules, h.Token("status:read"), strings.TrimPrefix(h.URL, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	_ = free.Close()
	cmd := exec.Command(program(t), "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	var said hubtest.Output
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", &said)
		}
	})
	return address
}

// ask has Prometheus answer a question of its API.
func ask(t *testing.T, address, path string, into any) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: hubtest.Patience}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", res.StatusCode, body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

type answer struct {
	Data struct {
		Result []json.RawMessage
		Groups []struct {
			Rules []struct{ Name, State, Health, LastError string }
		}
	}
}

// expressions are those of the dashboard.
func expressions(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "deploy/grafana/parley.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			list = append(list, target.Expr)
		}
	}
	return list
}

// sometimes is what a hub of its own has nothing to tell about: PostgreSQL and NATS.
var sometimes = regexp.MustCompile(`parley_(db_(connections|waits)|bus_(messages|refused))`)

// What is delivered must fit what a hub tells: alerts that can never ring, and panels that
// are always empty, look like health.
func TestAlertsAndDashboardFitWhatAHubTells(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{})
	address := start(t, h)
	hubtest.Eventually(t, "the hub is scraped", func() bool {
		var a answer
		return ask(t, address, "/api/v1/query?query="+url.QueryEscape(`up{job="parley"} == 1`), &a) == nil && len(a.Data.Result) == 1
	})
	var rules answer
	hubtest.Eventually(t, "all alerts were looked at", func() bool {
		if ask(t, address, "/api/v1/rules", &rules) != nil || len(rules.Data.Groups) == 0 {
			return false
		}
		for _, r := range rules.Data.Groups[0].Rules {
			if r.Health == "unknown" {
				return false
			}
		}
		return true
	})
	for _, r := range rules.Data.Groups[0].Rules {
		if r.Health != "ok" || r.State == "firing" {
			t.Errorf("the alert %s is %s, %s: %s; want it silent at a hub that is well", r.Name, r.Health, r.State, r.LastError)
		}
	}
	for _, expr := range expressions(t) {
		hubtest.Eventually(t, "there is something to show for "+expr, func() bool {
			var a answer
			if err := ask(t, address, "/api/v1/query?query="+url.QueryEscape(expr), &a); err != nil {
				t.Fatalf("the panel with %s: %v", expr, err)
			}
			return len(a.Data.Result) > 0 || sometimes.MatchString(expr)
		})
	}
	// And one of them rings.
	h.Kill9()
	hubtest.Eventually(t, "a hub that is gone is noticed", func() bool {
		var a answer
		return ask(t, address, "/api/v1/query?query="+url.QueryEscape(`ALERTS{alertname="ParleyHubDown"}`), &a) == nil && len(a.Data.Result) == 1
	})
}
