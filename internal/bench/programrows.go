package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"parley.internal/internal/bench/system"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/terminal/keeper"
	"parley.internal/protocol/viber"
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

// keeperRow: what it costs that a terminal outlives its hub.
func keeperRow() Row {
	return Row{Name: "keeper", What: "opening a terminal with its keeper, and the keeper's memory", Run: runKeeper}
}

const (
	// keeperOpens is how long somebody waits for a terminal.
	keeperOpens = 250 * time.Millisecond
	// keeperHolds is the memory of one keeper; the pages of its program are shared with the hub.
	keeperHolds = 25 << 20
)

func runKeeper(ctx context.Context, env *Env) ([]Result, error) {
	if err := keeper.Possible(env.Dir); err != nil || system.ResidentMemory() == 0 {
		return nil, fmt.Errorf("%w: %s tells no memory of processes, or has no keepers", errNotHere, runtime.GOOS)
	}
	var opened []time.Duration
	var memory int64
	all, n := filepath.Join(env.Dir, "terminals"), pick(env, 50, 5)
	defer keeper.FreeAll(all)
	for i := range n {
		folder := filepath.Join(all, strconv.Itoa(i))
		if err := errors.Join(ctx.Err(), os.MkdirAll(folder, 0o700)); err != nil {
			return nil, err
		}
		began := time.Now()
		kept, err := keeper.Start(append(slices.Clone(env.child), "keeper"), folder, keeper.Orders{
			Secret: "bench", Command: "exec sleep 1000", Dir: env.Dir, Size: viber.Size{Cols: 80, Rows: 24}, Alone: time.Minute,
		})
		if err != nil {
			return nil, err
		}
		defer kept.Leave()
		opened = append(opened, time.Since(began))
		memory += system.MemoryOf(folder)
	}
	return []Result{
		atMost("opening one", took(median(opened)), float64(keeperOpens)),
		atMost("memory of one", Figure{float64(memory) / float64(n), Bytes}, keeperHolds),
	}, nil
}
