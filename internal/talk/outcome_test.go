package talk_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
)

// outcomes is how the turns of the history ended, by the words each ended with.
func (h *hub) outcomes(t testing.TB) map[string]string {
	t.Helper()
	conv, err := h.Find(t.Context(), anybody, crab)
	if err != nil {
		t.Fatal(err)
	}
	history, err := h.History(t.Context(), anybody, conv.ID, talk.HistoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range history.Messages {
		if m.Outcome.How != "" {
			out[m.Text] = m.Outcome.How + " " + m.Outcome.Code
		}
	}
	return out
}

// Cut, failed and cancelled answers looked like complete ones as soon as the stream was over.
func TestTheHistoryTellsHowEachTurnEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withTools(echo()))
		defer h.stop()
		h.say("/say all of it")
		h.say("/say half of\n/fail 503 busy")
		h.say("/fail 401 no key")
		h.say("/say looking\n/tool echo\n/fail 500 gone")
		run := h.begin(talk.TurnRequest{Content: "/say stop\n/sleep 600000"})
		synctest.Wait()
		if err := h.Cancel(t.Context(), me, crab, ""); err != nil {
			t.Fatal(err)
		}
		all(t, run)
		h.models.playing(func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) bool {
			return yield(model.Event{Kind: model.Text, Text: "too lo"}, nil) && yield(model.Event{Kind: model.Done, Finish: model.FinishLength}, nil)
		})
		h.say("go on for ever")
		want := map[string]string{
			"all of it": "complete ", "half of": "failed status", "/fail 401 no key": "failed status", "looking": "failed status",
			"stop": "cancelled cancelled", "too lo": "cut length",
		}
		got := h.outcomes(t)
		for text, how := range want {
			if got[text] != how {
				t.Errorf("the turn that ended with %q is told as %q, want %q", text, got[text], how)
			}
		}
		if len(got) != len(want) {
			t.Errorf("outcomes of %v; one for each turn is wanted", got)
		}
	})
}

// A hub that is killed in the middle of an answer leaves what was said up to the last
// second, marked as interrupted.
func TestWhatWasSaidIsOnDiskAboutEverySecond(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first := newHub(t, db, withLimits(talk.Limits{Drain: time.Millisecond}))
		for _, key := range []talk.Key{crab, {Agent: "crab", Sender: "user", Thread: "guest"}} {
			guest := ""
			if key.Thread != "" {
				guest = "twin"
			}
			first.begin(talk.TurnRequest{Key: key, Guest: guest, Content: "/say round one\n/sleep 600000\n/say never", Detached: true})
		}
		mem := memory.New(db)
		kept := func() bool {
			n := 0
			err := db.Read(t.Context(), func(tx *store.Tx) error {
				return tx.QueryRow(`SELECT count(*) FROM talk_runs WHERE ended_at = 0 AND length(text) = 9`).Scan(&n)
			})
			return err == nil && n == 2
		}
		for end := time.Now().Add(30 * time.Second); !kept(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the text of running turns never got to disk")
			}
		}
		// The next owner finds the runs open, as after a kill.
		for _, key := range []talk.Key{crab, {Agent: "crab", Sender: "user", Thread: "guest"}} {
			conv, err := mem.Find(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := mem.Load(t.Context(), nil, conv.ID, memory.Interruption{Stop: 9, Reason: "interrupted"})
			if err != nil {
				t.Fatal(err)
			}
			last := loaded.Messages[len(loaded.Messages)-1]
			if last.Text != "round one" || !last.Interrupted || last.Outcome.How != memory.Interrupted || (last.Agent == "twin") != (key.Thread != "") {
				t.Errorf("%s: after the crash the last message is %+v", key.Thread, last)
			}
		}
	})
}
