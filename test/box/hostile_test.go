//go:build linux

package box_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley.internal/internal/sandbox"
	"parley.internal/test/hubtest"
)

func pidOf(text string) (int, error) { return strconv.Atoi(text) }

// child is what a hostile command tries.
type child struct{ name, command string }

// children work where there is no box. The last one leaves no room for others.
func children(h *hubtest.Hub) []child {
	_, port, _ := strings.Cut(strings.TrimPrefix(h.URL, "http://"), ":")
	hub := strconv.Itoa(h.PID)
	return []child{
		{"reads the owner's token", "grep -q . ../owner.token"},
		{"reads a key", "grep -q . ../keys/hub.key"},
		{"reads the hub's environment", "grep -q . /proc/" + hub + "/environ"},
		{"reads by way of the hub's root", "grep -q . /proc/" + hub + "/root" + h.Path("owner.token")},
		{"reads by way of the hub's folder", "ls /proc/" + hub + "/cwd/"},
		{"reads through a link", "ln -s ../owner.token made && grep -q . made"},
		{"reads through a link to the root", "ln -s /proc/self/root" + h.Path("") + " made && grep -q . made/owner.token"},
		{"takes a second name for a secret", "ln ../owner.token made && grep -q . made"},
		{"writes beside its folder", "echo x > ../stolen.txt"},
		{"writes an agent", "echo x > ../agents/evil.md"},
		{"moves what is beside its folder", "mv ../agents ../gone && mv ../gone ../agents"},
		{"changes the mode of a secret", "chmod 644 ../owner.token && chmod 600 ../owner.token"},
		{"calls the hub", "curl -sf --noproxy '*' http://127.0.0.1:" + port + "/healthz"},
		{"calls the hub by its way out", "curl -sf --noproxy none -x \"${http_proxy:-http://127.0.0.1:" + port + "}\" http://127.0.0.1:" + port + "/healthz"},
		{"signals the hub", "kill -0 " + hub},
		{"makes a set-user-ID program", "cp /bin/true made && chmod u+s made"},
		{"starts more processes than it may", "! (for i in $(seq 300); do sleep 5 >/dev/null 2>&1 & done) 2>&1 | grep -qi fork"},
	}
}

// worse would stop the hub, or do harm on this machine, if there were no box.
func worse(h *hubtest.Hub) []child {
	return []child{
		{"traces the hub", fmt.Sprintf("%s=%s ./tool %d", roleVariable, tracer, h.PID)},
		{"traces what keeps the box", fmt.Sprintf("%s=%s ./tool 1", roleVariable, tracer)},
		{"changes the system", "echo x >> /etc/passwd || touch -c /usr/bin/env || echo x > /usr/bin/parley-test"},
		{"mounts", "mkdir made && mount -t tmpfs none made"},
		{"makes a namespace in which it rules", "unshare -r true"},
		{"becomes root", "su -c true"},
	}
}

// script tries them in turn, and says which worked.
func script(all []child) []byte {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "if ( %s ) >>said.txt 2>&1; then echo \"worked: %s.\"; fi; rm -rf made\n", c.command, c.name)
	}
	return []byte(b.String() + "echo over\n")
}

// plain is a user that is nobody in particular.
const plain = 54321

// folder is one that is not in /tmp: a box has a /tmp of its own, and writes there what it likes.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "parley-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// asPlainUser has a hub run as an ordinary user, from a folder that such a user reaches.
func asPlainUser(t *testing.T) (data string, wrap func(*exec.Cmd)) {
	t.Helper()
	dir := folder(t)
	program := filepath.Join(dir, "parley")
	built, err := os.ReadFile(hubtest.Program(t))
	for _, err := range []error{err, os.WriteFile(program, built, 0o755), os.Chmod(program, 0o755), os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "own"), 0o700), os.Chown(filepath.Join(dir, "own"), plain, plain)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "own")
	return filepath.Join(home, "data"), func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args[0], cmd.Dir = program, program, home
		cmd.Env = append(cmd.Env, "HOME="+home, "TMPDIR="+home, "PATH=/usr/bin:/bin")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plain, Gid: plain}, Pdeathsig: syscall.SIGKILL}
	}
}

// Hostile children of a task that a person said yes to are contained, whoever the hub runs as.
func TestHostileChildrenAreContained(t *testing.T) {
	t.Run("as whoever runs the tests", func(t *testing.T) { contains(t, filepath.Join(folder(t), "data"), nil) })
	t.Run("as a plain user", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("needs root, to become a plain user; the other half has shown it")
		}
		data, wrap := asPlainUser(t)
		contains(t, data, wrap)
	})
}

func contains(t *testing.T, data string, wrap func(*exec.Cmd)) {
	t.Helper()
	if needsBox(t).Isolation != sandbox.Full {
		t.Skip("allow unprivileged user namespaces: boxes have no files and processes of their own here")
	}
	h := &hub{t: t, Hub: hubtest.Start(t, hubtest.Config{Data: data, Wrap: wrap, Env: []string{"PARLEY_MODEL=offline", "PARLEY_BOX_PROCESSES=100"}})}
	h.thief = h.token("task:submit,task:read")
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	h.put("tool", own)
	h.put("hostile.sh", script(children(h.Hub)))
	h.put("worse.sh", script(worse(h.Hub)))

	out := h.hostile("sh worse.sh; sh hostile.sh; setsid sleep 54321.0 </dev/null >/dev/null 2>&1 & exit 0")
	if !strings.Contains(out, `"stdout":"over\nover\n"`) {
		t.Errorf("inside the box: %s; expected everything to be tried, and nothing to work", out)
	}
	hubtest.Eventually(t, "what the command left behind is gone", func() bool { return !runs("54321.0") })

	outside := exec.Command("sh", "hostile.sh")
	outside.Dir = h.Path("workspace")
	if wrap != nil {
		outside.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plain, Gid: plain}}
	}
	said, err := outside.CombinedOutput()
	if err != nil {
		t.Fatalf("outside the box: %v: %s", err, said)
	}
	for _, c := range children(h.Hub) {
		if !strings.Contains(string(said), "worked: "+c.name+".") {
			t.Errorf("a program that %s does not work outside the box, so that it fails inside says nothing", c.name)
		}
	}
}

// put writes a file into the workspace, as whoever has it.
func (h *hub) put(name string, text []byte) {
	h.t.Helper()
	at, err := os.Stat(h.Path("workspace"))
	if err != nil {
		h.t.Fatal(err)
	}
	owner, path := at.Sys().(*syscall.Stat_t), h.Path("workspace/"+name)
	for _, err := range []error{os.WriteFile(path, text, 0o755), os.Chown(path, int(owner.Uid), int(owner.Gid))} {
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// hostile runs a command with a person's yes, and is what came of the task.
func (h *hub) hostile(command string) string {
	h.t.Helper()
	task := h.submit(shell(command))
	h.approve(task)
	out, _ := h.parley(h.thief, "task", "watch", task)
	return out
}

// runs reports whether a process with this argument lives.
func runs(argument string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "sleep\x00"+argument) {
			return true
		}
	}
	return false
}
