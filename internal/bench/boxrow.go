package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/internal/sandbox"
)

// boxRow: what the box adds to the start of an agent's command.
func boxRow() Row {
	return Row{Name: "box", What: "a command of an agent, sh -c true, with and without its box", Run: runBox}
}

// boxAdds is what a command may start later than without a box.
const boxAdds = 15 * time.Millisecond

func runBox(ctx context.Context, env *Env) ([]Result, error) {
	support := sandbox.Probe("")
	if support.Version == 0 {
		return nil, fmt.Errorf("no box can be made here: %s", support)
	}
	workspace := filepath.Join(env.Dir, "data", "workspace")
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return nil, err
	}
	o := sandbox.Options{Data: filepath.Dir(workspace), Workspace: workspace, Environ: os.Environ()}
	outside := sandbox.New(o)
	o.Support = support
	inside := sandbox.New(o)
	var with, without []time.Duration
	for range pick(env, 200, 10) { // in turns, so that both meet the same machine
		for _, c := range []struct {
			box   *sandbox.Sandbox
			times *[]time.Duration
		}{{outside, &without}, {inside, &with}} {
			d, err := timeCommand(ctx, c.box, workspace)
			if err != nil {
				return nil, err
			}
			*c.times = append(*c.times, d)
		}
	}
	bare, boxed := median(without), median(with)
	added := atMost("added by the box", took(max(boxed-bare, 0)), float64(boxAdds))
	added.Note = fmt.Sprintf("median of %d; %s", len(with), support)
	return []Result{atMost("without a box", took(bare), 0), atMost("in a box", took(boxed), 0), added}, nil
}

// timeCommand is how long a command takes that does nothing.
func timeCommand(ctx context.Context, box *sandbox.Sandbox, workspace string) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	began := time.Now()
	run, err := box.Prepare(sandbox.Program{Path: "/bin/sh", Args: []string{"-c", "true"}, Dir: workspace, Folders: []string{workspace}})
	if err != nil {
		return 0, err
	}
	defer run.Close()
	err = run.Cmd.Run()
	return time.Since(began), err
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
