package talk_test

import (
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/talk"
)

func TestQuestionsWaitForSevenDaysOrAsLongAsTheAgentsFileSays(t *testing.T) {
	ran := 0
	h := newHub(t, sqlite(t), withInbox, withTools(danger(&ran)))
	for file, want := range map[string]time.Duration{
		"---\ntools: [danger, ask_user]\n---\n":                       7 * 24 * time.Hour,
		"---\ntools: [danger, ask_user]\napproval_timeout: 2h\n---\n": 2 * time.Hour,
	} {
		h.agents.put(t, "crab", file)
		run := h.begin(talk.TurnRequest{Content: "/tool danger\n/say done"})
		until(t, run, talk.Waiting)
		if item := h.waiting(t); item.Timeout != want {
			t.Errorf("a call that must be approved waits for %s; want %s", item.Timeout, want)
		}
		if err := h.Kill(t.Context(), anybody, crab); err != nil {
			t.Fatal(err)
		}
		run = h.begin(talk.TurnRequest{Content: `/tool ask_user {"questions":[{"question":"Which?"}]}` + "\n/say done"})
		asked := until(t, run, talk.Ask)
		if left := time.Until(asked[len(asked)-1].Ask.Expires); left > want || left < want-time.Hour {
			t.Errorf("a question waits for %s; want %s", left, want)
		}
		if err := h.Kill(t.Context(), anybody, crab); err != nil {
			t.Fatal(err)
		}
	}
}

// Somebody lets as many turns wait for a yes as a hub does at a time. They wait for days: nobody
// else could say a word.
func TestATurnThatWaitsForAPersonTakesNobodysPlace(t *testing.T) {
	ran := 0
	h := newHub(t, sqlite(t), withInbox, withTools(danger(&ran)), withLimits(talk.Limits{Runs: 1}))
	waiting := h.begin(talk.TurnRequest{Content: "/tool danger\n/say done"})
	until(t, waiting, talk.Waiting)
	other := h.turn(talk.TurnRequest{Key: talk.Key{Agent: "crab", Sender: "user", Thread: "other"}, Content: "/say hello"})
	if other.text() != "hello" || len(other.of(talk.Queued)) != 0 {
		t.Fatalf("another turn meanwhile: %q, %v; want it at once", other.text(), other.kinds())
	}
	if _, err := h.inbox.Answer(t.Context(), person(), h.waiting(t).ID, approval.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	if got := all(t, waiting); got.text() != "done" || ran != 1 {
		t.Errorf("after the yes it said %q and ran %d times; want that it goes on", got.text(), ran)
	}
	if stats := h.Stats(); stats.Runs > 1 {
		t.Errorf("%d runs at a time; want one at most", stats.Runs)
	}
}
