package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

var ctx = context.Background()

func TestATaskStartsStreamsAndCompletes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		r := h.submitKey(alice, "my-key\x00", goal("/say Hello there. And \U0001F41F more.", "/usage 10 4"))
		started := untilType[*viber.TaskStarted](r)
		if started.Seq != 1 || started.IdempotencyKey != "my-key\x00" || started.Attempt != 1 || started.Agent != "parley" || started.EffectiveMode != viber.AlwaysExecute {
			t.Errorf("%+v", started)
		}
		done := r.completed()
		if done.Result.Text != "Hello there. And \U0001F41F more." || done.Result.Summary != "Hello there." || r.text() != done.Result.Text {
			t.Errorf("%+v, deltas %q", done.Result, r.text())
		}
		if done.Usage.PromptTokens != 10 || done.Usage.CompletionTokens != 4 || done.Usage.TotalTokens != 14 || done.Turns != 1 {
			t.Errorf("%+v", done)
		}
		for i, ev := range r.events {
			if ev.Ref().Seq != int64(i+1) || ev.Ref().TaskID != r.id || ev.Ref().Turn != 1 {
				t.Errorf("event %d: %+v", i, ev.Ref())
			}
		}
		ends := 0
		for ev, err := range h.Events(ctx, alice, r.id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if viber.Ends(ev) {
				ends++
			} else if ends > 0 {
				t.Errorf("%s follows the end", ev.Type())
			}
		}
		if ends != 1 {
			t.Errorf("%d ends", ends)
		}
		h.Drain(ctx) // the end is seen before it is in the trail
		for _, action := range []audit.Action{audit.TaskSubmitted, audit.TaskEnded} {
			if len(h.trail.of(action)) != 1 {
				t.Errorf("%d entries of %s", len(h.trail.of(action)), action)
			}
		}
	})
}

func TestWithoutStreamDeltasThereAreNoneAndTheTextIsTheSame(t *testing.T) {
	h := newHub(t, sqlite(t))
	s := with(goal("/say one two", `/tool file_list {}`, "/say three"), func(o *viber.TaskOptions) { o.StreamDeltas = false })
	r := h.submit(s)
	done := r.completed()
	if done.Result.Text != "one twothree" || len(ofType[*viber.TaskDelta](r)) > 0 {
		t.Errorf("%q: %s", done.Result.Text, r.describe())
	}
	for i, ev := range r.events {
		if ev.Ref().Seq != int64(i+1) {
			t.Errorf("a hole at %d: %s", i, r.describe())
		}
	}
}

func TestFragmentsJoinToWhatRunsAndTheResultFollowsItsCall(t *testing.T) {
	var e echo
	h := newHub(t, sqlite(t), withTools(e.tool("echo", 1, nil)))
	long := strings.Repeat("ä", 6000)
	args := fmt.Sprintf(`{"text":%q}`, long)
	r := h.submit(goal("/say Calling.", "/tool echo "+args, "/result"))
	r.completed()
	var joiner viber.ArgumentJoiner[string]
	seenResult := false
	for _, d := range ofType[*viber.TaskDelta](r) {
		if d.ToolCall != nil {
			if seenResult {
				t.Error("a fragment after the result")
			}
			if err := joiner.Add(d.ToolCall.ID, d.ToolCall.ID, d.ToolCall.Name, d.ToolCall.Arguments); err != nil {
				t.Fatal(err)
			}
		}
		seenResult = seenResult || d.ToolResult != nil
	}
	calls := joiner.Calls()
	if len(calls) != 1 || calls[0].Arguments != args || !seenResult {
		t.Fatalf("%d calls, result %v", len(calls), seenResult)
	}
	if got := e.made(); len(got) != 1 || got[0] != "echo"+args {
		t.Errorf("ran %q", got)
	}
}

