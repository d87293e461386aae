package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"parley/internal/sandbox"
)

// DefaultCap is how much of each stream is kept unless a Spec says otherwise.
const DefaultCap = 1 << 20

// pipeWait is how long Run waits for the streams of a program that has ended:
// a grandchild may still hold them, and it is killed then.
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
}

// Result is what a program left behind.
type Result struct {
	Stdout, Stderr []byte
	// Truncated: output was left out.
	Truncated bool
	// ExitCode is -1 when there is none, as after a signal.
	ExitCode int
}

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
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if spec.Output != nil {
		cmd.Stdout = spec.Output
	}
	cmd.WaitDelay = pipeWait
	if spec.Prepare != nil {
		spec.Prepare(cmd)
	}
	tree.prepare(cmd)
	if err := cmd.Start(); err != nil {
		return Result{ExitCode: -1}, fmt.Errorf("%s %w: %w", spec.Path, ErrNotStarted, err)
	}
	if err := tree.started(cmd); err != nil {
		_ = cmd.Process.Kill() // it must not run where nobody could end it
		_ = cmd.Wait()
		return Result{ExitCode: -1}, fmt.Errorf("%s %w: %w", spec.Path, ErrNotStarted, err)
	}
	err := wait(ctx, cmd, tree)
	return Result{
		Stdout: stdout.bytes(), Stderr: stderr.bytes(), Truncated: stdout.cut() || stderr.cut(),
		ExitCode: exitCode(cmd),
	}, outcome(ctx, err)
}

// wait kills the tree when ctx ends, and what is left of it when the program
// has ended by itself.
func wait(ctx context.Context, cmd *exec.Cmd, tree *tree) error {
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
	close(stop)
	<-watched
	tree.kill(cmd)
	return err
}

// outcome keeps ctx's end and what is no exit status.
func outcome(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok || errors.Is(err, exec.ErrWaitDelay) {
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
