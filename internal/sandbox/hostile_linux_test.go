package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"parley.internal/internal/egress"
	"parley.internal/internal/publicnet"
	"parley.internal/internal/sandbox"
)

// levels runs a test with boxes of every kind that this system can make.
func levels(t *testing.T, least sandbox.Isolation, test func(t *testing.T, h *hub), change ...func(*sandbox.Options)) {
	t.Helper()
	for level, name := range map[sandbox.Isolation]string{sandbox.Rules: "rules", sandbox.Network: "network", sandbox.Full: "full"} {
		if level < least {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h := boxed(t, newHub(t, append(slices.Clone(change), func(o *sandbox.Options) {
				if o.Support.Isolation < level {
					if os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "" {
						t.Fatal("namespaces cannot be made here: ", o.Support.Less)
					}
					t.Skip("allow unprivileged user namespaces: ", o.Support.Less)
				}
				if o.Support.Isolation = level; level != sandbox.Full {
					o.Support.User, o.Support.Group = 0, 0
				}
			})...))
			test(t, h)
		})
	}
}

// attack runs this program as a hostile one in a box.
func (h *hub) attack(p sandbox.Program, name string, args ...string) (out string, worked bool) {
	h.t.Helper()
	own, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	p.Path, p.Args, p.Dir, p.Folders = own, args, h.workspace, []string{h.workspace}
	p.Env = map[string]string{attackVariable: name}
	out, code := h.run(p)
	if code > 1 {
		h.t.Errorf("%s %s did not run: exit code %d, %q", name, args, code, out)
	}
	return out, code == 0
}

// fails expects an attack to be refused.
func (h *hub) fails(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, worked := h.attack(sandbox.Program{}, name, args...); worked {
		t.Errorf("%s %s worked inside the box: %s", name, args, out)
	}
}

// The attacks of these tests are real ones: without a box they work.
func TestTheAttacksWorkWithoutABox(t *testing.T) {
	h := newHub(t, func(o *sandbox.Options) { o.Support = sandbox.Support{} })
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	abstract, err := net.Listen("unix", "@parley-test-of-the-host")
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	for _, a := range [][]string{
		{"tcp", tcp.Addr().String()},
		{"udp", tcp.Addr().String()},
		{"abstract", "parley-test-of-the-host"},
		{"fastopen", tcp.Addr().String()},
		{"call", fmt.Sprint(unix.SYS_UNSHARE), "0"},
		{"call", fmt.Sprint(unix.SYS_CLONE3), "0"},
		{"call", fmt.Sprint(unix.SYS_KEYCTL), "0"},
		{"memory", "1024"},
		{"bomb", "100"},
		{"setuid", "chmod"},
		{"setuid", "open"},
		{"setuid", "mknod"},
	} {
		if out, worked := h.attack(sandbox.Program{}, a[0], a[1:]...); !worked {
			t.Errorf("%s does not work outside a box, so that it fails inside says nothing: %s", a, out)
		}
	}
}

// A command sent what it had read wherever it liked: the network was not confined.
func TestABoxHasNoNetwork(t *testing.T) {
	levels(t, sandbox.Rules, func(t *testing.T, h *hub) {
		tcp, err := net.Listen("tcp", "127.0.0.1:0") // the hub's own port is like this
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer udp.Close()
		abstract, err := net.Listen("unix", "@parley-test-of-the-host")
		if err != nil {
			t.Fatal(err)
		}
		defer abstract.Close()
		h.fails(t, "tcp", tcp.Addr().String())
		h.fails(t, "tcp", "169.254.169.254:80")
		h.fails(t, "tcp", "1.1.1.1:443")
		h.fails(t, "udp", "1.1.1.1:53")
		h.fails(t, "dns")
		h.fails(t, "abstract", "parley-test-of-the-host")
		h.fails(t, "fastopen", tcp.Addr().String())
		h.attack(sandbox.Program{}, "udp", udp.LocalAddr().String()) // sending to nobody may well work
		own, err := net.Dial("udp", udp.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		if _, err := own.Write([]byte("ours")); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 16)
		if n, _, err := udp.ReadFrom(first); err != nil || string(first[:n]) != "ours" {
			t.Errorf("a datagram came out of the box: %q, %v", first, err)
		}
		for name, args := range map[string][]string{
			"the virtual machine's host": {"40", "1", "0"}, "packets": {"17", "3", "0"}, "the kernel's ciphers": {"38", "5", "0"},
			"Bluetooth": {"31", "3", "0"}, "raw IP": {"2", "3", "255"},
		} {
			// Refused by the box, not unknown to this kernel.
			if out, worked := h.attack(sandbox.Program{}, "socket", args...); worked || !strings.Contains(out, "denied") && !strings.Contains(out, "not permitted") {
				t.Errorf("a socket for %s: %s; expected it to be refused", name, out)
			}
		}
	})
}

