package probe

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/internal/endpoint/command"
)

// Services lists launchd's jobs.
func Services(ctx context.Context) ([]Service, error) {
	out, err := command.Output(ctx, "/bin/launchctl", "list")
	if err != nil {
		return nil, err
	}
	services := parseLaunchctl(string(out))
	disabled := map[string]bool{}
	if out, err := command.Output(ctx, "/bin/launchctl", "print-disabled", "system"); err == nil {
		disabled = parseLaunchctlDisabled(string(out))
	}
	var jobs []launchdJob
	for _, pattern := range []string{"/System/Library/LaunchDaemons/*.plist", "/System/Library/LaunchAgents/*.plist", "/Library/LaunchDaemons/*.plist", "/Library/LaunchAgents/*.plist"} {
		for _, found := range jobsIn(ctx, pattern) {
			jobs = append(jobs, found.launchdJob)
		}
	}
	applyJobs(services, jobs, disabled)
	return services, nil
}

type foundJob struct {
	launchdJob
	path string
}

// jobsIn reads the property lists of a pattern; what cannot be read is left out.
func jobsIn(ctx context.Context, pattern string) []foundJob {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	var out []foundJob
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		if p, ok := readPlist(ctx, name).(map[string]any); ok {
			out = append(out, foundJob{readJob(p), name})
		}
	}
	return out
}

// readPlist reads a property list of either kind; nil if it cannot.
func readPlist(ctx context.Context, path string) any {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	if bytes.HasPrefix(data, []byte("bplist")) {
		if data, err = command.Output(ctx, "/usr/bin/plutil", "-convert", "xml1", "-o", "-", "--", path); err != nil {
			return nil
		}
	}
	v, err := parsePlist(data)
	if err != nil {
		return nil
	}
	return v
}

// Autostart lists jobs that were added to the system, and login items as far
// as the system shows them to us.
func Autostart(ctx context.Context) ([]Startup, error) {
	var out []Startup
	for _, pattern := range []string{"/Library/LaunchDaemons/*.plist", "/Library/LaunchAgents/*.plist", "/Users/*/Library/LaunchAgents/*.plist"} {
		for _, j := range jobsIn(ctx, pattern) {
			if j.Auto && !j.Disabled {
				out = append(out, Startup{Name: j.Label, Command: j.Command, Location: j.path})
			}
		}
	}
	return append(out, loginItems(ctx)...), nil
}

func loginItems(ctx context.Context) []Startup {
	out, err := command.Output(ctx, "/usr/bin/osascript", "-e", `tell application "System Events" to get the path of every login item`)
	if err != nil {
		return nil // nobody is logged in, or we were not allowed to ask
	}
	var items []Startup
	for path := range strings.SplitSeq(strings.TrimSpace(string(out)), ", ") {
		if path != "" {
			items = append(items, Startup{Name: strings.TrimSuffix(filepath.Base(path), ".app"), Command: path, Location: "login items"})
		}
	}
	return items
}
