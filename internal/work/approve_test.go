package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

func waitFileNow(h *hub, name string) bool {
	_, err := os.Stat(filepath.Join(h.workspace, name))
	return err == nil
}

func mode(s *viber.TaskSubmit, m viber.Mode) *viber.TaskSubmit {
	return with(s, func(o *viber.TaskOptions) { o.Mode = m })
}

func TestWhatAsksDependsOnTheMode(t *testing.T) {
	for _, c := range []struct {
		mode  viber.Mode
		line  string
		asks  bool
		agent string
	}{
		{viber.AlwaysAsk, `/tool file_list {}`, true, ""},
		{viber.AlwaysAsk, `/tool shell {"command":"echo hi"}`, true, ""},
		{viber.AgentDecides, `/tool file_list {}`, false, ""},
		{viber.AgentDecides, `/tool file_write {"path":"a","content":"b"}`, false, ""},
		{viber.AgentDecides, `/tool shell {"command":"echo hi"}`, false, ""},
		{viber.AgentDecides, `/tool shell {"command":"echo hi > x"}`, true, ""},
		{viber.AgentDecides, `/tool shell {"command":"touch y"}`, true, ""},
		{viber.AgentDecides, `/tool file_list {}`, true, "careful"},
		{viber.AlwaysExecute, `/tool shell {"command":"touch z"}`, false, ""},
		{"", `/tool shell {"command":"touch z"}`, true, ""},
		{viber.AgentDecides, `/tool shell {"command":"touch z"}`, false, "trusted"},
		{viber.AlwaysAsk, `/tool shell {"command":"touch z"}`, true, "trusted"},
		{viber.AgentDecides, `/tool shell {"command":"touch z"}`, true, "both"},
	} {
		h := newHub(t, sqlite(t))
		h.agents.put(t, "careful", "---\ntools: [\"*\"]\nrequire_approval: [\"file_*\"]\n---\n")
		h.agents.put(t, "trusted", "---\ntools: [\"*\"]\nauto_approve: [shell]\n---\n")
		h.agents.put(t, "both", "---\ntools: [\"*\"]\nauto_approve: [shell]\nrequire_approval: [shell]\n---\n")
		r := h.submit(with(goal(c.line, "/say done"), func(o *viber.TaskOptions) { o.Mode, o.Agent = c.mode, c.agent }))
		ev := r.until(func(ev viber.TaskEvent) bool {
			_, asked := ev.(*viber.ApprovalRequired)
			return asked || viber.Ends(ev)
		})
		asked, waits := ev.(*viber.ApprovalRequired)
		if waits != c.asks {
			t.Errorf("%s %s: asks %v: %s", c.mode, c.line, waits, r.describe())
		}
		if waits {
			h.answer(alice, yes(asked.ApprovalID))
			r.completed()
		}
		h.stop()
	}
}

// An agent's auto_approve ends with the first words of strangers in a turn, and
// where a rule says who must agree; the next turn begins anew.
func TestAutoApproveEndsWithUntrustedDataAndYieldsToRules(t *testing.T) {
	trusted := "---\ntools: [\"*\"]\nauto_approve: [shell]\n---\n"
	h := newHub(t, sqlite(t))
	h.agents.put(t, "trusted", trusted)
	r := h.submit(with(goal(`/tool shell {"command":"touch a"}`, `/tool shell {"command":"touch b"}`, "/say done"), func(o *viber.TaskOptions) { o.Agent, o.Mode = "trusted", viber.AgentDecides }))
	asked := untilType[*viber.ApprovalRequired](r)
	if !waitFileNow(h, "a") || waitFileNow(h, "b") {
		t.Error("the first runs, the second asks: a command printed something between")
	}
	r.message(viber.Followup, `/tool shell {"command":"touch c"}`)
	h.answer(alice, yes(asked.ApprovalID))
	r.completed()
	if !waitFileNow(h, "c") || len(ofType[*viber.ApprovalRequired](r)) != 1 {
		t.Errorf("a new turn has read nothing yet: %s", r.describe())
	}
	ruled := newHub(t, sqlite(t), withDeps(func(d *work.Deps) { d.Rules = judge.Rules{{Tools: []string{"shell"}, Need: judge.Need{Quorum: 1}}} }))
	ruled.agents.put(t, "trusted", trusted)
	r = ruled.submit(with(goal(`/tool shell {"command":"touch a"}`, "/say done"), func(o *viber.TaskOptions) { o.Agent, o.Mode = "trusted", viber.AgentDecides }))
	ruled.answer(alice, yes(untilType[*viber.ApprovalRequired](r).ApprovalID))
	r.completed()
}