// site is a web server that is known by a name only the guard knows.
func site(t *testing.T) (guard publicnet.Guard, port string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the page") }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return publicnet.Guard{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	}, port
}

func TestTheWayOutGoesByNameAndAsksOnce(t *testing.T) {
	levels(t, sandbox.Rules, func(t *testing.T, h *hub) {
		guard, port := site(t)
		var asked atomic.Int32
		exit := func() sandbox.Program {
			return sandbox.Program{Leaves: true, Exit: egress.New(egress.Options{
				Guard: guard, Hosts: []string{"listed.example"},
				Permit: func(_ context.Context, host string) error {
					asked.Add(1)
					if host == "fine.example" {
						return nil
					}
					return errors.New("a person said no")
				},
			})}
		}
		if out, worked := h.attack(exit(), "http", "http://listed.example:"+port+"/"); !worked || !strings.Contains(out, "the page") || asked.Load() != 0 {
			t.Errorf("a listed host: %q after %d questions; expected the page and no question", out, asked.Load())
		}
		if out, worked := h.attack(exit(), "http", "http://fine.example:"+port+"/"); !worked || asked.Load() != 1 {
			t.Errorf("a host that a person allowed: %q after %d questions; expected the page and one question", out, asked.Load())
		}
		if out, worked := h.attack(exit(), "connect", "fine.example:"+port); !worked {
			t.Errorf("CONNECT to a host that a person allowed: %q", out)
		}
		if out, worked := h.attack(exit(), "http", "http://evil.example:"+port+"/"); worked || !strings.Contains(out, "a person said no") {
			t.Errorf("a host that a person refused: %q; expected to be told so", out)
		}
		if out, worked := h.attack(exit(), "connect", "evil.example:"+port); worked {
			t.Errorf("CONNECT to a host that a person refused: %q", out)
		}
		// The way out is there, and nothing but it.
		if out, worked := h.attack(exit(), "tcp", "127.0.0.1:"+port); worked {
			t.Errorf("a program with a way out connected past it: %q", out)
		}
		if out, worked := h.attack(exit(), "fastopen", "127.0.0.1:"+port); worked {
			t.Errorf("a program with a way out connected past it, with its first packet: %q", out)
		}
	})
}

// Where a box shares the machine's network, others on the machine can see its way out.
func TestTheWayOutOfOneBoxIsNobodyElses(t *testing.T) {
	guard, port := site(t)
	exit := egress.New(egress.Options{Guard: guard, Hosts: []string{"listed.example"}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); exit.Serve(l, "the-password-of-the-box") }()
	defer func() { exit.Close(); <-served }()
	t.Setenv("HTTPS_PROXY", "http://"+l.Addr().String())
	if err := throughProxy("listed.example:" + port); err == nil {
		t.Error("somebody without the password went out")
	}
	t.Setenv("HTTPS_PROXY", "http://box:the-password-of-the-box@"+l.Addr().String())
	if err := throughProxy("listed.example:" + port); err != nil {
		t.Errorf("the box itself was refused: %v", err)
	}
}

