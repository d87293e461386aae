package tools

import (
	"context"
	"fmt"
	"strings"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
)

// maxLog bounds the log of an installation; its end is what matters.
const maxLog = 64 << 10

func (s *Set) wingetList(ctx context.Context, _ Call) (any, error) {
	packages, err := probe.WingetList(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"packages": orEmpty(packages)}, nil
}

// silent are the options of every winget call that changes something.
func silent(verb string, more ...string) []string {
	args := append([]string{verb}, more...)
	args = append(args, "--silent", "--accept-source-agreements", "--disable-interactivity")
	if verb != "uninstall" {
		args = append(args, "--accept-package-agreements")
	}
	return args
}

func exactly(id string) []string { return []string{"--id", id, "--exact"} }

func (s *Set) wingetInstall(ctx context.Context, c Call) (any, error) {
	return winget(ctx, silent("install", exactly(c.Args.Text("id"))...))
}

func (s *Set) wingetUninstall(ctx context.Context, c Call) (any, error) {
	return winget(ctx, silent("uninstall", exactly(c.Args.Text("id"))...))
}

func (s *Set) wingetUpdate(ctx context.Context, c Call) (any, error) {
	if id := c.Args.Text("id"); id != "" {
		return winget(ctx, silent("upgrade", exactly(id)...))
	}
	return winget(ctx, silent("upgrade", "--all"))
}

// winget runs it; a failure of the installer is a result, with its log.
func winget(ctx context.Context, args []string) (any, error) {
	program, err := probe.Winget()
	if err != nil {
		return nil, err
	}
	res, err := command.Run(ctx, command.Spec{Path: program, Args: args})
	if err != nil {
		return nil, err
	}
	log := wingetLog(command.Text(res.Stdout) + command.Text(res.Stderr))
	if res.ExitCode != 0 {
		log += fmt.Sprintf("\nwinget ended with status %#x", uint32(res.ExitCode))
	}
	return map[string]any{"ok": res.ExitCode == 0, "log": log}, nil
}

// wingetLog drops what was drawn over (progress bars and spinners) and keeps
// the end.
func wingetLog(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if line = strings.TrimSpace(line); line != "" && strings.Trim(line, `-\|/ `) != "" && !strings.ContainsAny(line, "█▒") {
			lines = append(lines, line)
		}
	}
	log := strings.Join(lines, "\n")
	if len(log) > maxLog {
		log = "…" + strings.ToValidUTF8(log[len(log)-maxLog:], "")
	}
	return log
}