func TestUsageSumsAllModelCalls(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/usage 10 2", "/cost 0.5", "/tool file_list {}", "/usage 5 3", "/cost 0.25", "/say done"))
	done := r.completed()
	if done.Usage.PromptTokens != 15 || done.Usage.CompletionTokens != 5 || done.Usage.TotalTokens != 20 || *done.Usage.CostUSD != 0.75 {
		t.Errorf("%+v", done.Usage)
	}
	last := int64(0)
	for _, p := range ofType[*viber.TaskProgress](r) {
		if *p.TokensUsed < last {
			t.Errorf("tokens fell: %s", r.describe())
		}
		last = *p.TokensUsed
	}
}

func TestTheSameKeyWhileItRunsJoinsAndDisturbsNothing(t *testing.T) {
	h := newHub(t, sqlite(t))
	s := goal("/say waiting", "/sleep 60000", "/say never")
	r := h.submitKey(alice, "k", s)
	r.untilText("waiting")
	again, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "k", Submit: s})
	if err != nil || !again.Running || again.TaskID != r.id || again.Stream == nil {
		t.Fatalf("%+v, %v", again, err)
	}
	second := h.follow(again.Stream)
	if got := len(h.models.sent()); got != 1 {
		t.Errorf("%d model calls", got)
	}
	r.stopTask()
	end, ok := second.end().(*viber.TaskStopped)
	if !ok || end.PartialResult.Text != "waiting" {
		t.Errorf("the one who joined saw %s", second.describe())
	}
	if len(second.events) != 1 {
		t.Errorf("it saw more than what came then: %s", second.describe())
	}
	if _, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "k", Submit: goal("/say other")}); !errors.Is(err, work.ErrConflict) {
		t.Errorf("another body: %v", err)
	}
}

func TestAFinishedKeyGivesTheSameEndAndCallsNoModel(t *testing.T) {
	h := newHub(t, sqlite(t))
	s := goal("/say the result")
	r := h.submitKey(alice, "k", s)
	done := r.completed()
	again, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "k", Submit: s})
	if err != nil || again.TaskID != r.id || len(again.Replay) != 2 {
		t.Fatalf("%+v, %v", again, err)
	}
	started, _ := again.Replay[0].(*viber.TaskStarted)
	if started == nil || !started.Replayed || !started.StartedAt.Equal(r.events[0].(*viber.TaskStarted).StartedAt.Time) || started.TaskID != r.id {
		t.Errorf("%+v", again.Replay[0])
	}
	if diff := cmp.Diff(done, again.Replay[1]); diff != "" {
		t.Errorf("another end: %s", diff)
	}
	if n := len(h.models.sent()); n != 1 {
		t.Errorf("%d model calls", n)
	}
	if _, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "k", Submit: goal("/say something else")}); !errors.Is(err, work.ErrConflict) {
		t.Errorf("%v", err)
	}
}

func TestAnotherPersonsKeyIsAnotherKey(t *testing.T) {
	h := newHub(t, sqlite(t))
	a := h.submitKey(alice, "k", goal("/say one"))
	b := h.submitKey(bob, "k", goal("/say two"))
	if a.id == b.id {
		t.Error("one task for two people")
	}
	if a.completed().Result.Text != "one" || b.completed().Result.Text != "two" {
		t.Error("mixed up")
	}
}

func TestARecoverableFailureFreesTheKey(t *testing.T) {
	h := newHub(t, sqlite(t))
	for attempt := 1; attempt <= 3; attempt++ {
		r := h.submitKey(alice, "k", goal("/fail 500 broken", fmt.Sprintf("/say attempt %d", attempt)))
		if got := untilType[*viber.TaskStarted](r).Attempt; got != attempt {
			t.Errorf("attempt %d counts as %d", attempt, got)
		}
		if e := r.failed(viber.CodeProviderError); !e.Error.Recoverable || e.PartialResult == nil {
			t.Errorf("%+v", e)
		}
	}
	s := goal("/fail 400 no")
	if e := h.submitKey(alice, "final", s).failed(viber.CodeProviderError); e.Error.Recoverable {
		t.Errorf("%+v", e.Error)
	}
	again, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "final", Submit: s})
	if err != nil || len(again.Replay) != 2 {
		t.Errorf("a failure for good is kept: %+v %v", again, err)
	}
}

