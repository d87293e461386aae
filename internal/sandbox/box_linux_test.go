package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley.internal/internal/sandbox"
)

func boxed(t *testing.T, h *hub) *hub {
	t.Helper()
	if !h.box.Boxed() {
		if os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "" {
			t.Fatal("no box can be made here: ", h.box.Support())
		}
		t.Skip("no box can be made here; boot a kernel with Landlock: ", h.box.Support())
	}
	return h
}

func TestOrdinaryProgramsRunInABox(t *testing.T) {
	h := boxed(t, newHub(t))
	for _, c := range []struct{ command, want string }{
		{"cat notes.txt", "notes"},
		{"ls", "notes.txt"},
		{"echo one > made.txt && cat made.txt", "one"},
		{"mkdir -p a/b && mv notes.txt a/b/ && cat a/b/notes.txt && mv a/b/notes.txt . && rm -r a && echo gone", "gone"},
		{"ln -s notes.txt link && cat link && rm link", "notes"},
		{"mkfifo p && rm p && echo pipes", "pipes"},
		{`echo kept > "$TMPDIR/x" && cat "$TMPDIR/x"`, "kept"},
		{`echo "$HOME"`, h.workspace},
		{"echo x | cat | tee /dev/null", "x"},
		{"head -c 4 /dev/urandom | wc -c", "4"},
		{"cat /proc/self/status /proc/meminfo", "MemTotal"},
		{"printf '#!/bin/sh\\necho script\\n' > s.sh && chmod +x s.sh && ./s.sh", "script"},
		{"cat /etc/passwd", "root"},
		{"sh -c 'sh -c \"echo deep\"'", "deep"},
		{"ulimit -c", "0"},
		{"kill -0 $$ && sleep 100 & kill $!; echo signals", "signals"},
	} {
		out, code := h.sh(c.command)
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, it said %q; expected it to say %q", c.command, code, out, c.want)
		}
	}
}

