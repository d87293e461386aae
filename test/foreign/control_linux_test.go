package foreign_test

import (
	"strings"
	"testing"

	"parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

// A steer cuts the prompt short and a follow-up waits for its end; both are prompts of the same session. An
// agent that does not heed a cancel is started again and takes its session up.
func TestSteerAndFollowUpArePrompts(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	for _, word := range []string{"hang", "deaf"} {
		task := s.run(c, "tester", word)
		s.heard(task, map[string]string{"hang": "hanging", "deaf": "deaf"}[word])
		for text, mode := range map[string]wire.InjectionMode{"say and then this\nmemory": wire.Followup} {
			if _, err := task.Message(t.Context(), text, mode); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := task.Message(t.Context(), "say rather this", wire.Steer); err != nil {
			t.Fatal(err)
		}
		has(t, s.completed(task), "and then this", "prompt 3")
	}
}

// Stop stops: neither an agent that hears nothing nor one that waits for an answer lives on.
func TestStopStopsTheProgram(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	task := s.run(c, "tester", "deaf")
	s.heard(task, "deaf")
	if err := task.Stop(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	if n := s.agents(); n != 0 {
		t.Errorf("%d processes of the agent live after the stop was answered", n)
	}
	task = s.run(c, "tester", "ask make it")
	s.asked("shell", "")
	if err := task.Stop(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	if open := s.inbox(); len(open) != 0 {
		t.Errorf("questions of a stopped task wait: %+v", open)
	}
	s.gone("after the stop")
}

// A hub that is killed takes the agent's program with it, and the next one takes the session up again:
// what the program was asking is withdrawn and asked anew, and the agent knows what it had.
func TestAKilledHubFindsTheSessionAgain(t *testing.T) {
	s := newSite(t)
	task := s.run(s.dial(), "tester", "memory", "ask make it")
	before := s.asked("shell", "")
	s.Kill9()
	s.gone("after its hub was killed")
	s.Restart()
	again := s.asked("shell", before.ID)
	s.answer(again.ID, `{"approved":true}`)
	followed, err := s.dial().Follow(t.Context(), task.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	text := s.completed(followed)
	has(t, text, "prompt 1", "prompt 2", "answer selected once")
	if strings.Contains(text, "told again") {
		t.Errorf("what the agent tells of its loaded session is in the log again:\n%s", text)
	}
}

// An agent that cannot take up a session is not given half a memory in silence: the task says so and waits.
func TestALostSessionIsSaidAndWaitedFor(t *testing.T) {
	s := newSite(t)
	tasks := []*viber.Task{s.run(s.dial(), "forgetful", "memory", "ask make it")}
	before := s.asked("shell", "")
	s.Kill9()
	s.Restart()
	q := s.asked("ask_user", before.ID)
	has(t, q.Title, "its session is lost: it cannot take up a session again")
	if a := s.answer(q.ID, `{"approved":true,"answers":["Begin anew"]}`); a.Status != 200 {
		t.Fatalf("the answer: %d %s", a.Status, a.Body)
	}
	s.answer(s.asked("shell", q.ID).ID, `{"approved":false}`)
	followed, err := s.dial().Follow(t.Context(), tasks[0].ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	has(t, s.completed(followed), "prompt 1", "answer selected no")
}

// What the agent says it costs counts against the task's budget while it works.
func TestTheCostIsHeldAgainstTheBudget(t *testing.T) {
	s := newSite(t)
	task := s.run(s.dial(), "tester", "cost 2", "hang")
	q := s.asked("budget.extend", "")
	s.answer(q.ID, `{"approved":false}`)
	if _, err := task.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "spent") {
		t.Errorf("the task ended with %v, want a spent budget", err)
	}
	s.gone("after its budget was spent")
	hubtest.Eventually(t, "nothing waits in the inbox", func() bool { return len(s.inbox()) == 0 })
}