func TestOfManySubmitsAtOnceOneRuns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		s := goal("/say only once")
		var mu sync.Mutex
		made, ids := 0, map[string]bool{}
		var all sync.WaitGroup
		for range 24 {
			all.Go(func() {
				sub, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "same", Submit: s})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[sub.TaskID] = true
				if !sub.Running && sub.Replay == nil {
					made++
				}
			})
		}
		all.Wait()
		if made != 1 || len(ids) != 1 {
			t.Errorf("%d runs, ids %v", made, ids)
		}
		list, err := h.List(ctx, alice, viber.TaskList{})
		if err != nil || len(list.Tasks) != 1 {
			t.Errorf("%+v %v", list, err)
		}
	})
}

func TestWhatCannotBeDoneIsRefusedAndTheKeyStaysUnused(t *testing.T) {
	h := newHub(t, sqlite(t))
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(h.workspace, "away")); err != nil {
		t.Fatal(err)
	}
	refuse := func(name string, want viber.Reason, change func(*viber.TaskSubmit)) {
		t.Helper()
		s := goal("/say x")
		change(s)
		_, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "k", Submit: s})
		if v, ok := errors.AsType[*viber.Violation](err); !ok || v.Reason != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	artifact := func(ref string) func(*viber.TaskSubmit) {
		return func(s *viber.TaskSubmit) { s.Artifacts = []viber.Artifact{{ID: "a", Ref: ref}} }
	}
	refuse("agent", viber.ReasonUnknownAgent, func(s *viber.TaskSubmit) { s.Options.Agent = "nobody" })
	refuse("absolute", viber.ReasonBadArtifact, artifact("/etc/passwd"))
	refuse("dots", viber.ReasonBadArtifact, artifact("a/../../x"))
	refuse("link", viber.ReasonBadArtifact, artifact("away/x"))
	s := goal("/say fine")
	s.Artifacts = []viber.Artifact{{ID: "a", Ref: "notes/todo.md"}, {ID: "b", Ref: filepath.Join(h.workspace, "x")}, {ID: "c", Ref: "https://example.org/x"}}
	if got := h.submitKey(alice, "k", s).completed().Result.Text; got != "fine" {
		t.Error(got)
	}
}

