package mcpconformance

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/bus"
	"parley.internal/internal/face/front"
	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/identity"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/wsconn"
	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// suite is the program that judges; it needs a newer Node.js than the page does,
// which comes as a package beside it.
func suite(t *testing.T) []string {
	t.Helper()
	node, program := "node_modules/.bin/node", "node_modules/.bin/conformance"
	for _, file := range []string{node, program} {
		if _, err := os.Stat(file); err != nil {
			if os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "" {
				t.Fatalf("%s is missing: run scripts/setup.sh", file)
			}
			t.Skip("the conformance suite is not installed: run scripts/setup.sh")
		}
	}
	return []string{node, program}
}

func TestEveryRequirementOfEachRevisionIsMet(t *testing.T) {
	program := suite(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			args := append(program[1:], "server", "--url", serve(t)+"/mcp", "--requirements", revision,
				"--expected-failures", "baseline.yml", "--output-dir", t.TempDir())
			out, err := exec.CommandContext(t.Context(), program[0], args...).CombinedOutput()
			t.Logf("%s", summary(string(out)))
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// summary is the suite's own closing count.
func summary(out string) string {
	if at := strings.LastIndex(out, "SUMMARY"); at >= 0 {
		return out[at:]
	}
	return out
}

// serve mounts the face as a hub does, with the suite's fixtures beside a real
// toolset. The suite knows no tokens, so the owner's is added on the way in.
func serve(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	db, local := storetest.SQLite(t), bus.NewLocal()
	people, err := identity.Open(ctx, db, local, identity.Options{})
	check(t, err)
	first, err := people.Bootstrap(ctx, "owner")
	check(t, err)
	guard, err := wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}})
	check(t, err)
	quiet := slog.New(slog.DiscardHandler)
	entrance := front.New(front.Deps{People: people, Guard: guard, Logger: quiet})
	face, err := facemcp.New(facemcp.Deps{
		Front: entrance, People: people, Log: quiet, Version: "test",
		Toolsets: []facemcp.Toolset{{Name: "none", Scopes: []string{identity.Talk}}},
		Extend:   facemcp.Extension{Options: options, Server: extend},
	})
	check(t, err)
	routes := front.NewRoutes(entrance)
	face.Mount(routes)
	handler := entrance.Wrap(routes)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+first.Secret)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		check(t, face.Close(ctx))
		server.CloseClientConnections()
		server.Close()
		check(t, people.Close())
		check(t, local.Close())
	})
	return server.URL
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheBaselineGivesReasons(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(".", "baseline.yml"))
	check(t, err)
	reasoned := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			reasoned = true
		case strings.HasPrefix(line, "- ") && !reasoned:
			t.Errorf("%q stands there without a reason above it", line)
		default:
			reasoned = false
		}
	}
}
