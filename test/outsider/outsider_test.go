// Package outsider_test uses the SDKs as somebody would who has nothing of this
// repository: from a running hub, with the tools of each language.
package outsider_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// run runs a command in a folder.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// outsideGo is Go as an outsider has it: the hub is asked first, then what Go fetched
// for this repository, which stands for the public proxy.
func outsideGo(t *testing.T, hub string) []string {
	t.Helper()
	cache := strings.TrimSpace(run(t, ".", nil, "go", "env", "GOMODCACHE"))
	return []string{
		"GOPROXY=" + hub + "/sdk/go,file://" + filepath.ToSlash(cache) + "/cache/download", "GONOSUMDB=parley.internal", "GOSUMDB=off",
		"GOMODCACHE=" + t.TempDir(), "GOFLAGS=-trimpath -modcacherw", "GOWORK=off", "CGO_ENABLED=0",
	}
}

func TestGoGetsTheSDKFromAHub(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{})
	env, dir := outsideGo(t, h.URL), t.TempDir()
	run(t, dir, env, "go", "mod", "init", "outsider")
	run(t, dir, env, "go", "get", "parley.internal/client/...@latest", "parley.internal/protocol/...@latest")
	run(t, dir, env, "go", "build", "parley.internal/...")
	listed := run(t, dir, env, "go", "list", "parley.internal/...")
	for _, none := range []string{"/internal/", "test\n"} {
		if strings.Contains(listed, none) {
			t.Errorf("the module holds packages with %q:\n%s", none, listed)
		}
	}
}

func TestTheGoExamplesBuildAndWorkAgainstAHub(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{})
	env, dir := outsideGo(t, h.URL), filepath.Join(t.TempDir(), "goclient")
	if err := os.CopyFS(dir, os.DirFS("../../examples/goclient")); err != nil {
		t.Fatal(err)
	}
	run(t, dir, env, "go", "get", "parley.internal/client/agentfirst@latest")
	run(t, dir, env, "go", "build", "-o", "goclient", ".")
	if said := run(t, dir, nil, "./goclient", h.Path("parley.sock"), "parley", "Good morning"); strings.TrimSpace(said) == "" {
		t.Error("the agent answered nothing")
	}
}

// python is a fresh environment with the SDK, installed by pip from the hub. What the
// SDK needs lies in .tools/wheels, where set-up put it; it stands for the public index.
func python(t *testing.T, hub string) string {
	t.Helper()
	wheels, err := filepath.Abs("../../.tools/wheels")
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(wheels, "websockets-*.whl")); len(found) == 0 {
		if os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "" {
			t.Fatal(".tools/wheels is missing: run scripts/setup.sh")
		}
		t.Skip("Python or what its SDK needs is missing: run scripts/setup.sh")
	}
	dir := t.TempDir()
	run(t, dir, nil, "python3", "-m", "venv", "venv")
	program := filepath.Join(dir, "venv", "bin", "python")
	run(t, dir, nil, program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir",
		"--index-url", hub+"/sdk/python/simple/", "--find-links", wheels, "parley-rooms[keys]")
	return program
}

func TestPipInstallsTheSDKFromAHubAndItsTestsPass(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{})
	program := python(t, h.URL)
	tests, err := filepath.Abs("../../sdk/python/tests")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Abs("../../client/roomagent/testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PARLEY_HUB=" + h.URL, "PARLEY_TOKEN=" + h.Owner, "PARLEY_CASES=" + cases, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="}
	out := run(t, t.TempDir(), env, program, "-m", "unittest", "discover", "-s", tests)
	if !strings.Contains(out, "OK") {
		t.Errorf("unittest said no OK:\n%s", out)
	}
}

func TestAHubHandsOutOnlyItsOwnVersionAndNothingOutsideItsFolder(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{})
	for _, path := range []string{
		"/sdk/go/parley.internal/@v/v9.9.9.zip", "/sdk/go/golang.org/x/text/@v/v0.1.0.zip", "/sdk/go/x/@v/..%2f..%2f..%2fparley.zip",
		"/sdk/go/%2e%2e/%2e%2e/etc/passwd", "/sdk/python/..%2f..%2fparley.db", "/sdk/python/simple/flask/",
	} {
		if a := h.As("", "GET", path, ""); a.Status != 404 {
			t.Errorf("%s: %d, expected 404 so that the next source is asked", path, a.Status)
		}
	}
	latest := h.As("", "GET", "/sdk/go/parley.internal/@latest", "")
	list := h.As("", "GET", "/sdk/go/parley.internal/@v/list", "")
	if want := fmt.Sprintf(`{"Version":"%s"}`, strings.TrimSpace(string(list.Body))); string(latest.Body) != want {
		t.Errorf("@latest is %s, expected the one version of the list: %s", latest.Body, want)
	}
}
