//go:build unix

package terminal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley.internal/internal/localsocket"
	"parley.internal/internal/terminal/keeper"
)

// greet says hello to a keeper as anybody could who found its socket, and gives what it answers.
func greet(folder, secret string, version int) (string, error) {
	c, err := localsocket.Dial(folder, "socket")
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	hello := fmt.Sprintf(`{"kind":"hello","version":%d,"secret":%q}`, version, secret)
	// Whoever is refused before a word was heard cannot write any more, and is told why all the same.
	_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(hello))), append([]byte{0, 0, 0, 0}, hello...)...))
	lengths := make([]byte, 8)
	if _, err := io.ReadFull(c, lengths); err != nil {
		return "", err
	}
	head := make([]byte, binary.BigEndian.Uint32(lengths))
	_, err = io.ReadFull(c, head)
	return string(head), err
}

// secret is what the hub wrote down for the hub after it.
func (h *house) secret(folder string) string {
	h.t.Helper()
	var c card
	text, err := os.ReadFile(filepath.Join(folder, cardName))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return c.Secret
}

func TestAKeeperRefusesAHubOfAnotherVersionAndSaysWhy(t *testing.T) {
	h := newHouse(t)
	hub := h.hub()
	info := open(t, hub, alice, Spec{Command: "echo ready; exec sleep 1000"})
	folder := filepath.Join(h.kept(), info.ID)
	answer, err := greet(folder, h.secret(folder), keeper.Version+1)
	if err != nil || !strings.Contains(answer, `"refused"`) || !strings.Contains(answer, "another version") {
		t.Errorf("a hub that speaks a newer version is answered %s, %v; want a refusal that says so", answer, err)
	}
	watch(t, hub, alice, info.ID, AttachOptions{}).until("ready") // nobody was disturbed
}

// The hub was upgraded, and a terminal is left whose keeper speaks as the old one did.
func TestAHubLeavesATerminalWhoseKeeperItCannotSpeakTo(t *testing.T) {
	h := newHouse(t)
	folder := filepath.Join(h.kept(), "01900000-0000-7000-8000-000000000001")
	if err := (card{Secret: "s"}).write(folder); err != nil {
		t.Fatal(err)
	}
	at, free, err := localsocket.Path(folder, "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			no := `{"kind":"refused","version":99,"why":"another version"}`
			_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(no))), append([]byte{0, 0, 0, 0}, no...)...))
			_ = c.Close()
		}
	}()
	hub := h.hub()
	if n := len(hub.mine(func(*terminal) bool { return true })); n != 0 {
		t.Errorf("the hub shows %d terminals, want none: it cannot speak to the one there is", n)
	}
	if _, err := os.Stat(filepath.Join(folder, cardName)); err != nil {
		t.Errorf("what the older hub needs to find its terminal again has gone: %v", err)
	}
}

func TestAKeeperWithoutAHubEndsItsTerminalAfterAWhile(t *testing.T) {
	h := newHouse(t)
	h.alone = 3 * time.Second
	hub := h.hub()
	open(t, hub, alice, Spec{Command: "trap 'echo >hung; exit' HUP; echo >up; while :; do sleep 0.01; done", Cwd: h.dir})
	await(t, filepath.Join(h.dir, "up"))
	h.dies(hub)
	await(t, filepath.Join(h.dir, "hung"))
}

// strangerVar has this very test started again as somebody else: the folder and the secret.
const strangerVar = "PARLEY_TEST_STRANGER"

// The folder keeps others out. If it ever does not, the keeper asks the kernel who comes.
func TestAKeeperRefusesAnotherUserWhoKnowsTheSecret(t *testing.T) {
	if folder, secret, ok := strings.Cut(os.Getenv(strangerVar), "="); ok {
		fmt.Println(greet(folder, secret, keeper.Version))
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	h := newHouse(t)
	hub := h.hub()
	info := open(t, hub, alice, Spec{Command: "exec sleep 1000"})
	folder := filepath.Join(h.kept(), info.ID)
	for at := folder; len(at) > len(os.TempDir()); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(folder, "socket"), 0o666); err != nil {
		t.Fatal(err)
	}
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skip("this system does not run a program by its open file")
	}
	defer func() { _ = own.Close() }()
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.ExtraFiles, cmd.Env = "/", []*os.File{own}, []string{strangerVar + "=" + folder + "=" + h.secret(folder)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	answer, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(answer), "user 54321 is not the hub's") {
		t.Errorf("another user with the secret is answered %q, %v; want a refusal", answer, err)
	}
}
