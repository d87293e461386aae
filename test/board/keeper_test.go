//go:build unix

package board_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/client/viber"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

// shown follows a terminal until its text fits, or to its end.
func shown(t *testing.T, c *viber.Client, id string, fits func(string) bool) (text string, exit *wire.TerminalExit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hubtest.Patience)
	defer cancel()
	screen, err := c.Attach(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range screen.Events(ctx) {
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(text), err)
		}
		switch p := m.Body.(type) {
		case *wire.TerminalOutput:
			text += p.Data
		case *wire.TerminalExit:
			exit = p
		}
		if fits(text) {
			break
		}
	}
	return text, exit
}

// recorded is the output in a recording.
func recorded(t *testing.T, a hubtest.Answer) string {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("no recording: %d %s", a.Status, a.Body)
	}
	var text strings.Builder
	for line := range bytes.Lines(a.Body) {
		var event []any
		if json.Unmarshal(line, &event) == nil && len(event) == 3 && event[1] == "o" {
			fmt.Fprint(&text, event[2])
		}
	}
	return text.String()
}

func toItsEnd(string) bool { return false }

// plainUser has a hub run as an ordinary user.
func plainUser(t *testing.T, conf *hubtest.Config) {
	t.Helper()
	const plain = 54321
	dir, err := os.MkdirTemp("/tmp", "parley-plain-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, err := range []error{os.Chown(dir, plain, plain), os.Chmod(filepath.Dir(hubtest.Program(t)), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	conf.Data, conf.Env = filepath.Join(dir, "data"), append(conf.Env, "HOME="+dir)
	conf.Wrap = func(cmd *exec.Cmd) {
		cmd.Dir = dir
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: plain, Gid: plain}
	}
}

// A hub took its terminals along, however it ended.
func TestTerminalsOutliveTheHub(t *testing.T) {
	ends := map[string]func(*hubtest.Hub){
		"killed":  (*hubtest.Hub).Kill9,
		"stopped": func(h *hubtest.Hub) { h.Terminate(); h.Wait() },
	}
	for name, end := range ends {
		for _, user := range []string{"as this user", "as a plain user"} {
			t.Run(name+" "+user, func(t *testing.T) {
				conf := hubtest.Config{Env: []string{"PARLEY_TERMINAL_RECORD=all"}}
				if user != "as this user" {
					if os.Geteuid() != 0 {
						t.Skip("only root can run a hub as somebody else")
					}
					plainUser(t, &conf)
				}
				outlives(t, hubtest.Start(t, conf), end)
			})
		}
	}
}

func outlives(t *testing.T, h *hubtest.Hub, end func(*hubtest.Hub)) {
	const last = 15_000
	c := dial(t, h)
	made, err := c.OpenTerminal(t.Context(), &wire.TerminalCreate{
		Command: fmt.Sprintf("V=kept; i=0; while [ $i -lt %d ]; do i=$((i+1)); echo line $i; done; stty -echo; echo over; read x; echo $x $V; exit 6", last),
	})
	if err != nil {
		t.Fatal(err)
	}
	shown(t, c, made.ID, func(text string) bool { return strings.Contains(text, "line 100\r\n") })
	end(h)
	h.Restart()
	c = dial(t, h)
	shown(t, c, made.ID, func(text string) bool { return strings.Contains(text, "over\r\n") })
	c = dial(t, h)
	screen, err := c.Attach(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := screen.Input(t.Context(), "still\n"); err != nil {
		t.Fatal(err)
	}
	text, exit := shown(t, dial(t, h), made.ID, toItsEnd)
	if exit == nil || exit.ExitCode != 6 {
		t.Errorf("it ended with %+v, expected 6", exit)
	}
	var want strings.Builder
	for i := 1; i <= last; i++ {
		fmt.Fprintf(&want, "line %d\r\n", i)
	}
	want.WriteString("over\r\nstill kept\r\n")
	if text != want.String() {
		t.Errorf("%d bytes are shown, expected each of %d lines once: %d bytes; the end is %q", len(text), last, want.Len(), text[max(0, len(text)-100):])
	}
	if cast := recorded(t, h.Do("GET", "/api/terminals/"+made.ID+"/recording", "")); cast != want.String() {
		t.Errorf("%d bytes are recorded, expected what was shown", len(cast))
	}
	hubtest.Eventually(t, "no keeper is left", func() bool {
		left, _ := filepath.Glob(h.Path("terminals/*/socket"))
		return len(left) == 0
	})
}

// A hub that dies leaves the terminals of its agents. If the task does not go on, nobody would ever end them.
func TestATerminalOfATaskThatIsOverEndsWhenTheHubComesBack(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{})
	c := dial(t, h)
	_, err := c.Submit(t.Context(), &wire.TaskSubmit{
		Goal:    "/tool terminal_open {\"command\":\"exec sleep 1000\"}\n/say opened\n/sleep 600000",
		Options: &wire.TaskOptions{OnRestart: wire.OnRestartFail},
	})
	if err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "the task has a terminal, once a person allowed it", func() bool {
		asked, err := hubapi.Call(t.Context(), h.Client(), rest.ListApprovals, rest.ApprovalQuery{State: "pending"})
		if err == nil && len(asked.Approvals) == 1 {
			_, _ = hubapi.Call(t.Context(), h.Client(), rest.AnswerApproval, rest.ApprovalAnswer{ID: asked.Approvals[0].ID, Body: rest.Answer{Approved: true}})
		}
		list, err := c.Terminals(t.Context())
		return err == nil && len(list) == 1
	})
	h.Kill9()
	h.Restart()
	again := dial(t, h)
	hubtest.Eventually(t, "the terminal of a task that failed with its hub has ended", func() bool {
		list, err := again.Terminals(t.Context())
		return err == nil && (len(list) == 0 || list[0].Status == wire.TerminalExited)
	})
}
