package talk_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/workspace"
)

func TestATurnStartsSpeaksAndEnds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		got := h.say("/say Hello there")
		if diff := cmp.Diff([]talk.Kind{talk.Start, talk.Segment, talk.Chunk, talk.Chunk, talk.Segment, talk.RoundUsage, talk.End}, got.kinds()); diff != "" {
			t.Error(diff)
		}
		end := got.end(t)
		if got.text() != "Hello there" || got[0].Agent != "crab" || end.Agent != "crab" || end.Error != "" || end.Stop != brain.StopDone || end.Provider != "offline" || end.Model != "offline" {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff([]string{"user /say Hello there", "assistant Hello there"}, h.stored(crab)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRefusedTurnsStoreNothing(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.agents.put(t, "shy", "---\nsenders: [bob, \"tg:*\"]\n---\n")
	for name, tt := range map[string]struct {
		who  identity.Actor
		req  talk.TurnRequest
		want error
		text string
	}{
		"unknown agent":     {me, talk.TurnRequest{Key: talk.Key{Agent: "ghost"}}, talk.ErrNoAgent, "ghost"},
		"bad agent name":    {me, talk.TurnRequest{Key: talk.Key{Agent: "Crab"}}, talk.ErrBadRequest, "Crab"},
		"somebody else":     {me, talk.TurnRequest{Key: talk.Key{Agent: "crab", Sender: "bob"}}, talk.ErrForbidden, "bob"},
		"outside a prefix":  {identity.Actor{Scopes: identity.Expand("talk:sender:tg:*")}, talk.TurnRequest{Key: talk.Key{Agent: "crab", Sender: "tx:1"}}, talk.ErrForbidden, "tx:1"},
		"agent's own list":  {me, talk.TurnRequest{Key: talk.Key{Agent: "shy"}}, talk.ErrForbidden, "shy"},
		"too large":         {me, talk.TurnRequest{Key: crab, Content: strings.Repeat("x", 8<<20+1)}, talk.ErrTooLarge, "bytes"},
		"not UTF-8":         {me, talk.TurnRequest{Key: crab, Content: "\xff"}, talk.ErrBadRequest, "UTF-8"},
		"control character": {me, talk.TurnRequest{Key: talk.Key{Agent: "crab", Thread: "a\x00"}}, talk.ErrBadRequest, "thread"},
		"unknown mode":      {me, talk.TurnRequest{Key: crab, Mode: 9}, talk.ErrBadRequest, "mode"},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := h.Turn(t.Context(), tt.who, tt.req)
			if run != nil || !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), tt.text) {
				t.Errorf("%v, %v; want run to be nil, %v, strings.Contains(fmt.Sprint(err), tt.text)", run, err, tt.want)
			}
		})
	}
	if list, err := h.List(t.Context(), anybody, talk.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%v, %v; want no error, len(list) to be 0", list, err)
	}
}

func TestUsageIsTheSumOfTheReportedRounds(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	got := h.say("/tool echo {}\n/tool echo {\"a\":1}\n/say done now")
	var sum model.Usage
	for _, ev := range got.of(talk.RoundUsage) {
		sum = sum.Add(*ev.Usage)
	}
	if end := got.end(t); *end.Usage != sum || sum.Rounds != 3 || sum.Total() == 0 {
		t.Errorf("end %+v, rounds %+v", *end.Usage, sum)
	}
}

func TestChunksEqualTheStoredTextByteForByte(t *testing.T) {
	h := newHub(t, sqlite(t))
	long := strings.Repeat("漢字 and 👍 \t  <b> \u2028é ", 500_000/30)
	got := h.say("/say " + long)
	if got.text() != long {
		t.Errorf("%d bytes of %d", len(got.text()), len(long))
	}
	if list := h.stored(crab); strings.TrimPrefix(list[1], "assistant ") != strings.TrimSpace(long) {
		t.Error("the stored text differs")
	}
}

