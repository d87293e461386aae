//go:build unix

package command

import (
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"parley/internal/sandbox"
)

// tree is a program with everything it started: its process group, its
// descendants by parent, and, where the system shows environments, whoever
// carries its mark.
type tree struct{ mark string }

// MarkName is the environment variable that tells which call a process belongs
// to. It names no secret; it is how runaways are found, and how the switch
// knows that the caller is a script.
const MarkName = "ENDPOINT_CALL"

// killRounds bounds the hunt: a process stuck in the kernel must not hold us.
const (
	killRounds = 200
	killPause  = 5 * time.Millisecond
)

func newTree() *tree { return &tree{mark: MarkName + "=" + uuid.NewString()} }

func (t *tree) env() []string { return []string{t.mark} }

func (t *tree) prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

func (t *tree) started(*exec.Cmd) error { return nil }

func (t *tree) close() {}

// left names what of the tree still runs.
func (t *tree) left(root int) []Process {
	pids := t.members(root)
	slices.Sort(pids)
	var out []Process
	for _, pid := range slices.Compact(pids) {
		out = append(out, Process{Name: nameOf(pid), PID: pid})
	}
	return out
}

// keep lets it go on. It stays marked: it is a script's, and cannot use the switch.
func (t *tree) keep() {}

// kill ends the tree. A dying parent hands its children to init, so the list
// is made before anything is killed, and made again until it stays empty.
func (t *tree) kill(cmd *exec.Cmd) {
	for range killRounds {
		victims := t.members(cmd.Process.Pid)
		sandbox.Outside(cmd).Kill()
		if len(victims) == 0 {
			return
		}
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
		}
		time.Sleep(killPause) // dying takes the kernel a moment
	}
}
