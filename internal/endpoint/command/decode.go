package command

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Text is output as valid UTF-8.
func Text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// Output runs a program in the plain C locale and gives its standard output.
// A non-zero exit code is an error that quotes what the program complained of.
func Output(ctx context.Context, path string, args ...string) ([]byte, error) {
	res, err := Run(ctx, Spec{Path: path, Args: args, Env: []string{"LC_ALL=C", "LANG=C"}, Cap: outputCap})
	if err != nil {
		return nil, err
	}
	if res.ExitCode != 0 {
		return res.Stdout, &ExitError{Program: path, Code: res.ExitCode, Stderr: complaint(res.Stderr)}
	}
	return res.Stdout, nil
}

// outputCap fits the longest structured output a probe reads.
const outputCap = 16 << 20

// ExitError is a program that ended with a failure.
type ExitError struct {
	Program string
	Code    int
	Stderr  string
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s ended with status %d", e.Program, e.Code)
	}
	return fmt.Sprintf("%s ended with status %d: %s", e.Program, e.Code, e.Stderr)
}

// complaint is the first line of an error output, short enough to pass on.
func complaint(stderr []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(Text(stderr)), "\n")
	if r := []rune(line); len(r) > 300 {
		line = string(r[:300]) + "…"
	}
	return strings.TrimSpace(line)
}

// Have reports whether a program is installed.
func Have(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