// A provider may cut anywhere; wires carry UTF-8 only.
func TestChunksAreCutAtCharacters(t *testing.T) {
	h := newHub(t, sqlite(t))
	word := "a漢字👍\xffz"
	h.models.playing(func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) bool {
		for _, kind := range []model.Kind{model.Thinking, model.Text} {
			for i := range len(word) {
				yield(model.Event{Kind: kind, Text: word[i : i+1]}, nil)
			}
		}
		yield(model.Event{Kind: model.Done, Finish: model.FinishStop}, nil)
		return true
	})
	got := h.say("x")
	thought := ""
	for _, ev := range got.of(talk.Thinking) {
		thought += ev.Text
	}
	want := "a漢字👍\uFFFDz"
	if got.text() != want || thought != want {
		t.Errorf("text %q, thinking %q", got.text(), thought)
	}
	for _, ev := range got {
		if strings.ToValidUTF8(ev.Text, "") != ev.Text {
			t.Errorf("%q is not UTF-8", ev.Text)
		}
	}
	if list := h.stored(crab); list[1] != "assistant "+want {
		t.Errorf("stored %q", list[1])
	}
}

func TestToolEventsComeInOrderAndHistoryInCallOrder(t *testing.T) {
	first, second := newGate(), newGate()
	h := newHub(t, sqlite(t), withTools(first.tool("echo"), second.tool("slow")))
	run := h.begin(talk.TurnRequest{Content: "/say looking\n/tool echo {\"n\":1}\n/and slow {\"n\":2}\n/say done"})
	<-first.called
	<-second.called
	second.open <- struct{}{}
	before := until(t, run, talk.ToolResult)
	first.open <- struct{}{}
	got := slices.Concat(before, all(t, run))
	var shape []string
	for _, ev := range got {
		switch ev.Kind {
		case talk.ToolStart:
			names := ""
			for _, c := range ev.Calls {
				names += c.Name + c.Arguments
			}
			shape = append(shape, "start "+names)
		case talk.ToolResult:
			shape = append(shape, "result "+ev.Result.Name)
		case talk.ToolsComplete:
			shape = append(shape, "complete")
		}
	}
	want := []string{"start echo", "start slow", `start echo{"n":1}slow{"n":2}`, "result slow", "result echo", "complete"}
	if diff := cmp.Diff(want, shape); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"user /say looking\n/tool echo {\"n\":1}\n/and slow {\"n\":2}\n/say done",
		"assistant looking [echo] [slow]", "tool opened", "tool opened", "assistant done",
	}, h.stored(crab)); diff != "" {
		t.Error(diff)
	}
}

func TestThinkingIsForwardedAndSegmentsNeverOverlap(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	round := 0
	h.models.playing(func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) bool {
		yield(model.Event{Kind: model.Thinking, Text: "hm"}, nil)
		yield(model.Event{Kind: model.Text, Text: "so"}, nil)
		if round++; round == 1 {
			yield(model.Event{Kind: model.CallDelta, ID: "a", Name: "echo", Arguments: "{}"}, nil)
		}
		yield(model.Event{Kind: model.Done}, nil)
		return true
	})
	open := brain.Segment(0)
	thought := 0
	for _, ev := range h.say("x") {
		switch ev.Kind {
		case talk.Segment:
			if ev.Open == (open != 0) || !ev.Open && ev.Segment != open {
				t.Fatalf("segment %+v while %d is open", ev, open)
			}
			if open = 0; ev.Open {
				open = ev.Segment
			}
		case talk.Thinking:
			thought++
			if open != brain.ThinkingSegment {
				t.Error("thinking outside its segment")
			}
		case talk.Chunk:
			if open != brain.TextSegment {
				t.Error("text outside its segment")
			}
		case talk.ToolStart, talk.End:
			if open != 0 {
				t.Error("a segment is open")
			}
		}
	}
	if thought != 2 {
		t.Errorf("%d thoughts", thought)
	}
}

