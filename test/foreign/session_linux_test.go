package foreign_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the agent's words lack %q:\n%.2000s", want, text)
		}
	}
}

// What a foreign agent says, does, plans and costs is in the task's own log, its files go through the
// workspace, and its program ends with the task.
func TestAForeignSessionIsATask(t *testing.T) {
	s := newSite(t)
	task := s.run(s.dial(), "tester", "say Hello", "plan first | second", "reads what strangers wrote", "write notes.txt hi there", "read notes.txt", "cost 0.25", "memory",
		"say my key is sesame-open-the-door")
	shown := map[string]bool{}
	var done *wire.TaskCompleted
	for m, err := range task.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := m.Body.(type) {
		case *wire.TaskDelta:
			if ev.ToolCall != nil {
				shown[ev.ToolCall.Name] = true
			}
			shown["result"] = shown["result"] || ev.ToolResult != nil && strings.Contains(string(ev.ToolResult.Result), "what strangers wrote")
		case *wire.TaskProgress:
			shown["plan"] = shown["plan"] || strings.Contains(ev.Message, "first")
		case *wire.TaskCompleted:
			done = ev
		case *wire.TaskError:
			t.Fatalf("the task failed: %+v", ev)
		}
	}
	for _, want := range []string{"agent_read", "result", "plan", "file_write", "file_read"} {
		if !shown[want] {
			t.Errorf("the log does not show %s; it shows %v", want, shown)
		}
	}
	has(t, done.Result.Text, "Hello", "wrote notes.txt", "read 8 bytes: hi there", "prompt 1")
	if strings.Contains(done.Result.Text, "sesame") {
		t.Errorf("a secret of the agent's environment is in its words: %s", done.Result.Text)
	}
	if done.Usage.CostUSD == nil || *done.Usage.CostUSD != 0.25 || done.Usage.CompletionTokens != 5 {
		t.Errorf("it used %+v, want 0.25 dollars and 5 tokens", done.Usage)
	}
	if raw, err := os.ReadFile(s.Path("workspace/notes.txt")); string(raw) != "hi there" {
		t.Errorf("notes.txt holds %q, %v", raw, err)
	}
	s.gone("after its task")
}

// outcome is what the hub says became of a question.
func outcome(t *testing.T, a hubtest.Answer) string {
	t.Helper()
	var out struct {
		Outcome string `json:"outcome"`
	}
	if err := json.Unmarshal(a.Body, &out); err != nil || a.Status != http.StatusOK || out.Outcome == "" {
		t.Fatalf("the answer was answered with %d %s", a.Status, a.Body)
	}
	return out.Outcome
}

// A permission request is one question, with all that is asked for; of two answers at once the first
// counts, and what an agent is told is that answer, for this once.
func TestAPermissionIsOneQuestion(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	for range 3 {
		task := s.run(c, "tester", "ask make it")
		q := s.asked("shell", "")
		if string(q.Arguments) != `{"command":"make it"}` {
			t.Fatalf("asked about %s", q.Arguments)
		}
		var both sync.WaitGroup
		answers := make([]hubtest.Answer, 2)
		for i, yes := range []bool{true, false} {
			both.Go(func() { answers[i] = s.answer(q.ID, fmt.Sprintf(`{"approved":%t}`, yes)) })
		}
		both.Wait()
		first, second := outcome(t, answers[0]), outcome(t, answers[1])
		if first != second {
			t.Errorf("one was told that it is %s, the other that it is %s", first, second)
		}
		want := map[string]string{"approved": "answer selected once", "rejected": "answer selected no"}[first]
		has(t, s.completed(task), want)
	}
	task := s.run(c, "tester", "edit main.go")
	q := s.asked("agent_edit", "")
	has(t, string(q.Arguments), "old words", "new words", "main.go")
	s.answer(q.ID, `{"approved":true}`)
	has(t, s.completed(task), "answer selected once")
}

// A yes is a yes to one call: an agent that offers nothing but to be allowed for ever gets none.
func TestNobodyIsAllowedForEver(t *testing.T) {
	s := newSite(t)
	task := s.run(s.dial(), "tester", "only-always make it")
	s.answer(s.asked("shell", "").ID, `{"approved":true}`)
	has(t, s.completed(task), "answer cancelled")
}

// The deny list, the list of harmless commands, the workspace and the box hold for foreign agents as for the hub's own.
func TestTheBoxAndThePolicyHold(t *testing.T) {
	s := newSite(t)
	text := s.completed(s.run(s.dial(), "tester", "ask echo parley-deny-selftest", "ask ls", "read /etc/hostname", "write ../../escaped.txt x",
		"look "+s.Path("owner.token"), "look /proc/1/environ", "stranger", "unknown"))
	has(t, text, "answer selected no", "answer selected once", "looked: \"\" true", "refused: this is not your session", "refused -32601")
	if strings.Contains(text, "read ") || strings.Contains(text, "wrote") || strings.Contains(text, "words of a stranger") || strings.Contains(text, s.Owner) {
		t.Errorf("it got where it must not:\n%s", text)
	}
}

// A command in a terminal of the hub asks, runs in the box, and its agent reads what it printed.
func TestACommandRunsInATerminal(t *testing.T) {
	s := newSite(t)
	task := s.run(s.dial(), "tester", "run echo from the terminal; exit 3")
	s.answer(s.asked("terminal_open", "").ID, `{"approved":true}`)
	has(t, s.completed(task), "ran, exit 3: from the terminal")
}

// An agent that behaves badly ends its own task, with a reason, and nothing else.
func TestABadAgentHarmsItsOwnTaskOnly(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	for word, why := range map[string]string{"die": "it was told to die", "long": "a message of more than", "garbage": "not the agent client protocol", "flood": "the text of a turn"} {
		task := s.run(c, "tester", word)
		if _, err := task.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: ended with %v, want %q", word, err, why)
		}
		s.gone("after it did " + word)
	}
	has(t, s.completed(s.run(c, "tester", "say still here")), "still here")
}
