// Command mutants takes mends out again, one by one, and runs the test that tells the
// story of each: it must fail. `make mutants` runs all, `make mutants ARGS=tokens` those
// whose names begin so.
//
// The tree is not touched: the go command is told of the changed file by an overlay,
// and so are the programs that tests build.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// mutant is a mend taken out.
type mutant struct {
	name string
	file string
	// old stands in the file exactly once.
	old, new string
	// pkg and test are what must fail; says is what the failure must say (a regular
	// expression), where a test may fail for another reason than the hole.
	pkg, test, says string
}

func main() {
	prefix := ""
	if len(os.Args) > 1 {
		prefix = os.Args[1]
	}
	if missed := runAll(os.Stdout, prefix); missed > 0 {
		fmt.Fprintf(os.Stdout, "\n%d mutants were not found\n", missed)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// runAll runs the mutants whose names begin alike and counts those that no test found.
func runAll(out io.Writer, prefix string) (missed int) {
	for _, m := range mutants {
		if !strings.HasPrefix(m.name, prefix) {
			continue
		}
		began := time.Now()
		found, said, err := m.run()
		word := "found"
		switch {
		case err != nil:
			word, missed = "broken: "+err.Error(), missed+1
		case !found:
			word, missed = "NOT FOUND", missed+1
		}
		_, _ = fmt.Fprintf(out, "%-10s %4.0f s  %s (%s.%s)\n%s", word, time.Since(began).Seconds(), m.name, m.pkg, m.test, said)
	}
	return missed
}

// mutate is the file with the mend taken out.
func (m mutant) mutate(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return nil, fmt.Errorf("%s: %q is there %d times, want once", m.file, m.old, n)
	}
	return []byte(strings.Replace(string(text), m.old, m.new, 1)), nil
}

// run reports whether the test failed, as it should, and how a random one came to it. A
// program that does not build shows nothing, and is an error.
func (m mutant) run() (found bool, said string, err error) {
	text, err := m.mutate(".")
	if err != nil {
		return false, "", err
	}
	dir, err := os.MkdirTemp("", "parley-mutant-*")
	if err != nil {
		return false, "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flags, err := overlay(dir, m.file, text)
	if err != nil {
		return false, "", err
	}
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+flags))
	// The flags of `make test`, so that whatever the changed file does not reach is compiled already.
	args := []string{"test", "-trimpath", "-vet=off", "-ldflags=-s -w", "-count=1", "-run", "^" + m.test + "$", "./" + m.pkg}
	if m.test == nothingGrows { // that it is found is enough; the shortest way to it takes longer
		args = append(args, "-rapid.shrinktime=0s")
	}
	out, err := command(env, args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if notBuilt.Match(out) {
			return false, "", fmt.Errorf("it does not build: %s", out)
		}
		return strings.Contains(string(out), "--- FAIL: ") && regexp.MustCompile(m.says).Match(out), howFound(string(out)), nil
	}
	return false, "", err
}

// notBuilt is what go test says, and a test that builds the program itself, where that fails.
var notBuilt = regexp.MustCompile(`(?m)\[(build|setup) failed\]$|hubtest: go build: `)

// howFound is what rapid says of a failure: after how many sequences, and what it was.
func howFound(out string) string {
	for line := range strings.Lines(out) {
		if _, how, ok := strings.Cut(line, "[rapid] failed "); ok {
			return "           " + how[:min(len(how), 300)] + "\n"
		}
	}
	return ""
}

func command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Env = env
	cmd.WaitDelay = time.Minute // a test that failed may leave a program that holds the output
	return cmd
}

// overlay writes the changed file and is the flag that tells the go command of it.
func overlay(dir, file string, text []byte) (flag string, err error) {
	changed, note := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	where, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{where: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return "", err
	}
	return "-overlay=" + note, os.WriteFile(note, raw, 0o600)
}