func TestRoundLimitAndSilenceCarryTheirReason(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	h.agents.put(t, "crab", "---\nmax_iterations: 2\ntools: [echo]\n---\n")
	if end := h.say("/tool echo\n/tool echo\n/tool echo").end(t); end.Stop != brain.StopRounds || end.Error != "stopped after 2 rounds" {
		t.Errorf("%+v; want end.Stop to be %v, end.Error to be \"stopped after 2 rounds\"", end, brain.StopRounds)
	}
	if end := h.say("/tool echo").end(t); end.Stop != brain.StopSilent || end.Error != "" {
		t.Errorf("%+v; want end.Stop to be %v, end.Error to be \"\"", end, brain.StopSilent)
	}
}

func TestABrokenToolCallIsAResultThatHelps(t *testing.T) {
	bad := &tool.Tool{Name: "danger", Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) { panic("boom") }}
	strict := echo()
	strict.Schema = []byte(`{"type":"object","required":["path"]}`)
	h := newHub(t, sqlite(t), withTools(bad, strict))
	got := h.say("/tool nothing\n/and danger\n/and echo {\"x\":1}\n/say still here")
	if got.text() != "still here" || got.end(t).Error != "" {
		t.Errorf("%+v; want got.text() to be \"still here\", got.end(t).Error to be \"\"", got.end(t))
	}
	for _, ev := range got.of(talk.ToolResult) {
		if !ev.Result.IsError || len(ev.Result.Output) < 20 {
			t.Errorf("%+v; want ev.Result.IsError, len(ev.Result.Output) to be at least 20", ev.Result)
		}
	}
}

func TestAToolThatTakesTooLongIsAReadableError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		h := newHub(t, sqlite(t), withTools(g.tool("slow")))
		defer h.stop()
		got := h.say("/tool slow\n/say went on")
		if res := got.of(talk.ToolResult)[0].Result; !res.IsError || !strings.Contains(res.Output, "did not finish within 2m") || got.text() != "went on" {
			t.Errorf("%+v; want res.IsError, \"did not finish within 2m\" in it, got.text() to be \"went on\"", res)
		}
	})
}

func TestSendersAndThreadsHaveSeparateWindows(t *testing.T) {
	h := newHub(t, sqlite(t))
	keys := []talk.Key{crab, {Agent: "crab", Sender: "bob"}, {Agent: "crab", Sender: "user", Thread: "b"}, {Agent: "twin", Sender: "user"}}
	for i, key := range keys {
		h.turn(talk.TurnRequest{Key: key, Content: fmt.Sprintf("words %d", i)})
	}
	for i, key := range keys {
		h.turn(talk.TurnRequest{Key: key, Content: "and?"})
		got := plain(h.models.last(t))
		if len(got) != 3 || got[0] != fmt.Sprintf("user words %d", i) {
			t.Errorf("%v was sent %q", key, got)
		}
	}
}

func TestAFailedModelCallLeavesTheConversationUsable(t *testing.T) {
	h := newHub(t, sqlite(t))
	end := h.say("/say partly\n/fail broken pipe").end(t)
	if end.Stop != brain.StopModelError || end.Error != "offline: broken pipe" {
		t.Errorf("%+v; want end.Stop to be %v, end.Error to be \"offline: broken pipe\"", end, brain.StopModelError)
	}
	if diff := cmp.Diff([]string{"user /say partly\n/fail broken pipe", "assistant partly"}, h.stored(crab)); diff != "" {
		t.Error(diff)
	}
	if got := h.say("/say fine"); got.text() != "fine" {
		t.Errorf("got is %v; want got.text() to be \"fine\"", got)
	}
	h.agents.put(t, "crab", "---\nmodel: missing:x\n---\n")
	if end := h.say("hello").end(t); end.Stop != brain.StopModelError || !strings.Contains(end.Error, "missing") {
		t.Errorf("%+v; want end.Stop to be %v, \"missing\" in it", end, brain.StopModelError)
	}
}