func TestWhatIsApprovedIsWhatRuns(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal(`/tool shell {"command":"printf 'a b' > out.txt"}`, "/say done"), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	var args struct{ Command string }
	if err := json.Unmarshal(asked.ToolCall.Arguments, &args); err != nil || args.Command != "printf 'a b' > out.txt" || asked.ToolCall.ID != "call_1_1" || asked.TimeoutMS != 604_800_000 || asked.RequestedBy != "agent:parley" {
		t.Errorf("%+v %v", asked, err)
	}
	if waitFileNow(h, "out.txt") {
		t.Error("it ran before it was approved")
	}
	snap, err := h.Snapshot(ctx, alice, r.id)
	if err != nil || snap.Status != viber.TaskPaused || len(snap.PendingApprovals) != 1 || snap.PendingApprovals[0].Seq != asked.Seq {
		t.Errorf("%+v %v; want no error, snap.Status to be %v, len(snap.PendingApprovals) to be 1, snap.PendingApprovals[0].Seq to be %v", snap, err, viber.TaskPaused, asked.Seq)
	}
	list, err := h.Approvals(ctx, alice)
	if err != nil || len(list) != 1 || list[0].ApprovalID != asked.ApprovalID || list[0].Seq != asked.Seq || list[0].TaskID != r.id {
		t.Errorf("%+v %v; want no error, len(list) to be 1, list[0].ApprovalID to be %v, list[0].Seq to be %v, list[0].TaskID to be %v", list, err, asked.ApprovalID, asked.Seq, r.id)
	}
	if got := h.answer(alice, yes(asked.ApprovalID)); !got.First || got.Resolved.Outcome != viber.Approved {
		t.Errorf("%+v; want got.First, got.Resolved.Outcome to be %v", got, viber.Approved)
	}
	r.completed()
	order := []string{}
	for _, ev := range r.events {
		switch ev := ev.(type) {
		case *viber.TaskDelta:
			if ev.DeltaType != viber.DeltaText {
				order = append(order, string(ev.DeltaType))
			}
		case *viber.ApprovalRequired, *viber.ApprovalResolved:
			order = append(order, string(ev.Type()))
		}
	}
	if fmt.Sprint(order) != "[tool_call approval:required approval:resolved tool_result]" {
		t.Errorf("%v; want fmt.Sprint(order) to be \"[tool_call approval:required approval:resolved tool_result]\"", order)
	}
	if data, err := os.ReadFile(filepath.Join(h.workspace, "out.txt")); err != nil || string(data) != "a b" {
		t.Errorf("%q %v; want no error, string(data) to be \"a b\"", data, err)
	}
	entry := h.trail.of("task.tool")
	if len(entry) != 1 || entry[0].Detail["approval"] != asked.ApprovalID || entry[0].Digest == "" {
		t.Errorf("%+v; want len(entry) to be 1, entry[0].Detail[\"approval\"] to be %v, entry[0].Digest not to be \"\"", entry, asked.ApprovalID)
	}
}

func TestARejectionReachesTheModelInThePersonsWords(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal(`/tool shell {"command":"touch x"}`, "/result"), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	h.answer(alice, no(asked.ApprovalID, "not on a Sunday"))
	want := `{"ok":false,"error":{"type":"rejected","message":"not on a Sunday"}}`
	if got := r.completed().Result.Text; got != want || waitFileNow(h, "x") {
		t.Errorf("%s; want got to be %v, not waitFileNow(h, \"x\")", got, want)
	}
}

func TestAnUnansweredQuestionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(with(goal(`/tool shell {"command":"touch x"}`, "/result"), func(o *viber.TaskOptions) { o.Mode, o.ApprovalTimeoutMS = viber.AgentDecides, 3000 }))
		asked := untilType[*viber.ApprovalRequired](r)
		at := time.Now()
		resolved := untilType[*viber.ApprovalResolved](r)
		if took := time.Since(at); resolved.Outcome != viber.Expired || took < 2*time.Second || took > 4*time.Second {
			t.Errorf("after %v: %+v", took, resolved)
		}
		if got := r.completed().Result.Text; !strings.Contains(got, `"approval_timeout"`) {
			t.Errorf("got is %v; want \"\"approval_timeout\"\" in it", got)
		}
		late := h.answer(alice, yes(asked.ApprovalID))
		if late.First || late.Resolved.Outcome != viber.Expired || late.Resolved.Seq != resolved.Seq {
			t.Errorf("%+v; want not late.First, late.Resolved.Outcome to be %v, late.Resolved.Seq to be %v", late.Resolved, viber.Expired, resolved.Seq)
		}
	})
}

func TestThreeExpiriesInARowEndTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		shell := `/tool shell {"command":"touch x"}`
		quick := func(o *viber.TaskOptions) { o.Mode, o.ApprovalTimeoutMS = viber.AgentDecides, 1000 }
		r := h.submit(with(goal(shell, shell, shell, shell, "/say never"), quick))
		if e := r.failed(viber.CodeApprovalTimeout); !e.Error.Recoverable || len(ofType[*viber.ApprovalRequired](r)) != 3 {
			t.Errorf("%s; want e.Error.Recoverable, len(ofType[*viber.ApprovalRequired](r)) to be 3", r.describe())
		}
		r = h.submit(with(goal(shell, shell, shell, shell, "/say well"), quick))
		for i := range 4 {
			asked := untilType[*viber.ApprovalRequired](r)
			if i == 2 {
				h.answer(alice, no(asked.ApprovalID, "no"))
			}
		}
		if got := r.completed().Result.Text; got != "well" {
			t.Errorf("got is %v; want \"well\"", got)
		}
		r = h.submit(with(goal(shell, "/say never"), func(o *viber.TaskOptions) { quick(o); o.OnApprovalTimeout = viber.OnTimeoutFail }))
		r.failed(viber.CodeApprovalTimeout)
		if n := len(ofType[*viber.ApprovalRequired](r)); n != 1 {
			t.Errorf("%d questions", n)
		}
	})
}

func TestOfOppositeAnswersOneCounts(t *testing.T) {
	for range 10 {
		h := newHub(t, sqlite(t))
		r := h.submit(mode(goal(`/tool shell {"command":"touch x"}`, "/say done"), viber.AgentDecides))
		asked := untilType[*viber.ApprovalRequired](r)
		var mu sync.Mutex
		firsts, outcomes := 0, map[viber.Outcome]int{}
		var both sync.WaitGroup
		for _, answer := range []viber.ApprovalResponse{yes(asked.ApprovalID), no(asked.ApprovalID, "no"), yes(asked.ApprovalID)} {
			both.Go(func() {
				a, err := h.Answer(ctx, alice, &answer)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				if a.First {
					firsts++
				}
				outcomes[a.Resolved.Outcome]++
			})
		}
		both.Wait()
		if firsts != 1 || len(outcomes) != 1 {
			t.Errorf("%d first, %v", firsts, outcomes)
		}
		r.completed()
		if ran := waitFileNow(h, "x"); ran != (outcomes[viber.Approved] > 0) {
			t.Errorf("ran %v, %v", ran, outcomes)
		}
		h.stop()
	}
}

func TestWhoMayNotAnswer(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal(`/tool shell {"command":"touch x"}`, "/say done"), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	answer := func(who identity.Actor) error {
		a := yes(asked.ApprovalID)
		_, err := h.Answer(ctx, who, &a)
		return err
	}
	if err := answer(person("alice", "task:*", "approval:read")); !errors.Is(err, work.ErrForbidden) {
		t.Errorf("without approval:respond: %v", err)
	}
	if err := answer(bob); !errors.Is(err, work.ErrNoApproval) {
		t.Errorf("foreign: %v", err)
	}
	agent := alice
	agent.Person.Kind = identity.KindAgent
	if err := answer(agent); !errors.Is(err, work.ErrForbidden) {
		t.Errorf("an agent: %v", err)
	}
	for _, id := range []string{"", "nope", "a\x00b", strings.Repeat("x", 5000)} {
		a := yes(id)
		if _, err := h.Answer(ctx, alice, &a); !errors.Is(err, work.ErrNoApproval) {
			t.Errorf("%.20q: %v; want work.ErrNoApproval", id, err)
		}
	}
	r.stopTask()
}

