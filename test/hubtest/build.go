package hubtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// folder holds what is built for this test process; Main removes it.
var folder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "parley-hubtest-*") })

// builtVar names a program that was built before, once for all packages: what compiling and
// linking take on a busy machine is then not part of any test's time.
const builtVar = "PARLEY_TEST_PROGRAM"

// program builds the hub, without the race detector: it is the real one.
var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(builtVar); path != "" {
		_, err := os.Stat(path) // go test asks again whether it has changed
		return path, err
	}
	dir, err := folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "parley")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "parley.internal/cmd/parley")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("hubtest: go build: %w\n%s", err, out)
	}
	return path, nil
})

// Main runs a package's tests, looks for goroutines they left, and removes what was built.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir, err := folder(); err == nil {
			_ = os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// Program is the path of the built program.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
