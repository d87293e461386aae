package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley.internal/protocol/mmp"
	"parley.internal/test/hubtest"
)

// inNamespace runs the process in a mount namespace of its own, where script has prepared the folder $DISK first.
// What is mounted there is gone with the process. Without root, a user namespace gives the right to mount.
func inNamespace(dir, script string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		line := append([]string{"/bin/sh", "-ec", "mount --make-rprivate /\n" + script + "\nexec \"$@\"", "sh"}, cmd.Args...)
		cmd.Path, cmd.Args = line[0], line
		cmd.Env = append(cmd.Env, "DISK="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWNS}
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
	}
}

// root is how this process sees the files of another one's namespace.
func root(pid int) string { return fmt.Sprintf("/proc/%d/root", pid) }

func TestAFullDiskRefusesWritesServesReadsAndRecovers(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	h := hubtest.Start(t, hubtest.Config{
		Data: filepath.Join(disk, "data"), Root: root,
		Wrap: inNamespace(disk, `mount -t tmpfs -o size=24m,mode=0700 tmpfs "$DISK"`),
	})
	acked := &acknowledged{}
	make1 := func() hubtest.Answer {
		a := h.Do("POST", "/api/tokens", `{"name":"x","scopes":["status:read"]}`)
		if a.Status == 200 {
			acked.add(strings.Split(string(a.Body), `"`)[3], "")
		}
		return a
	}
	if a := make1(); a.Status != 200 {
		t.Fatalf("before: %d %s", a.Status, a.Body)
	}
	ballast := root(h.PID) + filepath.Join(disk, "ballast")
	if err := writeUntilFull(ballast); err != nil {
		t.Fatal(err)
	}
	// What the disk already holds room for may still succeed.
	hubtest.Eventually(t, "a write is refused", func() bool { return make1().Status != 200 })
	for range 20 {
		a := make1()
		if a.Status != 507 || a.Code != "disk_full" || !strings.Contains(a.Detail, "disk is full") {
			t.Fatalf("a write on a full disk: %d %s", a.Status, a.Body)
		}
		if a := h.Do("GET", "/api/tokens", ""); a.Status != 200 {
			t.Fatalf("a read on a full disk: %d %s", a.Status, a.Body)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "writes work again", func() bool { return make1().Status == 200 })
	acked.check(t, h.Client())
}

func TestAFullDiskRefusesMessagesAndStillHandsThemOut(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	h := hubtest.Start(t, hubtest.Config{
		Data: filepath.Join(disk, "data"), Root: root,
		Wrap: inNamespace(disk, `mount -t tmpfs -o size=24m,mode=0700 tmpfs "$DISK"`),
	})
	blob := strings.Repeat("QUJD", 250)
	body := `","encrypted_blob":"` + blob + `","blob_hash":"` + mmp.HashOf(blob).Bare() + `","message_type":"note"}`
	sent := map[string]int{}
	send := func() hubtest.Answer {
		to := fmt.Sprint("bob", len(sent))
		if n := len(sent); n > 0 && sent[fmt.Sprint("bob", n-1)] < 90 {
			to = fmt.Sprint("bob", n-1)
		}
		a := h.As("", "POST", "/place/v1/relay/send", `{"from":"ada","to":"`+to+body)
		if a.Status == 201 {
			sent[to]++
		}
		return a
	}
	if a := send(); a.Status != 201 {
		t.Fatalf("before: %d %s", a.Status, a.Body)
	}
	ballast := root(h.PID) + filepath.Join(disk, "ballast")
	if err := writeUntilFull(ballast); err != nil {
		t.Fatal(err)
	}
	// What the disk already holds room for is still taken.
	for n := 0; send().Status == 201; n++ {
		if n > 50_000 {
			t.Fatal("no message is refused")
		}
	}
	for range 20 {
		if a := send(); a.Status != 503 || a.Code != "storage_unavailable" {
			t.Fatalf("a message on a full disk: %d %s", a.Status, a.Body)
		}
	}
	for to, n := range sent {
		a := h.As("", "GET", "/place/v1/relay/receive?limit=100&agent_id="+to, "")
		if got := strings.Count(string(a.Body), blob); a.Status != 200 || got != n {
			t.Fatalf("%s on a full disk: %d, %d messages of %d", to, a.Status, got, n)
		}
		// The room that was made for those who receive is not for those who send.
		if a := send(); a.Status != 503 || a.Code != "storage_unavailable" {
			t.Fatalf("a message after one was handed out on a full disk: %d %s", a.Status, a.Body)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	clear(sent)
	hubtest.Eventually(t, "messages are taken again", func() bool { return send().Status == 201 })
	for to, n := range sent {
		a := h.As("", "GET", "/place/v1/relay/receive?limit=100&agent_id="+to, "")
		if got := strings.Count(string(a.Body), blob); a.Status != 200 || got != n {
			t.Errorf("%s afterwards: %d, %d messages of %d", to, a.Status, got, n)
		}
	}
}

// writeUntilFull takes all the room there is.
func writeUntilFull(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		chunk := make([]byte, size)
		for err = nil; err == nil; {
			_, err = f.Write(chunk)
		}
	}
	return nil
}

func TestAFolderThatCannotBeWrittenIsOneClearLine(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a new folder on a read-only disk": `mount -t tmpfs -o ro tmpfs "$DISK"`,
		"a folder that was made read-only": `mount -t tmpfs tmpfs "$DISK"; mkdir -m 700 "$DISK/data"; mount -o remount,ro "$DISK"`,
	} {
		t.Run(name, func(t *testing.T) {
			disk := t.TempDir()
			h := hubtest.New(t, hubtest.Config{Data: filepath.Join(disk, "data"), Wrap: inNamespace(disk, script)})
			h.Launch()
			state := h.Wait()
			said := h.Output.String()
			if state.ExitCode() != 1 || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "parley: the data folder ") || !strings.Contains(said, "read-only file system") {
				t.Errorf("%s: %q", state, said)
			}
		})
	}
}

// A volume is often a disk of its own: its folder is there, and cannot be renamed.
func TestARestoreOntoAFullDiskLeavesItEmptyAndOneOntoAVolumeWorks(t *testing.T) {
	t.Parallel()
	_, file := backedUp(t, 8)
	restore := func(size, then string) (string, error) {
		disk := t.TempDir()
		cmd := hubtest.Command(t, "restore", "--data", disk, file)
		inNamespace(disk, fmt.Sprintf(`mount -t tmpfs -o size=%s,mode=0700 tmpfs "$DISK"; "$@" || true; %s; exit`, size, then))(cmd)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := restore("12m", `ls -A "$DISK"`)
	if err != nil || !strings.HasPrefix(out, "parley: ") || strings.Count(out, "\n") != 1 || !strings.Contains(out, "no space left") && !strings.Contains(out, "disk is full") {
		t.Errorf("a restore onto a full disk said %q, %v; want one line and nothing left", out, err)
	}
	out, err = restore("200m", `"$1" audit verify --data "$DISK"`)
	if err != nil || !strings.Contains(out, "the trail is intact") {
		t.Errorf("a restore onto a volume said %q, %v", out, err)
	}
}