func TestStopWhileAQuestionWaits(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal("/say hm", `/tool shell {"command":"touch x"}`), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	r.stopTask()
	r.end()
	if got := ofType[*viber.ApprovalResolved](r); len(got) != 1 || got[0].Outcome != viber.Cancelled {
		t.Errorf("%s; want len(got) to be 1, got[0].Outcome to be %v", r.describe(), viber.Cancelled)
	}
	if !strings.Contains(r.results()["call_1_1"], `"cancelled"`) {
		t.Errorf("%v; want \"\"cancelled\"\" in it", r.results())
	}
	if late := h.answer(alice, yes(asked.ApprovalID)); late.First || late.Resolved.Outcome != viber.Cancelled || waitFileNow(h, "x") {
		t.Errorf("%+v; want not late.First, late.Resolved.Outcome to be %v, not waitFileNow(h, \"x\")", late, viber.Cancelled)
	}
	if n, err := h.inbox.Waiting(ctx, "alice"); err != nil || n != 0 {
		t.Errorf("%d wait, %v", n, err)
	}
}

func TestThreeQuestionsAtOnceAnsweredInAnyOrder(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal(`/tool shell {"command":"echo 1 >> log"}`, `/and shell {"command":"echo 2 >> log"}`, `/and shell {"command":"echo 3 >> log"}`, `/and file_list {}`, "/say done"), viber.AgentDecides))
	var asked []*viber.ApprovalRequired
	for range 3 {
		asked = append(asked, untilType[*viber.ApprovalRequired](r))
	}
	r.until(func(viber.TaskEvent) bool { return r.results()["call_1_4"] != "" }) // it holds up nobody
	for _, i := range []int{1, 2, 0} {
		h.answer(alice, yes(asked[i].ApprovalID))
		id := asked[i].ToolCall.ID
		r.until(func(viber.TaskEvent) bool { return r.results()[id] != "" })
	}
	r.completed()
	if data, err := os.ReadFile(filepath.Join(h.workspace, "log")); err != nil || string(data) != "2\n3\n1\n" {
		t.Errorf("%q %v; want no error, string(data) to be \"2\\n3\\n1\\n\"", data, err)
	}
	sent := h.models.sent()
	order := []string{}
	for _, m := range sent[len(sent)-1].Messages {
		if m.CallID != "" {
			order = append(order, m.CallID)
		}
	}
	if fmt.Sprint(order) != "[call_1_1 call_1_2 call_1_3 call_1_4]" {
		t.Errorf("the model reads them as %v", order)
	}
}

func TestTheModeIsLoweredToWhatIsAllowed(t *testing.T) {
	for _, c := range []struct {
		ceiling viber.Mode
		who     identity.Actor
		asked   viber.Mode
		agent   string
		want    viber.Mode
	}{
		{"", alice, viber.AlwaysExecute, "", viber.AlwaysExecute},
		{"", person("alice", "task:*"), viber.AlwaysExecute, "", viber.AgentDecides},
		{viber.AgentDecides, alice, viber.AlwaysExecute, "", viber.AgentDecides},
		{viber.AlwaysAsk, alice, viber.AgentDecides, "", viber.AlwaysAsk},
		{viber.AgentDecides, alice, viber.AlwaysAsk, "", viber.AlwaysAsk},
		{"", alice, "", "", viber.AgentDecides},
		{"", alice, "", "asking", viber.AlwaysAsk},
		{"", alice, viber.AgentDecides, "asking", viber.AgentDecides},
	} {
		h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) { d.MaxMode = c.ceiling }))
		h.agents.put(t, "asking", "---\nmode: always_ask\n---\n")
		r := h.submitKey(c.who, "k", with(goal("/say x"), func(o *viber.TaskOptions) { o.Mode, o.Agent = c.asked, c.agent }))
		if got := untilType[*viber.TaskStarted](r).EffectiveMode; got != c.want {
			t.Errorf("%+v: %s; want %v", c, got, c.want)
		}
		r.completed()
		h.stop()
	}
}

func TestTheDenyListHoldsInEveryMode(t *testing.T) {
	for _, m := range []viber.Mode{viber.AlwaysAsk, viber.AgentDecides, viber.AlwaysExecute} {
		h := newHub(t, sqlite(t))
		r := h.submit(mode(goal(`/tool shell {"command":"echo parley-deny-selftest"}`, "/say done"), m))
		r.completed()
		if !strings.Contains(r.results()["call_1_1"], `"denied"`) || len(ofType[*viber.ApprovalRequired](r)) > 0 {
			t.Errorf("%s: %s; want \"\"denied\"\" in it, len(ofType[*viber.ApprovalRequired](r)) to be at most 0", m, r.describe())
		}
		h.stop()
	}
}

