//go:build unix

package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sh(script string) Spec { return Spec{Path: "/bin/sh", Args: []string{"-c", script}} }

func TestOutputAndExitCodeComeBack(t *testing.T) {
	res, err := Run(t.Context(), sh("echo out; echo err >&2; exit 7"))
	if err != nil || string(res.Stdout) != "out\n" || string(res.Stderr) != "err\n" || res.ExitCode != 7 || res.Truncated {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestASignalledProgramHasNoExitCode(t *testing.T) {
	res, err := Run(t.Context(), sh("kill -9 $$"))
	if err != nil || res.ExitCode != -1 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestAMissingProgramIsNotStarted(t *testing.T) {
	_, err := Run(t.Context(), Spec{Path: "/no/such/program"})
	if !errors.Is(err, ErrNotStarted) {
		t.Error(err)
	}
}

func TestHeadAndTailOfLongOutputAreKept(t *testing.T) {
	spec := sh("echo first; i=0; while [ $i -lt 500 ]; do echo 0123456789; i=$((i+1)); done; echo last")
	spec.Cap = 200
	res, err := Run(t.Context(), spec)
	out := string(res.Stdout)
	if err != nil || !res.Truncated || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "last\n") || !strings.Contains(out, "left out") {
		t.Errorf("%v %v %q", err, res.Truncated, out)
	}
	if len(out) > 300 {
		t.Errorf("%d bytes kept", len(out))
	}
}

// pidsIn waits until n process ids have been written to files of a folder.
func pidsIn(t *testing.T, dir string, n int) []int {
	t.Helper()
	for {
		var out []int
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
			if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				out = append(out, pid)
			}
		}
		if len(out) == n {
			return out
		}
		<-time.After(5 * time.Millisecond)
	}
}

func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return true
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(rest, "Z") // dead, its new parent has not looked yet
}

func TestTheDeadlineKillsChildrenGrandchildrenAndRunaways(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed: runaways cannot be made")
	}
	dir := t.TempDir()
	script := `
echo $$ > ` + dir + `/root
sh -c 'echo $$ > ` + dir + `/child; sh -c "echo \$\$ > ` + dir + `/grandchild; sleep 600" & sleep 600' &
setsid sh -c 'echo $$ > ` + dir + `/session; sleep 600' &
(setsid sh -c 'echo $$ > ` + dir + `/orphan; exec sleep 600' >/dev/null 2>&1 &)
sleep 600`
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, sh(script))
		done <- err
	}()
	pids := pidsIn(t, dir, 5)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestWhatIsLeftInTheBackgroundEndsWithTheProgram(t *testing.T) {
	dir := t.TempDir()
	res, err := Run(t.Context(), sh("sleep 600 & echo $! > "+dir+"/pid; echo done"))
	if err != nil || string(res.Stdout) != "done\n" || res.ExitCode != 0 {
		t.Fatalf("%+v, %v; want no error, string(res.Stdout) to be \"done\\n\", res.ExitCode to be 0", res, err)
	}
	if pid := pidsIn(t, dir, 1)[0]; !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

// What a script left running was killed, and nobody was told.
func TestWhatIsLeftInTheBackgroundMayGoOnAndIsNamed(t *testing.T) {
	dir := t.TempDir()
	spec := sh(`(while [ ! -e ` + dir + `/stop ]; do echo tick; sleep 0.01; done; echo ended > ` + dir + `/ended) & echo $! > ` + dir + `/pid; echo done`)
	spec.KeepBackground = true
	res, err := Run(t.Context(), spec)
	if err != nil || !strings.Contains(string(res.Stdout), "done\n") || res.ExitCode != 0 {
		t.Fatalf("%+v, %v; want no error, \"done\\n\" in it, res.ExitCode to be 0", res, err)
	}
	pid := pidsIn(t, dir, 1)[0]
	if !slices.ContainsFunc(res.Left, func(p Process) bool { return p.PID == pid && p.Name != "" }) {
		t.Errorf("process %d was left running and is not among %v", pid, res.Left)
	}
	if gone(pid) {
		t.Fatalf("process %d is gone", pid)
	}
	if err := os.WriteFile(dir+"/stop", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for { // it could print to its end: a pipe that nobody reads would have ended it
		if _, err := os.Stat(dir + "/ended"); err == nil {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	for !gone(pid) {
		<-time.After(5 * time.Millisecond)
	}
}

func TestTheEndpointsSecretsAreNotPassedOn(t *testing.T) {
	t.Setenv("PARLEY_ENROLL_TOKEN", "secret-one")
	t.Setenv("ANTHROPIC_API_KEY", "secret-two")
	t.Setenv("ORDINARY", "kept")
	res, err := Run(t.Context(), sh("env"))
	out := string(res.Stdout)
	if err != nil || strings.Contains(out, "secret-") || strings.Contains(out, "PARLEY_") || !strings.Contains(out, "ORDINARY=kept") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAFailingProgramIsQuotedInShort(t *testing.T) {
	_, err := Output(t.Context(), "/bin/sh", "-c", "echo 'no such thing' >&2; echo more >&2; exit 3")
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || exit.Code != 3 || exit.Stderr != "no such thing" {
		t.Errorf("%v; want ok, exit.Code to be 3, exit.Stderr to be \"no such thing\"", err)
	}
}
