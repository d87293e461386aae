package hub

import (
	"context"
	"os"
	"slices"
	"strings"

	"parley.internal/internal/hub/config"
	"parley.internal/internal/sandbox"
)

// openSandbox makes what runs the programs of agents. Of the hub's own files only
// workspaces are ever inside, each for its person.
func (h *Hub) openSandbox(context.Context) error {
	h.sandbox = sandbox.New(sandbox.Options{
		Support: h.opts.Box, Data: h.conf.Data, Workspace: h.folder.Path("workspace"), Workspaces: h.folder.Path("workspaces"), Temp: h.folder.Path("boxes"), Hidden: ownFiles(h.conf),
		Read: h.conf.Box.Read, Write: h.conf.Box.Write, Env: h.conf.Box.Env, Environ: os.Environ(), Limits: boxLimits(h.conf.Box),
	})
	if h.opts.Quiet {
		return nil
	}
	if h.sandbox.Boxed() {
		h.logger.Info("programs of agents run in a box", "box", h.sandbox.Support().String())
	}
	for _, gap := range h.sandbox.Support().Gaps() {
		h.logger.Warn("the box of programs of agents is not complete", "why", gap)
	}
	return nil
}

// boxLimits are the settings' limits in bytes.
func boxLimits(b config.Box) sandbox.Limits {
	const mebi = 1 << 20
	return sandbox.Limits{
		Processes: b.Processes, Memory: int64(b.Memory) * mebi, FileSize: int64(b.FileSize) * mebi, OpenFiles: b.OpenFiles, CPU: b.CPU,
	}
}

// ownFiles are those of the hub that may lie anywhere.
func ownFiles(conf config.Config) []string {
	list := []string{conf.File, conf.TLS.Key, conf.Fleet.KeyFile}
	if file, ok := strings.CutPrefix(conf.DB, "sqlite:"); ok {
		list = append(list, file, file+"-wal", file+"-shm")
	}
	return slices.DeleteFunc(list, func(path string) bool { return path == "" })
}