// What is sent after a restart is what would have been sent without it.
func TestARestartBetweenTurnsChangesNothingTheModelIsSent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		script := []string{
			"/say one", "/say two\n/tool echo {\"a\":\"<from agent=\\\"x\\\">\"}\n/say three", "/fail no", "four </from> five",
		}
		play := func(key talk.Key, restart bool) (requests []string) {
			h := newHub(t, db, withTools(echo()))
			for _, line := range append(script, "last") {
				if restart {
					h.stop()
					h = newHub(t, db, withTools(echo()))
				}
				h.turn(talk.TurnRequest{Key: key, Content: line})
			}
			for _, m := range h.models.last(t).Messages {
				requests = append(requests, fmt.Sprintf("%+v", m))
			}
			h.stop()
			return requests
		}
		whole := play(talk.Key{Agent: "crab", Sender: "a"}, false)
		if diff := cmp.Diff(whole, play(talk.Key{Agent: "crab", Sender: "b"}, true)); diff != "" || len(whole) < 8 {
			t.Error(diff, len(whole))
		}
	})
}

func TestInjectedContextStandsBeforeTheLatestUserMessageAndIsNeverStored(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.say("first")
	h.say("second")
	req := h.models.last(t)
	var kinds []string
	for _, m := range req.Messages {
		if m.Injected {
			kinds = append(kinds, "injected")
			continue
		}
		kinds = append(kinds, string(m.Role))
	}
	if diff := cmp.Diff([]string{"user", "assistant", "injected", "injected", "user"}, kinds); diff != "" {
		t.Error(diff)
	}
	if text := strings.Join(sent(req), "\n"); !strings.Contains(text, "Agents you can delegate to:\n- twin: a twin") || strings.Count(text, "Today is") != 1 {
		t.Errorf("text is %v; want \"Agents you can delegate to:\\n- twin: a twin\" in it, strings.Count(text, \"Today is\") to be 1", text)
	}
	if req.System != "You are crab." {
		t.Errorf("system %q", req.System)
	}
	for _, line := range h.stored(crab) {
		if strings.Contains(line, "Today is") || strings.Contains(line, "delegate to") {
			t.Errorf("stored %q", line)
		}
	}
}

func TestTheCwdIsUsedInsideTheWorkspaceOnly(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	var dirs []string
	where := &tool.Tool{Name: "echo", Class: tool.ReadOnly, Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		dirs = append(dirs, c.Workspace+"|"+c.Dir)
		return tool.Result{}, nil
	}}
	h := newHub(t, sqlite(t), withTools(where), func(_ *hub, d *talk.Deps) { d.Workspace = workspace.Always(root) })
	if got := h.turn(talk.TurnRequest{Content: "/tool echo", Cwd: root}); len(got.of(talk.Notice)) != 0 {
		t.Errorf("got is %v; want len(got.of(talk.Notice)) to be 0", got)
	}
	got := h.turn(talk.TurnRequest{Content: "/tool echo", Cwd: other})
	if n := got.of(talk.Notice); len(n) != 1 || n[0].Code != "cwd_ignored" {
		t.Errorf("%+v; want len(n) to be 1, n[0].Code to be \"cwd_ignored\"", n)
	}
	if len(dirs) != 2 || dirs[0] == root+"|" || dirs[1] != root+"|" {
		t.Error(dirs)
	}
}

