package archtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// heavy is what a managed machine has no use for: the hub, what it stores in and shows, and
// everything that came with it. Prefixes of import paths.
var heavy = []string{
	"parley.internal/internal/hub", "parley.internal/internal/face", "parley.internal/internal/store", "parley.internal/internal/brain", "parley.internal/internal/fleet",
	"parley.internal/internal/bus", "parley.internal/web", "modernc.org/sqlite", "github.com/jackc/pgx", "github.com/nats-io", "github.com/pion", "github.com/prometheus",
	"github.com/anthropics", "github.com/openai", "github.com/caddyserver", "charm.land", "github.com/modelcontextprotocol",
}

// maxEndpoint is how large the program may be that goes over a machine's line with every update.
const maxEndpoint = 20 << 20

func TestTheEndpointProgramIsLean(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/parley-endpoint")
	list.Dir, list.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		for _, prefix := range heavy {
			if dep == prefix || strings.HasPrefix(dep, prefix+"/") {
				t.Errorf("parley-endpoint has %s in it: a managed machine needs none of %s", dep, prefix)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "parley-endpoint")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./cmd/parley-endpoint")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxEndpoint {
		t.Errorf("parley-endpoint has %d bytes, more than %d", info.Size(), maxEndpoint)
	}
}