func TestAYesForTheTaskHoldsForTheSameCall(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal(`/tool shell {"command":"echo 1 >> log"}`, `/tool shell { "command": "echo 1 >> log" }`, `/tool shell {"command":"echo 2 >> log"}`, "/say done"), viber.AgentDecides))
	first := untilType[*viber.ApprovalRequired](r)
	a := yes(first.ApprovalID)
	a.Remember = viber.RememberTask
	h.answer(alice, a)
	second := untilType[*viber.ApprovalRequired](r)
	if !strings.Contains(string(second.ToolCall.Arguments), "echo 2") {
		t.Errorf("asked again about %s", second.ToolCall.Arguments)
	}
	h.answer(alice, yes(second.ApprovalID))
	r.completed()
	if data, _ := os.ReadFile(filepath.Join(h.workspace, "log")); string(data) != "1\n1\n2\n" {
		t.Errorf("%q; want string(data) to be \"1\\n1\\n2\\n\"", data)
	}
	r = h.submit(mode(goal(`/tool shell {"command":"echo 1 >> log"}`), viber.AgentDecides))
	untilType[*viber.ApprovalRequired](r) // another task asks again
	r.stopTask()
}

func TestAskUser(t *testing.T) {
	h := newHub(t, sqlite(t))
	ask := `/tool ask_user {"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]},{"question":"Why?"}]}`
	for _, m := range []viber.Mode{viber.AlwaysExecute, viber.AlwaysAsk} {
		r := h.submit(mode(goal(ask, "/result"), m))
		asked := untilType[*viber.ApprovalRequired](r)
		a := yes(asked.ApprovalID)
		a.Answers = []string{"A", "because"}
		h.answer(alice, a)
		if got := r.completed().Result.Text; got != `{"ok":true,"output":{"answers":["A","because"]}}` || asked.ToolCall.Name != "ask_user" {
			t.Errorf("%s", got)
		}
	}
	r := h.submit(goal(ask, "/result"))
	a := yes(untilType[*viber.ApprovalRequired](r).ApprovalID)
	a.Reason = "just B"
	h.answer(alice, a)
	if got := r.completed().Result.Text; got != `{"ok":true,"output":{"answers":["just B"]}}` {
		t.Errorf("%s; want \"{\"ok\":true,\"output\":{\"answers\":[\"just B\"]}}\"", got)
	}
	r = h.submit(goal(ask, "/result"))
	h.answer(alice, no(untilType[*viber.ApprovalRequired](r).ApprovalID, ""))
	if got := r.completed().Result.Text; !strings.Contains(got, `"rejected"`) {
		t.Errorf("%s; want \"\"rejected\"\" in it", got)
	}
}

func TestAToolThatWouldAskByItselfIsToldThatItNeedNot(t *testing.T) {
	var by []string
	reboot := &tool.Tool{
		Name: "reboot", Class: tool.Mutating, Asks: true,
		Run: func(_ context.Context, call tool.Call) (tool.Result, error) {
			by = append(by, call.ApprovedBy)
			return tool.Result{Text: "done"}, nil
		},
	}
	h := newHub(t, sqlite(t), withTools(reboot))
	r := h.submit(mode(goal(`/tool reboot {"machine":"pc"}`, `/tool reboot {"machine":"pc"}`, "/say x"), viber.AgentDecides))
	a := yes(untilType[*viber.ApprovalRequired](r).ApprovalID)
	a.Remember = viber.RememberTask
	h.answer(alice, a)
	r.completed()
	h.submit(mode(goal(`/tool reboot {"machine":"pc"}`, "/say x"), viber.AlwaysExecute)).completed()
	if fmt.Sprint(by) != "[person:alice person:alice ]" {
		t.Errorf("%q; want fmt.Sprint(by) to be \"[person:alice person:alice ]\"", by)
	}
}