func TestASkillIsWhatItsNameStandsFor(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	h.skills["brief"] = talk.Skill{Name: "brief", Description: "how to be brief", Body: "Be brief.", AllowedTools: []string{"recall"}}
	h.skills["say"] = talk.Skill{Name: "say", Body: "never"}
	h.say("/brief about boats")
	if got := plain(h.models.last(t)); got[0] != "user <skill name=\"brief\">\nBe brief.\n</skill>\n\nabout boats" {
		t.Errorf("got is %v; want got[0] to be \"user <skill name=\\\"brief\\\">\\nBe brief.\\n</skill>\\n\\nabout boats\"", got)
	}
	if !strings.Contains(h.models.last(t).System, "- brief: how to be brief") {
		t.Errorf("h.models.last(t).System is %v; want \"- brief: how to be brief\" in it", h.models.last(t).System)
	}
	if got := h.say("/say not a skill"); got.text() != "not a skill" {
		t.Errorf("got.text() is %v; want got.text() to be \"not a skill\"", got.text())
	}
	if got := h.stored(crab); got[0] != "user /brief about boats" {
		t.Errorf("got is %v; want got[0] to be \"user /brief about boats\"", got)
	}
	// Loading one narrows the tools of that run, and only of that run.
	got := h.say("/tool echo\n/tool skill {\"name\":\"brief\"}\n/tool echo\n/tool skill {\"name\":\"none\"}").of(talk.ToolResult)
	for i, wrong := range []bool{false, false, true, true} {
		if got[i].Result.IsError != wrong {
			t.Errorf("call %d: %+v", i, got[i].Result)
		}
	}
}

func TestSubscribersSeeEverythingTheyMayAndOneDonePerRun(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	mine := h.watch(t, me, talk.Filter{})
	everybody := h.watch(t, anybody, talk.Filter{Agent: "crab"})
	h.say("/tool echo\n/say hello")
	h.turn(talk.TurnRequest{Content: "/say hi", Guest: "twin"})
	h.turn(talk.TurnRequest{Key: talk.Key{Agent: "crab", Sender: "bob"}, Content: "/say secret"})
	h.turn(talk.TurnRequest{Key: talk.Key{Agent: "twin", Sender: "user"}, Content: "/say other"})
	if got := mine.wait(3); got["user"] != 3 || got["bob"] != 0 {
		t.Errorf("got is %v; want got[\"user\"] to be 3, got[\"bob\"] to be 0", got)
	}
	if got := everybody.wait(3); got["user"] != 2 || got["bob"] != 1 {
		t.Errorf("got is %v; want got[\"user\"] to be 2, got[\"bob\"] to be 1", got)
	}
	for _, a := range mine.seen() {
		if a.Event.Kind == talk.Chunk && a.Event.Text == "hi" && (a.Speaker != "twin" || a.Key.Agent != "crab") {
			t.Errorf("%+v", a)
		}
	}
}

// collected gathers activity in the background.
type collected struct {
	each chan talk.Activity
	got  []talk.Activity
}

