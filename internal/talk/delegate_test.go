package talk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/talk"
)

func delegateTo(tasks ...string) string {
	var list []map[string]string
	for i := 0; i < len(tasks); i += 2 {
		list = append(list, map[string]string{"agent": tasks[i], "message": tasks[i+1]})
	}
	raw, _ := json.Marshal(map[string]any{"tasks": list})
	return "/tool delegate " + string(raw)
}

func TestDelegatesWorkInHiddenConversations(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "owl", "You are owl.")
	run := h.begin(talk.TurnRequest{Content: delegateTo("twin", "/say from twin", "owl", "/fail tired") + "\n/say done"})
	got := all(t, run)
	if res := got.of(talk.ToolResult)[0].Result; res.IsError || res.Output != `[{"agent":"twin","result":"from twin","error":""},{"agent":"owl","result":"","error":"offline: tired"}]` {
		t.Errorf("%+v", res)
	}
	if got.text() != "done" {
		t.Errorf("got.text() is %v; want got.text() to be \"done\"", got.text())
	}
	list, err := h.List(t.Context(), anybody, talk.Filter{})
	if err != nil || len(list) != 1 {
		t.Errorf("hidden ones are listed: %v, %v", list, err)
	}
	key := talk.Key{Agent: "twin", Sender: "delegate:" + run.ID + ":1"}
	if stored := h.stored(key); len(stored) != 2 || stored[1] != "assistant from twin" {
		t.Errorf("stored is %v; want len(stored) to be 2, stored[1] to be \"assistant from twin\"", stored)
	}
}

func TestDelegationOutsideMembersTooDeepOrTooManyIsRefused(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "crab", "---\ntools: [delegate]\nmembers: [twin]\n---\n")
	h.agents.put(t, "twin", "---\ntools: [delegate]\nmembers: [owl]\n---\n")
	h.agents.put(t, "owl", "---\ntools: [delegate]\nmembers: [crab, twin]\n---\n")
	refused := func(script, why string) {
		t.Helper()
		got := h.say(script)
		results := got.of(talk.ToolResult)
		if res := results[len(results)-1].Result; !res.IsError || !strings.Contains(res.Output, why) {
			t.Errorf("%+v; want res.IsError, strings.Contains(res.Output, why)", res)
		}
	}
	refused(delegateTo("owl", "x"), "not one of your members")
	refused(delegateTo("crab", "x"), "not one of your members")
	eight := delegateTo("twin", "a", "twin", "b", "twin", "c", "twin", "d", "twin", "e", "twin", "f", "twin", "g", "twin", "h")
	refused(strings.Join([]string{eight, eight, eight, eight, delegateTo("twin", "one more")}, "\n"), "at most 32")
	// Delegates need a person's word for mutating tools; without an inbox nobody
	// can give it, so depth is tried with one who is asked for nothing.
	inner := delegateTo("owl", delegateTo("crab", "x")+"\n/result")
	got := h.say(delegateTo("twin", inner+"\n/result") + "\n/result")
	if out := got.of(talk.ToolResult)[0].Result.Output; !strings.Contains(out, "needs a person's approval") {
		t.Errorf("%q; want \"needs a person's approval\" in it", out)
	}
}

func TestDelegationIsRefusedBelowTwoLevels(t *testing.T) {
	h := newHub(t, sqlite(t), withInbox, func(_ *hub, d *talk.Deps) { d.PersonOf = func(string) string { return "user" } })
	h.agents.put(t, "crab", "---\ntools: [delegate]\nmembers: [twin]\n---\n")
	h.agents.put(t, "twin", "---\ntools: [delegate]\nmembers: [owl]\n---\n")
	h.agents.put(t, "owl", "---\ntools: [delegate]\nmembers: [crab]\n---\n")
	run := h.begin(talk.TurnRequest{Content: delegateTo("twin", delegateTo("owl", delegateTo("crab", "x")+"\n/result")+"\n/result")})
	for range 2 {
		until(t, run, talk.Waiting)
		h.approveAll(t)
		until(t, run, talk.Waiting)
	}
	out := all(t, run).of(talk.ToolResult)[0].Result.Output
	if !strings.Contains(out, "further than 2 levels") {
		t.Errorf("%q; want \"further than 2 levels\" in it", out)
	}
}

func TestCancelReachesDelegatesAndTheirCostCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		defer h.stop()
		h.agents.put(t, "crab", "---\ntools: [delegate]\nmembers: [\"*\"]\nbudget: {run_tokens: 1000}\n---\n")
		run := h.begin(talk.TurnRequest{Content: delegateTo("twin", "/say a\n/sleep 600000")})
		synctest.Wait()
		start := time.Now()
		if err := h.Cancel(t.Context(), me, crab, ""); err != nil {
			t.Fatal(err)
		}
		if end := all(t, run).end(t); end.Stop != brain.StopCancelled || time.Since(start) > time.Second {
			t.Errorf("%+v after %s", end, time.Since(start))
		}
		key := talk.Key{Agent: "twin", Sender: "delegate:" + run.ID + ":1"}
		if list := h.stored(key); len(list) != 2 || list[1] != "assistant a" {
			t.Errorf("list is %v; want len(list) to be 2, list[1] to be \"assistant a\"", list)
		}
		got := h.say(delegateTo("twin", "/usage 900 200\n/say x") + "\n/say never")
		if end := got.end(t); end.Stop != brain.StopBudget {
			t.Errorf("%+v; want end.Stop to be %v", end, brain.StopBudget)
		}
		if n := len(h.models.of(model.ForTurn)); n != 4 {
			t.Errorf("%d model calls", n)
		}
	})
}

func TestOldDelegationsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withLimits(talk.Limits{Sweep: time.Hour}))
		defer h.stop()
		run := h.begin(talk.TurnRequest{Content: delegateTo("twin", "/say x")})
		all(t, run)
		key := talk.Key{Agent: "twin", Sender: fmt.Sprintf("delegate:%s:1", run.ID)}
		<-time.After(29 * 24 * time.Hour)
		if h.stored(key) == nil {
			t.Error("removed early")
		}
		<-time.After(3 * 24 * time.Hour)
		if h.stored(key) != nil || h.stored(crab) == nil {
			t.Error("not removed, or too much")
		}
	})
}

// askingDelegate makes a hub on which a delegate needs a person's word.
func askingDelegate(t *testing.T) *hub {
	h := newHub(t, sqlite(t), withInbox, withLimits(talk.Limits{AskTimeout: 5 * time.Minute}), func(_ *hub, d *talk.Deps) { d.PersonOf = func(string) string { return "user" } })
	h.agents.put(t, "crab", "---\ntools: [delegate]\nmembers: [twin]\n---\n")
	h.agents.put(t, "twin", "---\ntools: [delegate, ask_user]\nmembers: [owl]\n---\n")
	h.agents.put(t, "owl", "You are owl.")
	return h
}

// The look for what dead hubs left took a delegate's run for one of those, ended it and
// withdrew its question, and the model heard that the person had rejected the call.
func TestADelegatesQuestionWaitsLikeItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := askingDelegate(t)
		defer h.stop()
		run := h.begin(talk.TurnRequest{Content: delegateTo("twin", delegateTo("owl", "/say hoo")+"\n/result")})
		until(t, run, talk.Waiting)
		<-time.After(time.Minute) // thirty looks
		if item := h.waiting(t); item.Outcome.State != approval.StatePending {
			t.Fatalf("after a minute the delegate's question is %s", item.Outcome.State)
		}
		h.approveAll(t)
		if out := all(t, run).of(talk.ToolResult)[0].Result.Output; !strings.Contains(out, "hoo") {
			t.Errorf("the approved delegation answered %q", out)
		}
	})
}

// Whoever is no screen of a person's answers neither what its agent asks nor what a delegate asks.
func TestAProgramAnswersNothingItsDelegatesAsk(t *testing.T) {
	for name, program := range map[string]bool{"a screen": false, "a program": true} {
		t.Run(name, func(t *testing.T) {
			h := askingDelegate(t)
			run := h.begin(talk.TurnRequest{Content: delegateTo("twin", delegateTo("owl", "/say hoo")), Program: program})
			until(t, run, talk.Waiting)
			if got := h.waiting(t).Policy.Screen; got == program {
				t.Errorf("whether the asking credential may answer: %v", got)
			}
			h.approveAll(t)
			all(t, run)
		})
	}
}

func TestADelegatesAskUserReachesThePerson(t *testing.T) {
	h := askingDelegate(t)
	run := h.begin(talk.TurnRequest{Content: delegateTo("twin", question)})
	asked := until(t, run, talk.Ask)
	if q := asked[len(asked)-1]; q.Ask == nil || q.Run != run.ID || q.Agent != "twin" {
		t.Fatalf("the caller's client is shown %+v", q)
	}
	if err := h.Reply(t.Context(), me, crab, "", "red"); err != nil {
		t.Fatal(err)
	}
	if out := all(t, run).of(talk.ToolResult)[0].Result.Output; !strings.Contains(out, "red") {
		t.Errorf("the delegate did not get the answer: %q", out)
	}
}

func TestAModelIsToldWhetherACallWasRejectedWithdrawnOrNotAnswered(t *testing.T) {
	for state, want := range map[approval.State]string{
		approval.StateRejected: "the person rejected", approval.StateCancelled: "withdrawn before anybody answered", approval.StateExpired: "nobody answered in time",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := askingDelegate(t)
			defer h.stop()
			run := h.begin(talk.TurnRequest{Content: delegateTo("twin", delegateTo("owl", "/say hoo")+"\n/result")})
			until(t, run, talk.Waiting)
			item := h.waiting(t)
			var err error
			switch state {
			case approval.StateRejected:
				_, err = h.inbox.Answer(t.Context(), person(), item.ID, approval.Answer{})
			case approval.StateCancelled:
				_, err = h.inbox.Cancel(t.Context(), item.ID, "tidying up")
			default:
				<-time.After(time.Until(item.Expires) + 2*time.Second)
			}
			if err != nil {
				t.Fatal(err)
			}
			out := all(t, run).of(talk.ToolResult)[0].Result.Output
			if said := strings.Contains(out, "the person rejected"); !strings.Contains(out, want) || said != (state == approval.StateRejected) {
				t.Errorf("%s: the model is told %q", state, out)
			}
		})
	}
}