func TestStopKeepsTheTextAndSaysItOnce(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say so far", "/sleep 600000", "/say never"))
	r.untilText("so far")
	first, err := h.Stop(ctx, alice, r.id, "enough")
	if err != nil || first.Again || first.Event.PartialResult.Text != "so far" || first.Event.Reason != "enough" || first.Event.By != "person:alice" {
		t.Fatalf("%+v %+v %v", first, first.Event, err)
	}
	end, ok := r.end().(*viber.TaskStopped)
	if !ok || end.Seq != first.Event.Seq || end.Usage == nil {
		t.Fatalf("%s", r.describe())
	}
	again, err := h.Stop(ctx, alice, r.id, "")
	if err != nil || !again.Again || cmp.Diff(end, again.Event) != "" {
		t.Errorf("%+v %v", again, err)
	}
	if _, err := h.Stop(ctx, alice, "01890000-0000-7000-8000-000000000000", ""); !errors.Is(err, work.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := h.Stop(ctx, bob, r.id, ""); !errors.Is(err, work.ErrNotFound) {
		t.Errorf("foreign: %v", err)
	}
	done := h.submit(goal("/say x"))
	done.completed()
	if _, err := h.Stop(ctx, alice, done.id, ""); !errors.Is(err, work.ErrFinished) {
		t.Errorf("finished: %v", err)
	}
}

func TestStopEndsTheProcessesOfARunningTool(t *testing.T) {
	h := newHub(t, sqlite(t))
	mark := filepath.Join(h.workspace, "mark")
	r := h.submit(goal(`/tool shell {"command":"echo $$ > mark; sleep 300 & wait"}`, "/say no"))
	r.until(func(viber.TaskEvent) bool {
		_, err := os.Stat(mark)
		return err == nil || len(r.results()) > 0 || waitFile(mark)
	})
	stopped := r.stopTask()
	r.end()
	results := r.results()
	if len(results) != 1 || !strings.Contains(results["call_1_1"], `"cancelled"`) {
		t.Errorf("results %v", results)
	}
	if stopped.PartialResult == nil {
		t.Error("no partial result")
	}
	pid, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	waitGone(t, strings.TrimSpace(string(pid)))
}

// waitFile waits a while for a file.
func waitFile(name string) bool {
	for range 500 {
		if data, err := os.ReadFile(name); err == nil && len(data) > 0 {
			return true
		}
		<-time.After(10 * time.Millisecond)
	}
	return false
}

func waitGone(t *testing.T, pid string) {
	t.Helper()
	for range 1000 {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Errorf("process %s lives on", pid)
}

func TestTimeTokensAndStepsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(with(goal("/say begun", "/sleep 60000"), func(o *viber.TaskOptions) { o.TimeoutMS = 5000 }))
		began := time.Now()
		e := r.failed(viber.CodeTimeout)
		if took := time.Since(began); !e.Error.Recoverable || e.PartialResult.Text != "begun" || e.Usage == nil || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("after %v: %+v", took, e)
		}
		r = h.submit(with(goal("/say one two three four five six"), func(o *viber.TaskOptions) { o.MaxTokens = 3 }))
		if e := r.failed(viber.CodeMaxTokens); !e.Error.Recoverable || strings.TrimSpace(e.PartialResult.Text) != "one two three" {
			t.Errorf("%+v %q", e.Error, e.PartialResult.Text)
		}
		r = h.submit(with(goal("/usage 1 4", "/tool file_list {}", "/usage 1 4", "/tool file_list {}", "/say x"), func(o *viber.TaskOptions) { o.MaxTokens = 8 }))
		if e := r.failed(viber.CodeMaxTokens); e.Usage.CompletionTokens != 8 {
			t.Errorf("%+v", e)
		}
		if got := h.models.sent(); got[len(got)-1].MaxOutput != 4 {
			t.Errorf("the second call may use %d", got[len(got)-1].MaxOutput)
		}
		var loop []string
		for range 10 {
			loop = append(loop, "/tool file_list {}")
		}
		r = h.submit(with(goal(loop...), func(o *viber.TaskOptions) { o.MaxSteps = 4 }))
		before := len(h.models.sent())
		r.failed(viber.CodeMaxSteps)
		if n := len(h.models.sent()) - before; n > 4 {
			t.Errorf("%d model calls", n)
		}
	})
}

func TestProviderFailures(t *testing.T) {
	for _, c := range []struct {
		line  string
		code  viber.Code
		calls int
		again bool
	}{
		{"/fail 500 oops", viber.CodeProviderError, 3, true},
		{"/fail 429", viber.CodeProviderError, 3, true},
		{"/fail 400 bad", viber.CodeProviderError, 1, false},
		{"/fail 401", viber.CodeProviderError, 1, false},
		{"/fail nothing of sense", viber.CodeProviderError, 1, true},
		{"/fail context", viber.CodeContextOverflow, 1, false},
	} {
		h := newHub(t, sqlite(t))
		e := h.submit(goal(c.line)).failed(c.code)
		if got := len(h.models.sent()); got != c.calls || e.Error.Recoverable != c.again || e.Error.Suggestion == "" {
			t.Errorf("%s: %d calls, %+v", c.line, got, e.Error)
		}
		h.stop()
	}
	h := newHub(t, sqlite(t))
	if got := h.submit(goal("/fail-once 500", "/say well")).completed().Result.Text; got != "well" {
		t.Error(got)
	}
}

