package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/workspace"
)

// goodbye is how long a program has to end by itself once it is told to. A stopped task
// waits a little longer than that.
const goodbye = 2 * time.Second

// running is an agent's program that runs.
type running struct {
	*peer
	process *sandbox.Process
	said    *sandbox.Tail
	exited  chan struct{}
	gone    context.Context // ends when the program is to end
	leave   context.CancelFunc
	ended   error // why it exited, once it has

	stop    sync.Once
	readers sync.WaitGroup
}

// start runs an agent's program in a box for a task.
func (p *program) start(ctx context.Context, call tool.Call) (*running, error) {
	if err := inside(call); err != nil {
		return nil, err
	}
	boxed, err := p.boxFor(ctx, call)
	if err != nil {
		return nil, err
	}
	process, err := p.o.Sandbox.Prepare(boxed)
	if err != nil {
		boxed.Exit.Close()
		if errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("its program %s is not installed on this machine", p.entry.Command)
			if p.entry.Install != "" {
				err = fmt.Errorf("%w; get it with: %s", err, p.entry.Install)
			}
		}
		return nil, err
	}
	in, err := process.Cmd.StdinPipe()
	if err != nil {
		process.Close()
		return nil, err
	}
	out, words := io.Pipe()
	r := &running{peer: newPeer(in), process: process, said: &sandbox.Tail{}, exited: make(chan struct{})}
	r.gone, r.leave = context.WithCancel(context.Background())
	process.Cmd.Stdout, process.Cmd.Stderr, process.Cmd.WaitDelay = words, r.said, goodbye/2
	if err := process.Cmd.Start(); err != nil {
		r.leave()
		process.Close()
		return nil, err
	}
	r.readers.Go(func() {
		r.read(out)
		_ = out.Close() // a program that prints on has nobody to wait for
	})
	r.readers.Go(func() {
		r.ended = process.Cmd.Wait()
		_ = words.Close() // what it said up to here is read to its end
		close(r.exited)
	})
	return r, nil
}

// inside says why the program cannot work where it is to: no way of writing a folder, and no link,
// leads out of the workspace.
func inside(call tool.Call) error {
	dir := sandbox.Resolved(call.Dir)
	rel, err := filepath.Rel(sandbox.Resolved(call.Workspace), dir)
	if err != nil || !filepath.IsLocal(rel) {
		return errors.New("the folder it is to work in is outside the workspace")
	}
	if err := os.MkdirAll(call.Workspace, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s in the workspace", rel)
	}
	return nil
}

// boxFor is what the program has in its box: what a command of its person would have, and
// the hosts of its entry.
func (p *program) boxFor(ctx context.Context, call tool.Call) (sandbox.Program, error) {
	box := sandbox.Program{
		Path: p.entry.Command, Args: p.entry.Args, Dir: call.Dir, Env: p.entry.Env,
		Folders: slices.Concat([]string{call.Workspace}, p.o.Roots), Leaves: len(p.entry.Hosts) > 0,
	}
	if p.o.Granted != nil {
		folders, err := p.o.Granted(ctx, call.Actor)
		if err != nil {
			return box, err
		}
		workspace.Share(&box, folders)
	}
	box.Exit = builtin.WayOut(p.o.Guard, slices.Concat(p.entry.Hosts, p.o.Hosts), call, nil)
	return box, nil
}

// end ends the program and all it started, and waits for that.
func (r *running) end() {
	r.stop.Do(func() {
		close(r.left)
		r.leave()
		_ = r.in.Close()
		r.process.Stop()
		late := time.NewTimer(goodbye)
		defer late.Stop()
		select {
		case <-r.exited:
		case <-late.C:
		}
		r.process.Kill()
		<-r.exited
		r.readers.Wait()
		r.process.Close()
	})
}

// why ends what is left of the program and tells why it ended, in its own words if it had any.
func (r *running) why() string {
	r.end()
	text := "its program ended"
	if r.ended != nil {
		text += " (" + r.ended.Error() + ")"
	}
	if r.err != nil && !errors.Is(r.err, io.EOF) {
		text = r.err.Error()
	}
	if said := r.said.String(); said != "" {
		text += ": " + said
	}
	return text
}