func TestSomeCallsNeedSeveralPeople(t *testing.T) {
	h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) {
		d.Rules = judge.Rules{{Class: "sensitive", Need: judge.Need{Quorum: 2, Policy: approval.Policy{People: []string{"bob", "carol"}}}}}
	}))
	r := h.submit(mode(goal(`/tool shell {"command":"touch x"}`, "/say done"), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	list, err := h.Approvals(ctx, bob)
	if err != nil || len(list) != 1 || list[0].Seq != asked.Seq {
		t.Fatalf("bob sees %+v, %v", list, err)
	}
	first := h.answer(alice, yes(asked.ApprovalID))
	if first.First || first.Missing != 1 || first.Required == nil || first.Resolved != nil {
		t.Errorf("%+v; want not first.First, first.Missing to be 1, first.Required not to be nil, first.Resolved to be nil", first)
	}
	if again := h.answer(alice, yes(asked.ApprovalID)); again.Missing != 1 {
		t.Errorf("one person counts twice: %+v", again)
	}
	if second := h.answer(bob, yes(asked.ApprovalID)); !second.First {
		t.Errorf("%+v; want second.First", second)
	}
	r.completed()
	if !waitFileNow(h, "x") {
		t.Error("it did not run")
	}
}

func TestASkillNarrowsTheTools(t *testing.T) {
	h := newHub(t, sqlite(t), withSkills(skillfile.Skill{Name: "reader", Description: "reads", Body: "Only read.", AllowedTools: []string{"file_read", "file_list"}}))
	r := h.submit(goal(`/tool file_write {"path":"a","content":"1"}`, `/tool skill {"name":"reader"}`, `/tool file_write {"path":"b","content":"1"}`, `/tool file_list {}`, "/say done"))
	r.completed()
	results := r.results()
	if !waitFileNow(h, "a") || waitFileNow(h, "b") || !strings.Contains(results["call_3_1"], `"denied"`) || !strings.Contains(results["call_4_1"], `"ok":true`) {
		t.Errorf("%v; want waitFileNow(h, \"a\"), not waitFileNow(h, \"b\"), \"\"denied\"\" in it, \"\"ok\":true\" in it", results)
	}
	if sent := h.models.sent(); !strings.Contains(sent[0].System, "- reader: reads") {
		t.Error("the prompt does not tell of the skill")
	}
}

// A tool whose own record tells of every call hears of the no that a task was told in its
// place. Before, a person's no to a machine stood nowhere but in the task.
func TestAToolHearsOfTheNoATaskWasTold(t *testing.T) {
	heard := make(chan tool.Call, 2)
	reboot := &tool.Tool{
		Name: "reboot", Class: tool.Mutating, Asks: true, Declined: func(call tool.Call, why error) {
			if tool.TypeOf(why) == tool.Rejected {
				heard <- call
			}
		},
		Run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "done"}, nil },
	}
	h := newHub(t, sqlite(t), withTools(reboot))
	r := h.submit(mode(goal(`/tool reboot {"machine":"pc"}`, `/tool reboot {"machine":"lab"}`, "/say x"), viber.AgentDecides))
	h.answer(alice, no(untilType[*viber.ApprovalRequired](r).ApprovalID, "not now"))
	h.answer(alice, yes(untilType[*viber.ApprovalRequired](r).ApprovalID))
	r.completed()
	if len(heard) != 1 {
		t.Fatalf("the tool heard of %d calls that may not run, want one", len(heard))
	}
	if call := <-heard; string(call.Arguments) != `{"machine":"pc"}` || call.Actor.Person.ID != "alice" {
		t.Errorf("it heard of %s for %s, want the call that alice declined", call.Arguments, call.Actor.Person.ID)
	}
}

// The trail says by which token a tool was used in a task.
func TestAToolOfATaskIsInTheTrailWithItsToken(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.submit(goal("/tool file_list {}", "/say x")).completed()
	used := h.trail.of(audit.TaskTool)
	if len(used) != 1 || used[0].Detail["token"] != "tok_alice" || used[0].OnBehalf != "person:alice" {
		t.Errorf("the trail has %+v, want the call once, for alice, by her token", used)
	}
}

// A task asked about a call that could not run whatever the answer was.
func TestATaskAsksNobodyAboutWhatIsRefusedAnyway(t *testing.T) {
	reboot := &tool.Tool{
		Name: "reboot", Class: tool.Mutating, Asks: true, Refuses: func(context.Context, tool.Call) error { return tool.Errorf(tool.Permission, "not your machine") },
		Run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "done"}, nil },
	}
	h := newHub(t, sqlite(t), withTools(reboot))
	r := h.submit(mode(goal(`/tool reboot {"machine":"pc"}`, "/result"), viber.AlwaysAsk))
	if asked := ended(r); asked != nil {
		t.Fatalf("asked about %s %s, which would be refused after a yes, too", asked.ToolCall.Name, asked.ToolCall.Arguments)
	}
	if got := r.results()["call_1_1"]; !strings.Contains(got, "not your machine") {
		t.Errorf("the model was told %s, want the refusal", got)
	}
}
