package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"parley.internal/internal/sandbox"
)

// DefaultCap is how much of each stream is kept unless a Spec says otherwise.
const DefaultCap = 1 << 20

// pipeWait is how long Run waits for the streams of a program that has ended: what
// it left running may still hold them.
const pipeWait = 500 * time.Millisecond

// Spec is a program to run.
type Spec struct {
	Path string
	Args []string
	// Env is added to the cleaned environment.
	Env []string
	// Files are passed on from descriptor 3 upwards; not on Windows.
	Files []*os.File
	// Cap bounds each of stdout and stderr; 0 is DefaultCap.
	Cap int
	// Prepare may change the command before it starts.
	Prepare func(*exec.Cmd)
	// Output, where given, receives stdout instead of Result.Stdout.
	Output io.Writer
	// KeepBackground lets what the program leaves running go on; the end of ctx
	// still ends everything.
	KeepBackground bool
}

// Result is what a program left behind.
type Result struct {
	Stdout, Stderr []byte
	// Truncated: output was left out.
	Truncated bool
	// ExitCode is -1 when there is none, as after a signal.
	ExitCode int
	// Left is what was still running when the program had ended.
	Left []Process
}

// Process is a program that runs.
type Process struct {
	Name string
	PID  int
}

// String names a process as people look for it.
func (p Process) String() string { return fmt.Sprintf("%s (%d)", p.Name, p.PID) }

// ErrNotStarted is wrapped by errors about programs that could not be started.
var ErrNotStarted = errors.New("could not be started")

// Run runs a program to its end. A non-zero exit code is no error; the end of
// ctx is, and it is ctx's.
func Run(ctx context.Context, spec Spec) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{ExitCode: -1}, err
	}
	limit := spec.Cap
	if limit == 0 {
		limit = DefaultCap
	}
	stdout, stderr := newCapped(limit), newCapped(limit)
	tree := newTree()
	defer tree.close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(append(sandbox.WithoutSecrets(os.Environ()), spec.Env...), tree.env()...)
	cmd.ExtraFiles = spec.Files
	var sink io.Writer = stdout
	if spec.Output != nil {
		sink = spec.Output
	}
	pipes, err := newStreams(cmd, sink, stderr)
	if err != nil {
		return Result{ExitCode: -1}, fmt.Errorf("%s %w: %w", spec.Path, ErrNotStarted, err)
	}
	if spec.Prepare != nil {
		spec.Prepare(cmd)
	}
	tree.prepare(cmd)
	if err := cmd.Start(); err != nil {
		pipes.abandon()
		return Result{ExitCode: -1}, fmt.Errorf("%s %w: %w", spec.Path, ErrNotStarted, err)
	}
	pipes.copy()
	if err := tree.started(cmd); err != nil {
		_ = cmd.Process.Kill() // it must not run where nobody could end it
		_ = cmd.Wait()
		pipes.close()
		return Result{ExitCode: -1}, fmt.Errorf("%s %w: %w", spec.Path, ErrNotStarted, err)
	}
	err = wait(ctx, cmd, tree, pipes)
	var left []Process
	if ctx.Err() == nil {
		left = tree.left(cmd.Process.Pid)
	}
	if keep := spec.KeepBackground && len(left) > 0; keep {
		tree.keep()
	} else {
		tree.kill(cmd)
		pipes.close()
	}
	return Result{
		Stdout: stdout.bytes(), Stderr: stderr.bytes(), Truncated: stdout.cut() || stderr.cut(),
		ExitCode: exitCode(cmd), Left: left,
	}, outcome(ctx, err)
}

// wait kills the tree when ctx ends. The program has ended then, and its streams, or
// somebody else holds them.
func wait(ctx context.Context, cmd *exec.Cmd, tree *tree, pipes *streams) error {
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			tree.kill(cmd)
		case <-stop:
		}
	}()
	err := cmd.Wait()
	pipes.wait(ctx)
	close(stop)
	<-watched
	return err
}

// outcome keeps ctx's end and what is no exit status.
func outcome(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

func exitCode(cmd *exec.Cmd) int {
	if cmd.ProcessState == nil {
		return -1
	}
	return cmd.ProcessState.ExitCode()
}
