package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/workspace"
)

// Limits of a shell command.
const (
	shellTimeout    = 60 * time.Second
	shellMaxTimeout = time.Hour
	// shellGrace lies between the polite and the final signal.
	shellGrace = 3 * time.Second
)

type shellArgs struct {
	Command   string `json:"command"`
	Cwd       string `json:"cwd"`
	TimeoutMS int64  `json:"timeout_ms"`
	Needs     needs  `json:"needs"`
}

type shellOutput struct {
	ExitCode   int    `json:"exit_code"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	Truncated  bool   `json:"truncated"`
	DurationMS int64  `json:"duration_ms"`
}

func shellTool(c Config) *tool.Tool {
	return &tool.Tool{
		Name: "shell",
		Description: "Run a command with " + shellName + " in the workspace and wait for it. Standard input is empty. " +
			"Everything the command started is ended when it returns, so nothing keeps running in the background. " +
			"It reaches the workspace, the system's programs and, through a proxy in the environment, hosts that were allowed.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"command":{"type":"string","minLength":1,"maxLength":131072,"description":"the command line"},
			"cwd":{"type":"string","description":"folder to run in, relative to the workspace"},
			"timeout_ms":{"type":"integer","minimum":1,"maximum":3600000,"description":"default 60000"},
			` + needsSchema + `},
			"required":["command"],"additionalProperties":false}`),
		Class:   tool.Sensitive,
		Timeout: -1, // keeps its own
		Refuses: c.outside(false),
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[shellArgs](call)
			if err != nil {
				return tool.Result{}, err
			}
			if reason, no := c.Policy.Denied(args.Command); no {
				return tool.Result{}, tool.Errorf(tool.Denied, "this command never runs here: %s", reason)
			}
			place, err := c.locate(ctx, call, args.Cwd, false)
			if err != nil {
				return tool.Result{}, err
			}
			dir, err := place.folder()
			if err != nil {
				return tool.Result{}, err
			}
			program := shellCommand(args.Command)
			program.Dir, program.Read = dir, args.Needs.Read
			program.Folders = slices.Concat([]string{call.Workspace}, c.Roots, args.Needs.Write)
			if err := c.share(ctx, call, &program); err != nil {
				return tool.Result{}, err
			}
			if err := c.Sandbox.Grantable(args.Needs.Read, args.Needs.Write); err != nil {
				return tool.Result{}, tool.Errorf(tool.Permission, "the command cannot be run: %w", err)
			}
			ctx, limit := newClock(ctx, args.limit())
			defer limit.stop()
			exit := c.exitFor(call, args.Needs, limit)
			program.Exit, program.Leaves = exit, len(args.Needs.Hosts) > 0
			run, err := c.Sandbox.Prepare(program)
			if err != nil {
				return tool.Result{}, tool.Errorf(tool.Permission, "the command cannot be run: %w", err)
			}
			defer run.Close()
			out, err := runShell(ctx, args, run, c)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Result{Text: success(out), Untrusted: true, Source: "shell"}, nil
		},
	}
}

// share gives a program the folders of others that its person may use.
func (c Config) share(ctx context.Context, call tool.Call, p *sandbox.Program) error {
	if c.Granted == nil {
		return nil
	}
	folders, err := c.Granted(ctx, call.Actor)
	workspace.Share(p, folders)
	return err
}

// limit is how long a command may run.
func (a shellArgs) limit() time.Duration {
	if a.TimeoutMS > 0 {
		return min(time.Duration(a.TimeoutMS)*time.Millisecond, shellMaxTimeout)
	}
	return shellTimeout
}

func runShell(ctx context.Context, args shellArgs, run *sandbox.Process, c Config) (shellOutput, error) {
	stdout, stderr := capture{mask: c.Mask.Stream()}, capture{mask: c.Mask.Stream()}
	run.Cmd.Stdout, run.Cmd.Stderr = &stdout, &stderr
	run.Cmd.WaitDelay = c.grace // a descendant that left the group may hold the pipes
	start := time.Now()
	err := runGroup(ctx, run, c.grace)
	out := shellOutput{DurationMS: time.Since(start).Milliseconds()}
	out.collect(&stdout, &stderr)
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), tool.ErrTimeout):
		failure := tool.Errorf(tool.TimedOut, "the command did not finish within %v and was ended%s", args.limit(), out.last())
		return out, failure.From("shell")
	case ctx.Err() != nil:
		return out, tool.Errorf(tool.Cancelled, "cancelled before it finished")
	}
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
	case errors.As(err, &exit):
		out.ExitCode = exitCode(exit.ProcessState)
	default:
		return out, tool.Errorf(tool.Unknown, "the command could not be started: %v", errors.Unwrap(err))
	}
	return out, nil
}

// collect shares the room fairly: what one stream does not need the other may use.
func (o *shellOutput) collect(stdout, stderr *capture) {
	out, lostOut := stdout.String()
	errs, lostErr := stderr.String()
	errs, cutErr := ends(errs, room/2)
	out, cutOut := ends(out, room-size(errs))
	o.Stdout, o.Stderr = out, errs
	o.Truncated = lostOut || lostErr || cutErr || cutOut
}

// last is the end of the output, for the message of a command that was ended.
func (o *shellOutput) last() string {
	text := strings.TrimSpace(o.Stdout + "\n" + o.Stderr)
	if text == "" {
		return ""
	}
	const keep = 2000
	if len(text) > keep {
		text = "…" + strings.ToValidUTF8(text[len(text)-keep:], "")
	}
	return fmt.Sprintf("; its output ended with:\n%s", text)
}

// runGroup runs a command in a group of its own. When ctx ends, the group is
// asked to stop and, if need be, killed; when it returns nothing of it is left.
func runGroup(ctx context.Context, run *sandbox.Process, grace time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := run.Cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- run.Cmd.Wait() }()
	defer run.Kill()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	run.Stop()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		run.Kill()
		return <-done
	}
}
