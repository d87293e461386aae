package foreign_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/client/viber"
	"parley.internal/internal/sandbox"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/acpagent"
	"parley.internal/test/hubtest"
)

// TestMain lets a hub run this very program as the agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "acp-agent" {
		acpagent.Main(os.Args[2:])
	}
	hubtest.Main(m)
}

// site is a hub that knows two agents: tester, and forgetful, which cannot take up a session again.
type site struct {
	*hubtest.Hub
	t testing.TB
	// mark is in the arguments of the agents' processes.
	mark string
}

func newSite(t testing.TB) *site {
	t.Helper()
	if sandbox.Probe("").Version == 0 {
		t.Skip("foreign agents run in a box: a kernel with Landlock is needed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, mark: "mark-" + filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid()) + t.Name()}
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(data, "foreign"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string]string{"tester": "", "forgetful": ", noload"} {
		entry := fmt.Sprintf("command: %q\nargs: [acp-agent, %q%s]\nreports_cost: true\nenv: {TESTER_API_KEY: sesame-open-the-door}\n", self, s.mark, more)
		if err := os.WriteFile(filepath.Join(data, "foreign", name+".yaml"), []byte(entry), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Hub = hubtest.Start(t, hubtest.Config{Data: data})
	return s
}

// dial connects as the owner.
func (s *site) dial() *viber.Client {
	s.t.Helper()
	c, err := viber.Dial(s.t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/ws", viber.Options{Token: s.Owner})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// run starts a task of an agent.
func (s *site) run(c *viber.Client, agent string, lines ...string) *viber.Task {
	s.t.Helper()
	task, err := c.Submit(s.t.Context(), &wire.TaskSubmit{
		Goal: strings.Join(lines, "\n"), Options: &wire.TaskOptions{StreamDeltas: true, Agent: agent, BudgetUSD: 1},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return task
}

// heard follows a task until its text has some words.
func (s *site) heard(task *viber.Task, words string) {
	s.t.Helper()
	said := ""
	for m, err := range task.Events(s.t.Context()) {
		if err != nil {
			s.t.Fatalf("waiting for %q: %v", words, err)
		}
		if d, ok := m.Body.(*wire.TaskDelta); ok {
			if said += d.Text; strings.Contains(said, words) {
				return
			}
		}
	}
	s.t.Fatalf("the task ended with %q, without %q", said, words)
}

// completed is the text of a task that has to end well.
func (s *site) completed(task *viber.Task) string {
	s.t.Helper()
	done, err := task.Wait(s.t.Context())
	if err != nil {
		s.t.Fatalf("the task did not end well: %v", err)
	}
	return done.Result.Text
}

// question is one in the inbox.
type question struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Task      string          `json:"task_id"`
	Title     string          `json:"title"`
}

func (s *site) inbox() []question {
	s.t.Helper()
	var list struct {
		Approvals []question `json:"approvals"`
	}
	if a := s.Do("GET", "/api/approvals", ""); a.Status != http.StatusOK || json.Unmarshal(a.Body, &list) != nil {
		s.t.Fatalf("the inbox: %d %s", a.Status, a.Body)
	}
	return list.Approvals
}

// asked waits for the only question in the inbox, which is not the one before.
func (s *site) asked(tool, before string) question {
	s.t.Helper()
	var open []question
	hubtest.Eventually(s.t, "a question about "+tool+" waits", func() bool {
		open = s.inbox()
		return len(open) == 1 && open[0].ID != before
	})
	if open[0].Tool != tool {
		s.t.Fatalf("asked about %s %s, want %s", open[0].Tool, open[0].Arguments, tool)
	}
	return open[0]
}

func (s *site) answer(id, body string) hubtest.Answer {
	return s.Do("POST", "/api/approvals/"+id, body)
}

// agents counts the processes of agents that live.
func (s *site) agents() (n int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), s.mark) {
			n++
		}
	}
	return n
}

func (s *site) gone(when string) {
	s.t.Helper()
	hubtest.Eventually(s.t, "no process of the agent lives "+when, func() bool { return s.agents() == 0 })
}
