//go:build unix

package command

import (
	"os/exec"
	"syscall"

	"github.com/google/uuid"

	"parley.internal/internal/sandbox"
)

// tree is a program with everything it started: its process group, its
// descendants by parent, and, where the system shows environments, whoever
// carries its mark.
type tree struct{ mark string }

// MarkName is the environment variable that tells which call a process belongs
// to. It names no secret; it is how runaways are found, and how the switch
// knows that the caller is a script.
const MarkName = "ENDPOINT_CALL"

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
	var out []Process
	for _, pid := range sandbox.Members(root, t.mark) {
		out = append(out, Process{Name: nameOf(pid), PID: pid})
	}
	return out
}

// keep lets it go on. It stays marked: it is a script's, and cannot use the switch.
func (t *tree) keep() {}

// kill ends the tree.
func (t *tree) kill(cmd *exec.Cmd) { sandbox.KillMembers(cmd.Process.Pid, t.mark) }

// Belongs reports whether a process is part of any call of an endpoint.
func Belongs(pid int) bool { return sandbox.Carries(pid, MarkName+"=") }