func TestThePolicyOfRetriesIsTheTasksOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) { d.Calls.Attempts = 0 }))
		began := time.Now()
		h.submit(goal("/fail 500")).failed(viber.CodeProviderError)
		if took := time.Since(began); took < 1500*time.Millisecond || took > 4*time.Second {
			t.Errorf("three attempts took %v", took)
		}
	})
}

func TestEverythingSentReachesTheModel(t *testing.T) {
	h := newHub(t, sqlite(t))
	s := goal("/context")
	s.Memory = "likes tea"
	s.Plan = &viber.Plan{Steps: &viber.StructuredPlan{Goal: "brew", Steps: []viber.PlanStep{
		{ID: "s1", Title: "boil", Status: viber.StepCompleted}, {ID: "s2", Title: "pour", Status: viber.StepPending},
	}}}
	s.Artifacts = []viber.Artifact{{ID: "a1", Title: "Kettle", Ref: "kettle.md", Type: viber.ArtifactFile}}
	s.Messages = []viber.ChatMessage{
		{Role: viber.RoleUser, Content: "hello"},
		{Role: viber.RoleAssistant, Content: "let me look", ToolCalls: []viber.ToolCall{{ID: "c1", Name: "look", Arguments: jsontext.Value(`{"at":"tea"}`)}}},
		{Role: viber.RoleUser, ToolResults: []viber.ChatToolResult{{ToolCallID: "c1", Result: jsontext.Value(`{"leaves":3}`)}}},
		{Role: viber.RoleAssistant, Content: "three leaves"},
	}
	r := h.submit(s)
	var given struct {
		System  string
		History []struct {
			Role, Content, Name string
			ToolCalls           []struct{ Name, Arguments string } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(r.completed().Result.Text), &given); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"You are Parley.", "<memory>\nlikes tea", "[completed] s1: boil", "[pending] s2: pour", "a1 · file · Kettle · kettle.md"} {
		if !strings.Contains(given.System, want) {
			t.Errorf("the system text lacks %q:\n%s", want, given.System)
		}
	}
	var roles []string
	for _, m := range given.History {
		roles = append(roles, m.Role+":"+m.Content)
	}
	want := []string{"user:hello", "assistant:let me look", `tool:{"leaves":3}`, "assistant:three leaves", "user:/context"}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
	if p := ofType[*viber.TaskProgress](r); len(p) == 0 || p[0].CurrentStep != "s2" {
		t.Errorf("current step: %s", r.describe())
	}
	s = goal("/context")
	s.Messages = []viber.ChatMessage{{Role: viber.RoleUser, Content: "/context"}}
	h.submit(s).completed()
	sent := h.models.sent()
	if last := sent[len(sent)-1]; len(last.Messages) != 1 {
		t.Errorf("the goal is doubled: %+v", last.Messages)
	}
}

func TestThePlanTellsHowFarTheTaskIs(t *testing.T) {
	h := newHub(t, sqlite(t))
	s := goal(`/tool plan_update {"step":"a","status":"completed"}`, `/tool plan_update {"step":"nope","status":"completed"}`, "/say done")
	s.Plan = &viber.Plan{Steps: &viber.StructuredPlan{Goal: "g", Steps: []viber.PlanStep{{ID: "a", Title: "First", Status: viber.StepInProgress}, {ID: "b", Title: "Then", Status: viber.StepPending}}}}
	r := h.submit(s)
	done := r.completed()
	if done.Result.PlanUpdates != "- [x] a: First" {
		t.Errorf("%q", done.Result.PlanUpdates)
	}
	if !strings.Contains(r.results()["call_2_1"], "not_found") {
		t.Errorf("%v", r.results())
	}
	steps := []string{}
	for _, p := range ofType[*viber.TaskProgress](r) {
		steps = append(steps, p.CurrentStep)
	}
	if !slices.Contains(steps, "a") || steps[len(steps)-1] != "b" {
		t.Errorf("%v", steps)
	}
	snap, err := h.Snapshot(ctx, alice, r.id)
	if err != nil || snap.Plan.Steps.Steps[0].Status != viber.StepCompleted {
		t.Errorf("%+v %v", snap, err)
	}
}

