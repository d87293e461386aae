//go:build unix

package sandbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/internal/sandbox"
	"parley.internal/test/pgtest"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(attackVariable); name != "" {
		os.Exit(attack(name, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func folder(t *testing.T) string {
	t.Helper()
	dir := pgtest.Folder(t)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// hub is a data folder as a hub has it, with its secrets.
type hub struct {
	t               *testing.T
	data, workspace string
	box             *sandbox.Sandbox
}

const (
	ownerToken = "prl_this-is-the-owner"
	hubSecret  = "sk-the-key-of-the-model"
)

func newHub(t *testing.T, change ...func(*sandbox.Options)) *hub {
	t.Helper()
	// Not below the temporary folder, which a mistake could well have opened.
	return newHubIn(t, folder(t), change...)
}

func newHubIn(t *testing.T, root string, change ...func(*sandbox.Options)) *hub {
	t.Helper()
	h := &hub{t: t, data: filepath.Join(root, "data"), workspace: filepath.Join(root, "data", "workspace")}
	h.write("data/owner.token", ownerToken)
	h.write("data/keys/hub.key", "private-key-of-the-hub")
	h.write("data/workspace/notes.txt", "notes\n")
	h.write("data/workspace/sub/more.txt", "more\n")
	h.write("home/.ssh/id_ed25519", "private-key-of-a-person")
	h.write("home/.local/bin/own-tool", "#!/bin/sh\necho own tool\n")
	if err := os.Chmod(filepath.Join(root, "home/.local/bin/own-tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := sandbox.Options{
		Support: sandbox.Probe(""), Data: h.data, Workspace: h.workspace, Temp: filepath.Join(h.data, "boxes"), Home: filepath.Join(root, "home"),
		Environ: append(os.Environ(), "ANTHROPIC_API_KEY="+hubSecret, "SSH_AUTH_SOCK=/run/agent", "LC_ALL=C", "https_proxy=http://me:pass@proxy", "HTTP_PROXY=http://proxy"),
	}
	for _, c := range change {
		c(&o)
	}
	h.box = sandbox.New(o)
	return h
}

func (h *hub) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(filepath.Dir(h.data), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// sh runs a command line in a box with the workspace.
func (h *hub) sh(command string) (out string, code int) {
	h.t.Helper()
	return h.run(sandbox.Program{Path: "/bin/sh", Args: []string{"-c", command}, Dir: h.workspace, Folders: []string{h.workspace}})
}

func (h *hub) run(p sandbox.Program) (out string, code int) {
	h.t.Helper()
	run, err := h.box.Prepare(p)
	if err != nil {
		h.t.Fatal(err)
	}
	defer run.Close()
	var both bytes.Buffer
	run.Cmd.Stdout, run.Cmd.Stderr = &both, &both
	_ = run.Cmd.Run() // the exit code tells
	run.Kill()        // what is left where there is no box
	if run.Cmd.ProcessState == nil {
		h.t.Fatal("the program was not started")
	}
	return both.String(), run.Cmd.ProcessState.ExitCode()
}
