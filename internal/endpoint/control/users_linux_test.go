package control

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley.internal/internal/endpoint/command"
)

// asUser runs this test program again as another user, or as a script of the
// endpoint, and gives the switch's reply.
func asUser(t *testing.T, dir string, uid uint32, mode Mode, env ...string) Reply {
	t.Helper()
	self := filepath.Join(dir, "ask")
	if _, err := os.Stat(self); err != nil {
		data, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(self, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(self)
	cmd.Env = append(env, "SWITCH_TEST_FOLDER="+dir, "SWITCH_TEST_MODE="+string(mode))
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var reply Reply
	if err := json.Unmarshal(out, &reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// folder is one other users can reach a socket in.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "switch-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnotherPlainUserCannotSwitchOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	dir := folder(t)
	sw := NewSwitch(dir, quiet())
	srv, err := Listen(sw)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	const ann, bob = 54321, 54322
	for _, step := range []struct {
		uid     uint32
		mode    Mode
		refused bool
		after   Mode
	}{
		{ann, Off, false, Off},
		{bob, On, true, Off},
		{ann, On, false, On},
		{bob, Private, false, Private},
		{ann, On, true, Private},
		{ann, Off, true, Private},
		{0, On, false, On},
	} {
		reply := asUser(t, dir, step.uid, step.mode)
		if (reply.Error != "") != step.refused || sw.State().Mode != step.after {
			t.Errorf("user %d asks for %s: %+v, now %s", step.uid, step.mode, reply, sw.State().Mode)
		}
	}
}

func TestAScriptOfTheEndpointCannotMoveTheSwitch(t *testing.T) {
	dir := folder(t)
	sw := NewSwitch(dir, quiet())
	srv, err := Listen(sw)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for _, mode := range []Mode{On, Off} {
		reply := asUser(t, dir, 0, mode, command.MarkName+"=call-1")
		if !strings.Contains(reply.Error, "people at the machine") || sw.State().Mode != On {
			t.Errorf("%+v; want \"people at the machine\" in it, sw.State().Mode to be %v", reply, On)
		}
	}
}