func TestFilesATaskMadeComeBack(t *testing.T) {
	h := newHub(t, sqlite(t))
	started := make(chan string, 1)
	h.models.play = func(_ context.Context, req model.Request, yield func(model.Event, error) bool) bool {
		if len(req.Messages) > 1 {
			return false
		}
		dir := strings.Fields(req.System[strings.Index(req.System, "artifacts/"):])[0]
		started <- dir
		yield(model.Event{Kind: model.CallDelta, ID: "w", Name: "file_write", Arguments: `{"path":"` + dir + `/out/report.txt","content":"42"}`}, nil)
		yield(model.Event{Kind: model.Done, Finish: model.FinishCalls}, nil)
		return true
	}
	r := h.submit(goal("/say here it is"))
	done := r.completed()
	want := []viber.Artifact{{ID: "out/report.txt", Title: "report.txt", Type: viber.ArtifactFile, Ref: "artifacts/" + r.id + "/out/report.txt"}}
	if diff := cmp.Diff(want, done.Result.ArtifactRefs); diff != "" {
		t.Fatal(diff)
	}
	f, err := h.Artifact(ctx, alice, r.id, "out/report.txt")
	if err != nil || f.Size != 2 {
		t.Fatalf("%+v %v", f, err)
	}
	_ = f.Close()
	for _, name := range []string{"../../x", "..", ".", "", "/etc/passwd", "out", "none", "out/../out/report.txt"} {
		if _, err := h.Artifact(ctx, alice, r.id, name); !errors.Is(err, work.ErrNoArtifact) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := h.Artifact(ctx, bob, r.id, "out/report.txt"); !errors.Is(err, work.ErrNotFound) {
		t.Errorf("foreign: %v", err)
	}
}

func TestTooManyTasksAreRefusedAndTheKeyStaysUsable(t *testing.T) {
	h := newHub(t, sqlite(t), withLimits(work.Limits{RunningPerPrincipal: 8}))
	var runs []*run
	for range 8 {
		runs = append(runs, h.submit(goal("/say on", "/sleep 600000")))
	}
	_, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "ninth", Submit: goal("/say ninth")})
	if l, ok := errors.AsType[*work.LimitError](err); !ok || l.Reason != viber.ReasonTooManyTasks || l.RetryAfter != time.Second {
		t.Fatalf("%v", err)
	}
	h.submitKey(bob, "ninth", goal("/say bob's")).completed()
	runs[3].stopTask()
	if got := h.submitKey(alice, "ninth", goal("/say ninth")).completed().Result.Text; got != "ninth" {
		t.Error(got)
	}
	if ids, err := h.Running(ctx, alice); err != nil || len(ids) != 7 {
		t.Errorf("%v %v", ids, err)
	}
}

func TestSubmitsAreBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withLimits(work.Limits{SubmitsPerMinute: 60, SubmitBurst: 2}))
		s := goal("/say x")
		h.submitKey(alice, "a", s).completed()
		for range 5 { // a repeat makes no task and costs nothing
			if _, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "a", Submit: s}); err != nil {
				t.Fatal(err)
			}
		}
		h.submitKey(alice, "b", s).completed()
		_, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "c", Submit: s})
		l, ok := errors.AsType[*work.LimitError](err)
		if !ok || l.RetryAfter <= 0 || l.RetryAfter > time.Second {
			t.Fatalf("%v", err)
		}
		<-time.After(l.RetryAfter)
		h.submitKey(alice, "c", s).completed()
	})
}

func TestProgressComesAtLeastEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(goal("/sleep 35000", "/tool file_list {}", "/say done"))
		last := time.Now()
		for ev := r.read(); ev != nil; ev = r.read() {
			if gap := time.Since(last); gap > 10*time.Second+50*time.Millisecond {
				t.Errorf("%v of silence before %s", gap, ev.Type())
			}
			last = time.Now()
		}
		words := map[viber.Phase]bool{}
		for _, p := range ofType[*viber.TaskProgress](r) {
			words[p.Status] = true
		}
		if len(ofType[*viber.TaskProgress](r)) < 5 || !words[viber.Planning] || !words[viber.Executing] || !words[viber.Verifying] || len(words) != 3 {
			t.Errorf("%v: %s", words, r.describe())
		}
	})
}

func TestAnExclusiveTaskHasTheWorkspaceForItself(t *testing.T) {
	h := newHub(t, sqlite(t))
	exclusive := func(lines ...string) *viber.TaskSubmit {
		return with(goal(lines...), func(o *viber.TaskOptions) { o.Exclusive = true })
	}
	first := h.submit(exclusive("/say mine", "/sleep 600000"))
	first.untilText("mine")
	second := h.submit(exclusive("/say mine now"))
	second.until(func(ev viber.TaskEvent) bool {
		p, ok := ev.(*viber.TaskProgress)
		return ok && strings.Contains(p.Message, "workspace")
	})
	h.submit(goal("/say I need no lock")).completed()
	if n := len(h.models.sent()); n != 2 {
		t.Errorf("%d model calls", n)
	}
	first.stopTask()
	if got := second.completed().Result.Text; got != "mine now" {
		t.Error(got)
	}
}

func TestBadCallsGetAResultWithoutRunning(t *testing.T) {
	var e echo
	h := newHub(t, sqlite(t), withTools(e.tool("echo", 1, nil)))
	h.models.play = func(_ context.Context, req model.Request, yield func(model.Event, error) bool) bool {
		if len(req.Messages) > 1 {
			return false
		}
		for i, args := range []string{`{"a":`, `[1]`, `"x"`, `{"a":1}{}`, "", "\xff"} {
			yield(model.Event{Kind: model.CallDelta, Index: i, ID: "same", Name: "echo", Arguments: args}, nil)
		}
		yield(model.Event{Kind: model.CallDelta, Index: 9, ID: "same", Name: "no_such_tool", Arguments: "{}"}, nil)
		yield(model.Event{Kind: model.Done, Finish: model.FinishCalls}, nil)
		return true
	}
	r := h.submit(goal("/say ok"))
	r.completed()
	results := r.results()
	if len(results) != 7 {
		t.Fatalf("%v", results)
	}
	validation := 0
	for _, text := range results {
		if strings.Contains(text, `"validation"`) {
			validation++
		}
	}
	if validation != 5 || len(e.made()) != 1 {
		t.Errorf("%v, ran %v", results, e.made())
	}
}

func TestALargeResultIsCutInTheDelta(t *testing.T) {
	h := newHub(t, sqlite(t))
	big := strings.Repeat("x\n\"", 60000)
	if err := os.WriteFile(filepath.Join(h.workspace, "big.txt"), []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	r := h.submit(goal(`/tool file_read {"path":"big.txt"}`, "/say ok"))
	r.completed()
	for _, d := range ofType[*viber.TaskDelta](r) {
		if d.ToolResult != nil && (!d.Truncated || len(d.ToolResult.Result) > viber.MaxToolResult || !d.ToolResult.Result.IsValid()) {
			t.Errorf("%v %d", d.Truncated, len(d.ToolResult.Result))
		}
	}
	sent := h.models.sent()
	if got := sent[len(sent)-1].Messages; len(got[2].Text) < 100_000 || !strings.Contains(got[2].Text, `"untrusted"`) {
		t.Errorf("the model got %d bytes", len(got[2].Text))
	}
}
