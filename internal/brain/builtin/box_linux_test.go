package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/sandbox"
)

// The shell with a real box: the workspace is there, the hub's folder around it is not.
func TestTheShellRunsInTheBox(t *testing.T) {
	support := sandbox.Probe("")
	if support.Version == 0 {
		if os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "" {
			t.Fatal("no box can be made here: ", support)
		}
		t.Skip("no box can be made here; boot a kernel with Landlock: ", support)
	}
	data := t.TempDir()
	ws := filepath.Join(data, "workspace")
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "owner.token"), []byte("prl_secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, Config{Sandbox: sandbox.New(sandbox.Options{Support: support, Data: data, Workspace: ws, Environ: os.Environ()})})
	b.call.Workspace = ws
	out := b.ok("shell", obj{"command": "echo mine > x; cat x; cat ../owner.token"})
	if out["stdout"] != "mine\n" || out["exit_code"] == 0.0 || strings.Contains(out["stderr"].(string), "prl_secret") {
		t.Errorf("%v; expected to write in the workspace and to be refused the token", out)
	}
	b.call.Workspace = data
	if _, err := b.run(t.Context(), "shell", obj{"command": "cat owner.token"}); err == nil {
		t.Error("a command ran with the data folder as its workspace")
	}
}
