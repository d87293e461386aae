//go:build unix

package board_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

// dialThrough connects through a cutter.
func dialThrough(t *testing.T, c *hubtest.Cutter, token string) *viber.Client {
	t.Helper()
	client, err := viber.Dial(t.Context(), "ws://"+c.Address()+"/ws", viber.Options{Token: token, RetryMin: 5 * time.Millisecond, RetryMax: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A task is submitted on one connection, approved and corrected from another, both
// are cut again and again while it writes, and both end with the same bytes.
func TestARunIsTheSameForEverybodyWhateverTheNetworkDoes(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{Env: []string{"PARLEY_MODEL=offline"}})
	cutter := hubtest.NewCutter(t, strings.TrimPrefix(h.URL, "http://"))
	one, two := dialThrough(t, cutter, h.Owner), dialThrough(t, cutter, h.Owner)

	words := make([]string, 400)
	for i := range words {
		words[i] = fmt.Sprintf("wörd-%d", i)
	}
	goal := "/say Beginning.\n/tool shell {\"command\":\"echo approved > proof; sleep 0.5\"}\n/pace 4\n/say " + strings.Join(words, " ")
	task := submit(t, one, goal, nil)
	mine := read(t, task)

	// The second connection sees the question and allows it.
	for ev, err := range two.Approvals(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if q := ev.Required; q != nil && q.TaskID == task.ID() {
			out, err := two.Approve(t.Context(), q.ApprovalID)
			if err != nil || out.Outcome != wire.Approved {
				t.Fatalf("%+v, %v", out, err)
			}
			break
		}
	}
	followed, err := two.Follow(t.Context(), task.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := read(t, followed)
	// While the tool runs, it is told one thing more.
	ack, err := two.Message(t.Context(), task.ID(), "/say Corrected.", wire.Steer)
	if err != nil || ack.Disposition != wire.Steering {
		t.Fatalf("%+v, %v", ack, err)
	}
	var both sync.WaitGroup
	stop := make(chan struct{})
	both.Go(func() {
		// Not forever: on a slow machine nobody would ever get through.
		for range 8 {
			select {
			case <-stop:
				return
			case <-time.After(150 * time.Millisecond):
				cutter.Cut()
			}
		}
	})
	results := make([]*wire.TaskCompleted, 2)
	var readers sync.WaitGroup
	for i, r := range []*reader{mine, theirs} {
		readers.Go(func() { results[i] = r.completed() })
	}
	readers.Wait()
	close(stop)
	both.Wait()
	if results[0].Result.Text != results[1].Result.Text || !strings.HasSuffix(results[0].Result.Text, strings.Join(words, " ")+"\nCorrected.") {
		t.Errorf("…%q and …%q", tail(results[0].Result.Text), tail(results[1].Result.Text))
	}
	if proof, err := os.ReadFile(h.Path("workspace/proof")); err != nil || string(proof) != "approved\n" {
		t.Errorf("%q, %v", proof, err)
	}
}

func tail(s string) string { return s[max(0, len(s)-60):] }

// Killed without warning in the middle of a task, the hub comes back and does what
// the task's on_restart says; what was acknowledged is still there.
func TestAKilledHubEndsOrContinuesItsTasks(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{Env: []string{"PARLEY_MODEL=offline"}, Args: []string{"--model", "offline"}})
	c := dial(t, h)
	long := "/say Before.\n/tool shell {\"command\":\"touch asked\"}\n/say After."
	fails := func(s *wire.TaskSubmit) { s.IdempotencyKey, s.Options.OnRestart = "ends", wire.OnRestartFail }
	ends := submit(t, c, long, fails)
	goes := submit(t, c, long, func(s *wire.TaskSubmit) { s.IdempotencyKey = "goes" }) // which is the usual way
	done := submit(t, c, "/say kept", func(s *wire.TaskSubmit) { s.IdempotencyKey = "done" })
	kept := read(t, done).completed()
	asked := func(p wire.Payload) bool { return kind[*wire.ApprovalRequired](p) }
	before := read(t, ends)
	before.until(asked)
	question := read(t, goes).until(asked).(*wire.ApprovalRequired)
	h.Kill9()
	_ = c.Close()
	h.Restart()
	c = dial(t, h)

	again, err := c.Follow(t.Context(), ends.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	r := read(t, again)
	r.until(nil)
	failed, ok := r.end.(*wire.TaskError)
	if !ok || failed.Error.Type != wire.CodeInternalError || failed.Details.Reason != wire.ReasonDaemonRestarted || !failed.Error.Recoverable || failed.PartialResult.Text != "Before." {
		t.Fatalf("%+v", r.end)
	}
	// Its key is free for another attempt.
	retry := submit(t, c, long, fails)
	if retry.Started().Attempt != 2 {
		t.Errorf("%+v", retry.Started())
	}
	// The other one still waits, for the same answer, and goes on.
	resumed, err := c.Follow(t.Context(), goes.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	on := read(t, resumed)
	hubtest.Eventually(t, "the question can be answered", func() bool {
		out, err := c.Approve(t.Context(), question.ApprovalID)
		return err == nil && out != nil && out.Outcome == wire.Approved
	})
	if got := on.completed(); !strings.HasSuffix(got.Result.Text, "After.") {
		t.Errorf("%q", got.Result.Text)
	}
	if _, err := os.Stat(h.Path("workspace/asked")); err != nil {
		t.Error(err)
	}
	// What had ended is answered as it ended.
	replay := submit(t, c, "/say kept", func(s *wire.TaskSubmit) { s.IdempotencyKey = "done" })
	end, err := replay.Wait(t.Context())
	if err != nil || !replay.Started().Replayed || end.Result.Text != kept.Result.Text {
		t.Errorf("%+v: %+v, %v", replay.Started(), end, err)
	}
}

// A terminal is opened from the command line, looked at from two places, survives
// a page that is loaded again, and is recorded.
func TestATerminalFromTheCommandLine(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{Env: []string{"PARLEY_MODEL=offline", "PARLEY_TERMINAL_RECORD=all", "EXAMPLE_API_KEY=sk-very-secret-value"}})
	data := filepath.Dir(h.Path("x"))
	var id bytes.Buffer
	open := hubtest.Command(t, "terminal", "open", "--data", data, "--command", "stty -echo; echo ready; while read x; do echo \"got $x\"; done; exit 7")
	open.Stdout = &id
	if err := open.Run(); err != nil {
		t.Fatal(err)
	}
	terminal := strings.TrimSpace(id.String())
	// Attached inside a real terminal: raw mode, its size, and Ctrl-] to leave.
	session := startPTY(t, hubtest.Command(t, "terminal", "attach", terminal, "--data", data), 33, 111)
	session.expect("ready")
	session.send("hello\n")
	session.expect("got hello")
	c := dial(t, h)
	hubtest.Eventually(t, "the size follows the window", func() bool {
		list, err := c.Terminals(t.Context())
		return err == nil && len(list) == 1 && list[0].Size == wire.Size{Rows: 33, Cols: 111} && list[0].Viewers == 1
	})
	session.send("\x1d")
	session.expect("the terminal goes on")
	if code := session.wait(); code != 0 {
		t.Errorf("left with %d", code)
	}
	// Who only looks leaves by any of three keys, also at a console that does not know its size.
	for _, key := range []string{"q", "\x03", "\x1d"} {
		looking := startPTY(t, hubtest.Command(t, "terminal", "attach", terminal, "--read-only", "--data", data), 0, 0)
		looking.expect("got hello")
		looking.send(key)
		looking.expect("the terminal goes on")
		if code := looking.wait(); code != 0 {
			t.Errorf("whoever only looked left with %d", code)
		}
	}
	// A page that is loaded again: a new connection, the same screen.
	for range 2 {
		view, err := dial(t, h).Attach(t.Context(), terminal)
		if err != nil {
			t.Fatal(err)
		}
		var text string
		for m, err := range view.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if out, ok := m.Body.(*wire.TerminalOutput); ok {
				text += out.Data
			}
			if strings.HasSuffix(text, "got hello\r\n") {
				break
			}
		}
		if text != "ready\r\ngot hello\r\n" {
			t.Errorf("%q", text)
		}
	}
	// Piped in, without a terminal, it is a filter that leaves with the exit code.
	filter := hubtest.Command(t, "terminal", "attach", terminal, "--data", data)
	filter.Stdin = strings.NewReader("bye\n\x04")
	out, err := filter.Output()
	if filter.ProcessState.ExitCode() != 7 || !strings.Contains(string(out), "got bye") {
		t.Errorf("%q, %v", out, err)
	}
	cast := h.Do("GET", "/api/terminals/"+terminal+"/recording", "")
	if cast.Status != 200 || !bytes.HasPrefix(cast.Body, []byte(`{"version":2`)) || !bytes.Contains(cast.Body, []byte("got hello")) {
		t.Errorf("%d %.200s", cast.Status, cast.Body)
	}
	if list := h.Do("GET", "/api/recordings", ""); list.Status != 200 || !bytes.Contains(list.Body, []byte(terminal)) {
		t.Errorf("%d %s", list.Status, list.Body)
	}
	if list := h.Do("GET", "/api/terminals", ""); list.Status != 200 || !bytes.Contains(list.Body, []byte(`"exit_code":7`)) {
		t.Errorf("%d %s", list.Status, list.Body)
	}
	// What the hub keeps secret is neither inherited nor shown.
	made, err := c.OpenTerminal(t.Context(), &wire.TerminalCreate{Command: "env; cat " + h.Path("owner.token") + "; echo sk-very-secret-value"})
	if err != nil {
		t.Fatal(err)
	}
	view, err := c.Attach(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for m, err := range view.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if out, ok := m.Body.(*wire.TerminalOutput); ok {
			text += out.Data
		}
	}
	if strings.Contains(text, h.Owner) || strings.Contains(text, "sk-very-secret") || strings.Count(text, "[masked]") != 2 || strings.Contains(text, "PARLEY_") {
		t.Errorf("%q", text)
	}
}