func TestNothingInTheBoxIsTheMachines(t *testing.T) {
	levels(t, sandbox.Full, func(t *testing.T, h *hub) {
		victim := exec.Command("sleep", "600")
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
		pid := strconv.Itoa(victim.Process.Pid)
		for _, command := range []string{
			"cat /proc/" + pid + "/cmdline", "kill -0 " + pid, "ls /proc | grep -x " + pid,
			"stat " + h.data + "/owner.token", "stat " + filepath.Dir(h.data) + "/home", "stat /root/.bashrc", "stat /home", "stat /var/log",
			"chmod 755 /usr/bin/env", "touch -c /etc/passwd", "touch -c /usr", "touch /new", "mkdir /dev/new",
			"mount -t tmpfs none sub", "umount /usr", "mount -o remount,rw /usr", "chroot / true", "unshare -U true", "unshare -r true", "nsenter -t 1 -m true",
			"stat /.outside", "ls /.outside",
			"cat /proc/1/environ", "cat /proc/1/mem", "ls /proc/1/fd", "ls -l /proc/1/cwd/",
			": < /dev/tty",
		} {
			if out, code := h.sh(command); code == 0 {
				t.Errorf("%s: it went well and said %q; expected a refusal", command, out)
			}
		}
		if out, code := h.sh("test \"$(ls /proc | grep -cE '^[0-9]+$')\" -le 6 && hostname && cat /proc/net/dev"); code != 0 || strings.Contains(out, "eth") {
			t.Errorf("more than the box is seen inside it: %s", out)
		}
		h.fails(t, "trace", pid)
		h.fails(t, "trace", "1")
	})
}

func TestTheFilterRefusesWhatReachesAroundTheBox(t *testing.T) {
	levels(t, sandbox.Rules, func(t *testing.T, h *hub) {
		h.fails(t, "space")
		// Whoever found such a program in a folder that agents share with others became the hub's user.
		for _, how := range []string{"chmod", "open", "mknod"} {
			h.fails(t, "setuid", how)
		}
		h.fails(t, "mount", "sub")
		for name, call := range map[string]string{
			"unshare": fmt.Sprint(unix.SYS_UNSHARE), "setns": fmt.Sprint(unix.SYS_SETNS), "io_uring": fmt.Sprint(unix.SYS_IO_URING_SETUP),
			"keys": fmt.Sprint(unix.SYS_KEYCTL), "bpf": fmt.Sprint(unix.SYS_BPF), "perf": fmt.Sprint(unix.SYS_PERF_EVENT_OPEN),
			"userfaultfd": fmt.Sprint(unix.SYS_USERFAULTFD), "clone3": fmt.Sprint(unix.SYS_CLONE3),
		} {
			first := "0"
			if name == "userfaultfd" {
				first = "1" // for its own memory only, which anybody may
			}
			if out, worked := h.attack(sandbox.Program{}, "call", call, first); worked {
				t.Errorf("%s can be called inside the box: %s", name, out)
			}
		}
		h.fails(t, "trace", strconv.Itoa(os.Getpid()))
	})
}

// Whatever a command left behind in a session of its own went on after it, with its box.
func TestNothingOutlivesItsCommand(t *testing.T) {
	levels(t, sandbox.Full, func(t *testing.T, h *hub) {
		pipe := filepath.Join(h.workspace, "alive")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out, code := h.sh("exec 3>alive; setsid sh -c '(trap \"\" TERM HUP; sleep 600 </dev/null >/dev/null 2>&1) & ' ; setsid sleep 600 </dev/null >/dev/null 2>&1 & echo begun >&3")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "begun\n" { // it ends when nobody holds the other end
			t.Errorf("%q, %v; want no error, string(text) to be \"begun\\n\"", text, err)
		}
	})
}

func TestLimitsHold(t *testing.T) {
	change := func(o *sandbox.Options) {
		o.Limits = sandbox.Limits{Processes: 60, Memory: 512 << 20, FileSize: 1 << 20, OpenFiles: 100, CPU: 600}
	}
	levels(t, sandbox.Rules, func(t *testing.T, h *hub) {
		h.fails(t, "memory", "1024")
		for command, want := range map[string]string{"ulimit -n": "100\n", "ulimit -t": "600\n"} {
			if out, code := h.sh(command); code != 0 || out != want {
				t.Errorf("%s says %q; expected %q", command, out, want)
			}
		}
		if out, code := h.sh("head -c 2000000 /dev/zero > big"); code == 0 {
			t.Errorf("a file larger than allowed was written: %s", out)
		}
	}, change)
	// Processes are counted for one box where it has its own users, and root is never counted.
	counted := sandbox.Network
	if os.Getuid() == 0 {
		counted = sandbox.Full // where programs of a hub that is root are another user's
	}
	levels(t, counted, func(t *testing.T, h *hub) { h.fails(t, "bomb", "100") }, change)
}