// Each of these was a way from a command of an agent to a secret of the hub, of the machine
// or of its owner. The tests run as root, which no mode of a file stops.
func TestNothingOutsideTheBoxCanBeRead(t *testing.T) {
	h := boxed(t, newHub(t))
	root := filepath.Dir(h.data)
	if err := os.WriteFile("/tmp/parley-test-of-the-host", []byte("root:"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove("/tmp/parley-test-of-the-host")
	if err := os.Symlink("../owner.token", filepath.Join(h.workspace, "innocent.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(h.workspace, "slash")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"cat ../owner.token",
		"cat innocent.txt",
		"cat sub/../../owner.token",
		"cat " + h.data + "/owner.token",
		"cat /proc/self/cwd/../owner.token",
		"cat /proc/self/root" + h.data + "/owner.token",
		"cat /proc/1/root" + h.data + "/owner.token",
		"cat slash" + h.data + "/owner.token",
		"cd .. && cat owner.token",
		"ln ../owner.token here && cat here",
		"cp -l ../owner.token here && cat here",
		"mv ../owner.token here; cat here",
		"exec 3< ../owner.token && cat <&3",
		"cat ../keys/hub.key",
		"ls ..",
		"ls ../keys",
		"cat /etc/shadow",
		"cat /etc/gshadow",
		"cat " + root + "/home/.ssh/id_ed25519",
		"cat /proc/self/root" + root + "/home/.ssh/id_ed25519",
		fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
		fmt.Sprintf("cat /proc/%d/task/%d/environ", os.Getpid(), os.Getpid()),
		fmt.Sprintf("cat /proc/%d/cwd/owner.token", os.Getpid()),
		fmt.Sprintf("head -c 1 /proc/%d/mem", os.Getpid()),
		fmt.Sprintf("cat /proc/%d/fd/0", os.Getpid()),
		"cat /proc/1/environ",
		"ls /proc/1/root/",
		"ls /dev/pts",
		"ls /tmp/parley-test-of-the-host",
		"ls /root",
	} {
		out, code := h.sh(command)
		for _, secret := range []string{ownerToken, "private-key", "root:", hubSecret, "owner.token\n"} {
			if strings.Contains(out, secret) && !strings.Contains(out, "denied") {
				t.Errorf("%s: the secret was shown: %q", command, out)
			}
		}
		if code == 0 {
			t.Errorf("%s: it went well and said %q; expected a refusal", command, out)
		}
	}
	if got, err := os.ReadFile(filepath.Join(h.data, "owner.token")); err != nil || string(got) != ownerToken {
		t.Errorf("the owner's token is %q, %v after all that", got, err)
	}
}

// Each of these does no harm where it works: the tests run as root, and a box that is broken must
// not cost the machine its clock.
func TestNothingOutsideTheBoxCanBeChanged(t *testing.T) {
	h := boxed(t, newHub(t))
	victim, other := exec.Command("sleep", "600"), filepath.Join(filepath.Dir(h.data), "other")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"echo x > ../owner.token",
		"echo x >> ../owner.token",
		"truncate -s 0 ../owner.token",
		"rm ../owner.token",
		"mv ../owner.token ../gone",
		"touch ../new",
		"mkdir ../new",
		"touch " + other + "/new",
		"mv notes.txt " + other + "/",
		"ln notes.txt " + other + "/notes",
		": >> /etc/passwd",
		": >> /usr/bin/env",
		": >> /proc/sys/kernel/printk",
		": > /var/tmp/parley-test-$$ && rm /var/tmp/parley-test-$$",
		"mknod disk b 259 0",
		"mknod mem c 1 1",
		"date -s now",
		"mount -t tmpfs none sub && umount sub",
		"chown 1 notes.txt",
		fmt.Sprintf("kill -9 %d", victim.Process.Pid),
		fmt.Sprintf("kill -0 %d", os.Getpid()),
	} {
		if out, code := h.sh(command); code == 0 {
			t.Errorf("%s: it went well and said %q; expected a refusal", command, out)
		}
	}
	if got, err := os.ReadFile(filepath.Join(h.data, "owner.token")); err != nil || string(got) != ownerToken {
		t.Errorf("the owner's token is %q, %v after all that", got, err)
	}
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another process was ended from inside the box: %v", err)
	}
}

// Behind a socket may be the hub itself, a container engine or a session bus, and each
// would do outside what the box forbids inside.
func TestSocketsOfOthersCannotBeReached(t *testing.T) {
	h := boxed(t, newHub(t))
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("install python3: it speaks to the socket from inside the box")
	}
	for _, name := range []string{filepath.Join(h.data, "parley.sock"), filepath.Join(h.workspace, "left-here.sock"), "@parley-test-abstract"} {
		listener, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		script := "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1].replace('@','\\0'))\nprint('connected')"
		out, code := h.run(sandbox.Program{Path: python, Args: []string{"-c", script, name}, Dir: h.workspace, Folders: []string{h.workspace}})
		_ = listener.Close()
		if code == 0 || strings.Contains(out, "connected") || !strings.Contains(out, "PermissionError") {
			t.Errorf("%s: exit code %d, %q; expected it to be refused", name, code, out)
		}
	}
	pair := "import socket\na,b=socket.socketpair()\na.send(b'x')\nprint(b.recv(1))\nprint(socket.socket(socket.AF_INET))"
	if out, code := h.run(sandbox.Program{Path: python, Args: []string{"-c", pair}, Dir: h.workspace, Folders: []string{h.workspace}}); code != 0 {
		t.Errorf("pairs of sockets and the network do not work: %s", out)
	}
}

func TestABoxKnowsNoOtherBox(t *testing.T) {
	h := boxed(t, newHub(t))
	run, err := h.box.Prepare(sandbox.Program{
		Path: "/bin/sleep", Args: []string{"600"}, Dir: h.workspace, Folders: []string{h.workspace}, Env: map[string]string{"TICKETS_TOKEN": "of-another-server"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { run.Kill(); _ = run.Cmd.Wait() }()
	temp := ""
	for _, kv := range run.Cmd.Env {
		if name, value, _ := strings.Cut(kv, "="); name == "TMPDIR" {
			temp = value
		}
	}
	for _, command := range []string{
		fmt.Sprintf("cat /proc/%d/environ", run.Cmd.Process.Pid), fmt.Sprintf("kill -9 %d", run.Cmd.Process.Pid), "ls " + temp, "touch " + temp + "/x",
	} {
		if out, code := h.sh(command); code == 0 || strings.Contains(out, "of-another-server") {
			t.Errorf("%s: exit code %d, %q; expected the other box to be out of reach", command, code, out)
		}
	}
}
