package natstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

const module = "github.com/nats-io/nats-server/v2"

// program is the path of the server binary, built at most once per version.
var program = sync.OnceValues(func() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	version, err := run(root, "go", "list", "-m", "-f", "{{.Version}}", module)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("nats-server-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(root, ".tools", name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, build(root, path)
})

// build renames into place, because several test binaries may be building at the same time.
func build(root, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fresh := filepath.Join(dir, filepath.Base(path))
	if _, err := run(root, "go", "build", "-o", fresh, module); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

func run(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		exit := &exec.ExitError{}
		if errors.As(err, &exit) {
			stderr = exit.Stderr
		}
		return "", fmt.Errorf("natstest: %s %s: %w\n%s", name, strings.Join(args, " "), err, stderr)
	}
	return strings.TrimSpace(string(out)), nil
}

// repository is the folder of go.mod, above the folder a test runs in.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("natstest: no go.mod above the working directory")
}
