package hub

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/terminal"
	"parley.internal/internal/terminal/keeper"
	"parley.internal/internal/work"
)

// terminalPart is terminals, for people and for agents.
func (h *Hub) terminalPart() part {
	return part{
		name: "terminal", open: h.openTerminals, listen: h.endLeftTerminals,
		routes: func(_ *front.Routes, rest *api.API) error {
			api.RegisterTerminals(rest, h.terminals)
			return nil
		},
		count: func(_ context.Context, _ identity.Actor, counts map[string]int64) error {
			counts["terminals"] = int64(h.terminals.Running())
			return nil
		},
	}
}

func (h *Hub) openTerminals(context.Context) error {
	recordings, err := terminal.OpenRecordings(terminal.RecordingOptions{Dir: h.folder.Path("recordings"), Which: h.conf.Terminal.Record, Log: h.logger})
	if err != nil {
		return err
	}
	d := terminal.Deps{
		Workspace: h.spaces.Dir, Sandbox: h.sandbox, Mask: h.mask, MaxRunning: h.conf.Board.Limits.MaxTerminals,
		Recordings: recordings, Audit: h.trail, Log: h.logger,
	}
	if h.conf.NATS != "" {
		d.Bus, d.Leases = h.bus, h.leases
	}
	d.Keep = h.keepTerminals()
	if h.terminals, err = terminal.New(d); err != nil {
		return err
	}
	h.onClose(h.terminals.Close)
	return nil
}

// keptFolder has a folder for each terminal that outlives the hub.
const keptFolder = "terminals"

// keepTerminals is how terminals outlive this hub; nil if they do not. What was kept until
// now ends then.
func (h *Hub) keepTerminals() *terminal.Keep {
	dir := h.folder.Path(keptFolder)
	if len(h.opts.Keeper) == 0 {
		return nil
	}
	if err := keeper.Possible(dir); err != nil {
		h.logger.Info("terminals end with the hub", "why", err)
		return nil
	}
	if !h.conf.Terminal.Keep || h.conf.Terminal.KeepFor <= 0 {
		if n := keeper.FreeAll(dir); n > 0 {
			h.logger.Warn("terminals were ended: terminal.keep is off", "terminals", n)
		}
		return nil
	}
	return &terminal.Keep{
		Program: h.opts.Keeper, Dir: dir, Alone: h.conf.Terminal.KeepFor, Lasting: h.people.Lasting, Ended: h.hasEnded,
		Exit: func() sandbox.Exit { return h.terminalWayOut(tool.Call{}) },
	}
}

// endLeftTerminals ends terminals that were taken up and whose tasks are over: another hub
// may have had the task meanwhile.
func (h *Hub) endLeftTerminals(ctx context.Context) error {
	for _, task := range h.terminals.Tasks() {
		snapshot, err := h.work.Snapshot(ctx, identity.Hub(), task)
		if errors.Is(err, work.ErrNotFound) || err == nil && snapshot.Status.Ended() {
			h.terminals.EndTask(ctx, task)
		}
	}
	return nil
}

// terminalWayOut is how a terminal of an agent reaches the network: as a command does.
func (h *Hub) terminalWayOut(call tool.Call) sandbox.Exit {
	return builtin.WayOut(h.guard, h.conf.Box.Hosts, call, nil)
}

// agentTerminals are terminals as tasks use them.
type agentTerminals struct {
	all *terminal.Terminals
	// wayOut makes a terminal's way to the network.
	wayOut func(tool.Call) sandbox.Exit
}

var _ work.Terminals = agentTerminals{}

// Open starts a process for a task, in a box with its workspace.
func (a agentTerminals) Open(ctx context.Context, o work.TerminalOwner, spec work.TerminalSpec) (string, error) {
	cwd := spec.Cwd
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(o.Workspace, cwd)
	}
	if rel, err := filepath.Rel(o.Workspace, cwd); err != nil || !filepath.IsLocal(rel) {
		return "", tool.Errorf(tool.Permission, "the folder is outside the workspace; use one inside it")
	}
	exit := a.wayOut(spec.Call)
	info, err := a.all.Create(ctx, o.Actor, terminal.Spec{
		Name: spec.Name, Command: spec.Command, Cwd: cwd, Size: spec.Size, Task: o.Actor.Run, Box: []string{o.Workspace}, Exit: exit,
	})
	if err != nil {
		exit.Close()
	}
	return info.ID, err
}

// Send types and gives what is printed then.
func (a agentTerminals) Send(ctx context.Context, o work.TerminalOwner, id string, data []byte, wait time.Duration) (work.TerminalOutput, error) {
	return agentOutput(a.all.Send(ctx, o.Actor, id, data, wait))
}

// Read gives output after a position.
func (a agentTerminals) Read(ctx context.Context, o work.TerminalOwner, id string, after int64, wait time.Duration) (work.TerminalOutput, error) {
	return agentOutput(a.all.Read(ctx, o.Actor, id, after, wait))
}

func agentOutput(out terminal.Output, err error) (work.TerminalOutput, error) {
	return work.TerminalOutput{Data: out.Data, Offset: out.Offset, Status: string(out.Status), ExitCode: out.ExitCode}, err
}

// Close ends a terminal.
func (a agentTerminals) Close(ctx context.Context, o work.TerminalOwner, id string) error {
	_, err := a.all.End(ctx, o.Actor, id)
	return err
}

// CloseTask ends what a task leaves behind.
func (a agentTerminals) CloseTask(ctx context.Context, task string) { a.all.EndTask(ctx, task) }
