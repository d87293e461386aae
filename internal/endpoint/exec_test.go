//go:build unix

package endpoint

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	wire "parley.internal/protocol/kenny"
)

type execOut struct {
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ExitCode  int    `json:"exit_code"`
	Truncated bool   `json:"truncated"`
}

func script(text string, seconds int) string {
	return `{"script":` + quote(text) + `,"timeout_s":` + strconv.Itoa(seconds) + `}`
}

func TestAScriptsOutputAndStatusComeBack(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		script string
		want   execOut
	}{
		{"echo out; echo err >&2; exit 3", execOut{Stdout: "out\n", Stderr: "err\n", ExitCode: 3}},
		{"cat; echo input is closed", execOut{Stdout: "input is closed\n"}},
		{"kill -9 $$", execOut{ExitCode: -1}},
		{`printf 'a\377b'`, execOut{Stdout: "a\uFFFDb"}},
		{"# " + strings.Repeat("x", 120<<10) + "\necho long", execOut{Stdout: "long\n"}},
	} {
		raw, err := b.ask(t, "shell_exec", script(c.script, 30))
		if got := as[execOut](t, raw, err); got != c.want {
			t.Errorf("%.40q: %+v; want %v", c.script, got, c.want)
		}
	}
}

func TestOneMebibyteOfEachStreamIsKept(t *testing.T) {
	b := newBench(t)
	raw, err := b.ask(t, "shell_exec", script(`echo first; head -c 3000000 /dev/zero | tr '\0' x; echo; echo last; echo note >&2`, 60))
	got := as[execOut](t, raw, err)
	if !got.Truncated || len(got.Stdout) > 1<<20+100 || len(got.Stdout) < 1<<20 || got.Stderr != "note\n" {
		t.Errorf("%v, %d bytes", got.Truncated, len(got.Stdout))
	}
	if !strings.HasPrefix(got.Stdout, "first\n") || !strings.HasSuffix(got.Stdout, "last\n") {
		t.Error("head or tail is missing")
	}
}

func TestTheDeadlineAnswersTimeoutAndKillsGrandchildren(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "pid")
	_, err := b.ask(t, "shell_exec", script("sh -c 'sh -c \"echo \\$\\$ > "+file+"; exec sleep 600\" & wait' & wait", 1))
	codeIs(t, "shell_exec", err, wire.CodeTimeout)
	data, readErr := os.ReadFile(file)
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(data)))
	if readErr != nil || convErr != nil {
		t.Fatal(readErr, convErr)
	}
	eventually(t, "the grandchild is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
	})
}

func TestTheEnvironmentOfAScriptHoldsNoSecretOfOurs(t *testing.T) {
	t.Setenv("PARLEY_ENROLL_TOKEN", "hidden")
	raw, err := newBench(t).ask(t, "shell_exec", script("env", 30))
	if got := as[execOut](t, raw, err); strings.Contains(got.Stdout, "PARLEY_") {
		t.Errorf("got.Stdout is %v; want not \"PARLEY_\" in it", got.Stdout)
	}
}