// A hub that is root ran programs of agents as root, too.
func TestProgramsOfARootHubAreAnotherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs a hub that is root")
	}
	levels(t, sandbox.Full, func(t *testing.T, h *hub) {
		h.write("data/workspace/private.txt", "of the hub\n") // 0600, root's
		if out, code := h.sh("id -u && id -G && cat private.txt && echo more >> private.txt && echo new > new.txt && mkdir d && touch d/x && rm -r d"); code != 0 || !strings.HasPrefix(out, "65534\n65534\nof the hub\n") {
			t.Errorf("exit code %d: %s; expected the user nobody, with the workspace as its own", code, out)
		}
		for _, name := range []string{"private.txt", "new.txt"} {
			var info syscall.Stat_t
			if err := syscall.Stat(filepath.Join(h.workspace, name), &info); err != nil || info.Uid != 0 || info.Gid != 0 {
				t.Errorf("%s belongs to %d:%d outside, %v; expected root, who owns the folder", name, info.Uid, info.Gid, err)
			}
		}
		// A set-user-ID program gains nothing.
		id, err := os.ReadFile("/usr/bin/id")
		if err != nil {
			t.Fatal(err)
		}
		own := filepath.Join(h.workspace, "id")
		if err := os.WriteFile(own, id, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(own, 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		if out, _ := h.sh("./id -u"); out != "65534\n" {
			t.Errorf("a set-user-ID program of root ran as %s", out)
		}
		for _, command := range []string{"cat /etc/shadow", "chown 0 notes.txt", "chown 1000 notes.txt", "su -c true", "cat /root/.bashrc"} {
			if out, code := h.sh(command); code == 0 {
				t.Errorf("%s: it went well and said %q; expected a refusal", command, out)
			}
		}
	})
}

// A hub that does not run as root has other means: all of this holds there, too.
func TestEverythingHoldsForAPlainUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become a plain user")
	}
	dir, err := os.MkdirTemp("/var/tmp", "parley-test-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "sandbox.test")
	for _, err := range []error{os.WriteFile(program, own, 0o755), os.Chmod(program, 0o755), os.Chmod(dir, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-test.run", "^Test(OrdinaryPrograms|Nothing|TheFilter|ABox|TheWayOut|Limits|Sockets)", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "PATH=/usr/bin:/bin")
	const plain = 54321
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plain, Gid: plain}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", plain, err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestABoxHasNoNetwork") {
		t.Errorf("the tests did not run as user %d:\n%s", plain, out)
	}
}

// In the hub's own session a program had the terminal that the hub was started at.
func TestAProgramHasNoTerminalOfTheHub(t *testing.T) {
	h := newHub(t)
	run, err := h.box.Prepare(sandbox.Program{Path: "/bin/sleep", Args: []string{"600"}, Dir: h.workspace, Folders: []string{h.workspace}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { run.Kill(); _ = run.Cmd.Wait() }()
	if session, err := unix.Getsid(run.Cmd.Process.Pid); err != nil || session != run.Cmd.Process.Pid {
		t.Errorf("its session is %d, %v; expected one of its own, %d", session, err, run.Cmd.Process.Pid)
	}
}

// Where a box cannot be made as asked nothing runs.
func TestABoxThatCannotBeMadeRunsNothing(t *testing.T) {
	h := boxed(t, newHub(t))
	run, err := h.box.Prepare(sandbox.Program{Path: "/bin/sh", Args: []string{"-c", "echo ran"}, Dir: filepath.Join(h.workspace, "nowhere"), Folders: []string{h.workspace}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if out, err := run.Cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "ran\n") {
		t.Errorf("%v, %q; expected no program to run", err, out)
	}
}