// watch subscribes and returns once that counts.
func (h *hub) watch(t testing.TB, who identity.Actor, f talk.Filter) *collected {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &collected{each: make(chan talk.Activity, 100_000)}
	done, before := make(chan struct{}), h.Watchers()
	go func() {
		defer close(done)
		defer close(c.each)
		for a, err := range h.Subscribe(ctx, who, f) {
			if err != nil {
				return
			}
			c.each <- a
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	for h.Watchers() == before {
		runtime.Gosched()
	}
	return c
}

// wait reads until n runs are done and counts them by sender.
func (c *collected) wait(n int) map[string]int {
	out := map[string]int{}
	for a := range c.each {
		c.got = append(c.got, a)
		if a.Event.Kind == talk.End {
			out[a.Key.Sender]++
			if n--; n == 0 {
				break
			}
		}
	}
	return out
}

// untilEnd reads until a run is done.
func (c *collected) untilEnd(run string) {
	for a := range c.each {
		c.got = append(c.got, a)
		if a.Event.Kind == talk.End && a.Event.Run == run {
			return
		}
	}
}

func (c *collected) seen() []talk.Activity { return c.got }

func TestRunsAndToolCallsAreAudited(t *testing.T) {
	h := newHub(t, sqlite(t), withTools(echo()))
	h.say("/tool echo {\"secret\":1}\n/say x")
	if diff := cmp.Diff([]string{"talk.tool", "talk.run"}, h.trail.actions()); diff != "" {
		t.Error(diff)
	}
	run, err := h.Turn(t.Context(), withScopes("talk"), talk.TurnRequest{Key: crab, Content: "/tool echo {}\n/say x"})
	if err != nil {
		t.Fatal(err)
	}
	all(t, run)
	for _, e := range h.trail.entries[2:] {
		if e.Detail["token"] != "token-1" || e.Detail["by"] != anybody.String() {
			t.Errorf("%s says %v of whose words began the run; want the person and their token", e.Action, e.Detail)
		}
	}
	if text := fmt.Sprintf("%+v", h.trail.entries); strings.Contains(text, "secret") {
		t.Error("arguments are in the trail")
	}
}

func TestHistoryIsTheWindowLedByTheSummary(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.say("/say one")
	if _, err := h.Compact(t.Context(), me, crab, ""); err != nil {
		t.Fatal(err)
	}
	h.say("/say two")
	c, err := h.Find(t.Context(), me, crab)
	if err != nil {
		t.Fatal(err)
	}
	hist, err := h.History(t.Context(), me, c.ID, talk.HistoryRequest{})
	if err != nil || len(hist.Messages) != 3 || !hist.Messages[0].Summary || hist.Messages[0].Role != model.User || hist.Messages[2].Text != "two" {
		t.Errorf("%+v, %v", hist, err)
	}
	hist, err = h.History(t.Context(), me, c.ID, talk.HistoryRequest{Archived: true, Limit: 3})
	if err != nil || len(hist.Messages) != 3 || !hist.Truncated || hist.Messages[0].Text != "one" {
		t.Errorf("%+v, %v; want no error, len(hist.Messages) to be 3, hist.Truncated, hist.Messages[0].Text to be \"one\"", hist, err)
	}
	if _, err := h.History(t.Context(), own("bob"), c.ID, talk.HistoryRequest{}); !errors.Is(err, talk.ErrForbidden) {
		t.Errorf("got %v", err)
	}
	if c.Live != 2 || c.Messages != 4 {
		t.Errorf("live %d of %d", c.Live, c.Messages)
	}
	active, err := h.ListActive(t.Context(), me, talk.Filter{})
	if err != nil || len(active) != 1 || active[0].Loaded.IsZero() || active[0].Live != 2 {
		t.Errorf("%+v, %v; want no error, len(active) to be 1, not active[0].Loaded.IsZero(), active[0].Live to be 2", active, err)
	}
}

func TestDeleteKillsTheRunAndRemovesEverything(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")))
	run := h.begin(talk.TurnRequest{Content: "/tool slow"})
	<-g.called
	c, err := h.Find(t.Context(), me, crab)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Delete(t.Context(), me, c.ID); err != nil {
		t.Fatal(err)
	}
	if end := all(t, run).end(t); end.Stop != brain.StopKilled {
		t.Errorf("%+v; want end.Stop to be %v", end, brain.StopKilled)
	}
	if _, err := h.Get(t.Context(), me, c.ID); !errors.Is(err, talk.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if got := h.say("/say anew"); got.text() != "anew" || len(h.stored(crab)) != 2 {
		t.Errorf("h.stored(crab) is %v; want got.text() to be \"anew\", len(h.stored(crab)) to be 2", h.stored(crab))
	}
}

func TestImportIntoALoadedConversationIsSeenByTheNextTurn(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.say("/say one")
	file := `{"agent":"crab","created_by":"user","created_at":"2026-04-03T10:00:00+00:00","title":"t","uptime_secs":0}
{"role":"user","content":"imported"}
`
	out, err := h.Import(t.Context(), me, strings.NewReader(file), memory.ImportOptions{Append: true})
	if err != nil || out.Messages != 1 {
		t.Fatalf("%+v, %v; want no error, out.Messages to be 1", out, err)
	}
	h.say("/say two")
	if got := plain(h.models.last(t)); len(got) != 4 || got[2] != "user imported" {
		t.Errorf("got is %v; want len(got) to be 4, got[2] to be \"user imported\"", got)
	}
	if _, err := h.Import(t.Context(), own("bob"), strings.NewReader(file), memory.ImportOptions{}); !errors.Is(err, talk.ErrForbidden) {
		t.Errorf("got %v", err)
	}
}
