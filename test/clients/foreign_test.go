package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

// fetched is where scripts/foreign.sh has put programs of others.
func fetched(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PARLEY_TEST_FOREIGN")
	if dir == "" {
		t.Skip("programs of others are fetched and run by 'make test-foreign'")
	}
	return dir
}

// node is the Node.js that was fetched with them: some want a newer one than the page does.
func node(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil || len(found) == 0 {
		t.Fatalf("there is no Node.js in %s: run make test-foreign", dir)
	}
	return found[0]
}

// TestLibrariesOfOthers lets the libraries that people use do what their users do.
func TestLibrariesOfOthers(t *testing.T) {
	dir := fetched(t)
	python := filepath.Join(dir, "python", "bin", "python")
	for name, command := range map[string][]string{
		"openai":         {python, "testdata/openai_client.py"},
		"litellm":        {python, "testdata/litellm_client.py"},
		"@openai/agents": {node(t, dir), "testdata/agents_client.mjs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+s.URL+"/v1", "OPENAI_API_KEY="+s.token, "FOREIGN="+dir, "PYTHONDONTWRITEBYTECODE=1",
				"LITELLM_LOCAL_MODEL_COST_MAP=True", "OPENAI_AGENTS_DISABLE_TRACING=1")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "passed") {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// TestAnACPClientOfOthers lets acpx drive parley acp.
func TestAnACPClientOfOthers(t *testing.T) {
	dir := fetched(t)
	s := newSite(t)
	agent := strings.Join([]string{hubtest.Program(t), "acp", "helper", "--hub", s.URL, "--token", s.Owner}, " ")
	for script, want := range map[string]string{"/say Hello acpx.": "Hello acpx.", "/tool shell {\"command\":\"touch made\"}\n/say made": "made"} {
		cmd := exec.CommandContext(t.Context(), node(t, dir), filepath.Join(dir, "node_modules", ".bin", "acpx"), "--approve-all", "--agent", agent, "exec", script)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v:\n%s", script, err, out)
		}
	}
}
