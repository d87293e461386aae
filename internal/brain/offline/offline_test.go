package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"parley.internal/internal/brain/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard is one call as a test looks at it.
type heard struct {
	Chunks []string
	Text   string
	Calls  []model.Call
	Usage  model.Usage
	Finish model.Finish
	Err    string
}

func play(t testing.TB, req model.Request) heard {
	t.Helper()
	var h heard
	done := false
	for ev, err := range New().Stream(context.Background(), req) {
		if done {
			t.Fatal("an event after the last")
		}
		if err != nil {
			h.Err, done = err.Error(), true
			continue
		}
		switch ev.Kind {
		case model.Text:
			h.Chunks = append(h.Chunks, ev.Text)
			h.Text += ev.Text
		case model.CallDelta:
			for len(h.Calls) <= ev.Index {
				h.Calls = append(h.Calls, model.Call{})
			}
			c := &h.Calls[ev.Index]
			c.ID += ev.ID
			c.Name += ev.Name
			c.Arguments += ev.Arguments
			if len(ev.Arguments) > fragmentSize {
				t.Errorf("fragment of %d bytes", len(ev.Arguments))
			}
		case model.Done:
			h.Usage, h.Finish, done = ev.Usage, ev.Finish, true
		}
	}
	if !done {
		t.Fatal("the stream has no end")
	}
	return h
}

func user(text string) model.Message      { return model.Message{Role: model.User, Text: text} }
func assistant(text string) model.Message { return model.Message{Role: model.Assistant, Text: text} }

func called(ids ...string) model.Message {
	m := model.Message{Role: model.Assistant}
	for _, id := range ids {
		m.Calls = append(m.Calls, model.Call{ID: id, Name: "x", Arguments: "{}"})
	}
	return m
}
func result(text string) model.Message { return model.Message{Role: model.Tool, Text: text} }

func turn(msgs ...model.Message) model.Request {
	return model.Request{Purpose: model.ForTurn, Messages: msgs}
}

func task(msgs ...model.Message) model.Request {
	return model.Request{Purpose: model.ForTask, Messages: msgs}
}

func TestSayStreamsWordByWord(t *testing.T) {
	h := play(t, turn(user("/say one two  three\n/say four")))
	want := []string{"one ", "two ", " ", "three", "\nfour"}
	if diff := cmp.Diff(want, h.Chunks); diff != "" {
		t.Error(diff)
	}
	if h.Finish != model.FinishStop {
		t.Errorf("h.Finish is %v; want h.Finish to be %v", h.Finish, model.FinishStop)
	}
}

func TestTextIsWhatTheScriptSays(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"other lines are ignored", "hello\n/say a\nthere", "a"},
		{"an empty line between", "/say a\n/say\n/say b", "a\n\nb"},
		{"blanks stay", "/say  a  ", " a  "},
		{"windows line ends", "/say a\r\n/say b\r\n", "a\nb"},
		{"escaped slash", "//say it", "/say it"},
		{"only the escape", "//", "/"},
		{"chunks keep text", "/chunks 3\n/say abcdefg", "abcdefg"},
		{"nothing to say", "/sleep 0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, purpose := range []model.Purpose{model.ForTurn, model.ForGuest, model.ForTask} {
				h := play(t, model.Request{Purpose: purpose, Messages: []model.Message{user(c.script)}})
				if h.Text != c.want || h.Err != "" {
					t.Errorf("%s: got %q, %s", purpose, h.Text, h.Err)
				}
			}
		})
	}
}

func TestNoCommandAnswersHowToConfigureAModel(t *testing.T) {
	want := `Offline model: I read "Hello there". No model is configured: set PARLEY_MODEL, or script me with /say TEXT, /tool NAME {json}, /sleep MS, /fail TEXT.`
	if got := play(t, turn(user("\n\nHello there\nmore"))).Text; got != want {
		t.Errorf("got %q", got)
	}
	long := strings.Repeat("ä", 130)
	if got := play(t, turn(user(long))).Text; !strings.Contains(got, `"`+long[:240]+`"`) {
		t.Errorf("got %q", got)
	}
	if got := play(t, turn()).Text; !strings.Contains(got, `I read ""`) {
		t.Errorf("got %q", got)
	}
}

func TestAnUnknownDirectiveIsAnOrdinaryLineInAConversation(t *testing.T) {
	if got := play(t, turn(user("/dance\n/say a"))).Text; got != "a" {
		t.Errorf("got %q", got)
	}
	if got := play(t, turn(user("/dance"))).Text; !strings.HasPrefix(got, `Offline model: I read "/dance"`) {
		t.Errorf("got %q", got)
	}
}

func TestAnUnknownDirectiveIsNamedInATask(t *testing.T) {
	got := play(t, task(user("/dance wild\n/say a"))).Text
	first, rest, _ := strings.Cut(got, "\n")
	if !strings.Contains(first, "/dance") || !strings.Contains(first, usage) || rest != "a" {
		t.Errorf("got %q", got)
	}
	if got := play(t, task(user("/home/me is full\n/say a"))).Text; got != "a" {
		t.Errorf("a path is no directive: %q", got)
	}
}

func TestBadArgumentsAreNamedAndTheScriptGoesOn(t *testing.T) {
	for _, line := range []string{
		"/tool", "/tool x {", "/tool x [1]", "/and x {}", "/sleep soon", "/sleep -1", "/sleep 600001",
		"/chunks 0", "/pace x", "/usage 1", "/usage 1 -2", "/cost free", "/cost -1", "/cost NaN",
	} {
		for _, req := range []model.Request{turn(user(line + "\n/say on")), task(user(line + "\n/say on"))} {
			h := play(t, req)
			word, _ := cutWord(line)
			first, rest, _ := strings.Cut(h.Text, "\n")
			if !strings.Contains(first, word) || rest != "on" || len(h.Calls) != 0 || h.Err != "" {
				t.Errorf("%s: got %q %v", line, h.Text, h.Calls)
			}
		}
	}
}

func TestToolEndsTheCallAndTheNextGoesOn(t *testing.T) {
	script := "/say before\n/tool file_read {\"path\":\"über/alles/und/noch/mehr.txt\"}\n/and clock\n/say between\n/tool clock {}\n/say after"
	req := turn(user("/say old"), assistant("old"), user(script))
	h := play(t, req)
	want := heard{
		Chunks: []string{"before"}, Text: "before", Finish: model.FinishCalls,
		Calls: []model.Call{
			{ID: "call_1_1", Name: "file_read", Arguments: `{"path":"über/alles/und/noch/mehr.txt"}`},
			{ID: "call_1_2", Name: "clock", Arguments: "{}"},
		},
	}
	h.Usage = model.Usage{}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
	req.Messages = append(req.Messages, called("call_1_1", "call_1_2"), result("r1"), result("r2"))
	if h = play(t, req); h.Text != "between" || len(h.Calls) != 1 || h.Calls[0].ID != "call_2_1" {
		t.Errorf("second call: %+v", h)
	}
	req.Messages = append(req.Messages, called("call_2_1"), result("r3"))
	if h = play(t, req); h.Text != "after" || h.Finish != model.FinishStop {
		t.Errorf("third call: %+v", h)
	}
	req.Messages = append(req.Messages, called("call_3_1"), result("r4"))
	if h = play(t, req); h.Text != "" || len(h.Calls) != 0 || h.Finish != model.FinishStop {
		t.Errorf("an exhausted script says nothing: %+v", h)
	}
}

func TestABadCallInABatchIsNamedAndTheOthersAreMade(t *testing.T) {
	h := play(t, task(user("/tool a {oops\n/and b {}\n/and c [\n/and d {}")))
	if len(h.Calls) != 2 || h.Calls[0].Name != "b" || h.Calls[1].Name != "d" || strings.Count(h.Text, "not a JSON object") != 2 {
		t.Errorf("%+v", h)
	}
}

func TestInAConversationTheLastWordsOfThePersonAreTheScript(t *testing.T) {
	injected := model.Message{Role: model.User, Text: "/say injected", Injected: true}
	summary := model.Message{Role: model.User, Text: "/say summary", Summary: true}
	if h := play(t, turn(user("/say first"), assistant("x"), user("/say last"), injected, summary)); h.Text != "last" {
		t.Errorf("got %q", h.Text)
	}
	// a steer during a run is the person's latest word
	if h := play(t, turn(user("/tool a\n/say one"), called("1"), result("r"), user("/say steer"))); h.Text != "steer" {
		t.Errorf("got %q", h.Text)
	}
}

func TestInATaskEverythingSinceTheLastFinishedAnswerIsTheScript(t *testing.T) {
	cut := assistant("par")
	cut.Interrupted = true
	for _, c := range []struct {
		name string
		msgs []model.Message
		want string
		id   string
	}{
		{"joined", []model.Message{user("/say a"), user("/say b")}, "a\nb", ""},
		{"after an answer", []model.Message{user("/say a"), assistant("a"), user("/say b")}, "b", ""},
		{"an interrupted answer is none", []model.Message{user("/say a"), cut, user("/say b")}, "a\nb", ""},
		{"after a batch", []model.Message{user("/tool x\n/say b"), called("1"), result(""), user("/say c")}, "b\nc", ""},
		{"context is no script", []model.Message{{Role: model.User, Text: "/say ctx", Injected: true}, user("/say b")}, "b", ""},
		{
			"ids are unique in a task",
			[]model.Message{user("/tool x"), called("1"), result(""), assistant(""), user("/tool y")},
			"", "call_2_1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := play(t, task(c.msgs...))
			if h.Text != c.want {
				t.Errorf("got %q", h.Text)
			}
			if c.id != "" && (len(h.Calls) != 1 || h.Calls[0].ID != c.id) {
				t.Errorf("got %v", h.Calls)
			}
		})
	}
}

func TestFailuresLookLikeAProviders(t *testing.T) {
	for _, c := range []struct {
		line   string
		cause  model.Cause
		status int
		retry  bool
		text   string
	}{
		{"/fail out of luck", model.CauseBadData, 0, false, "offline: out of luck"},
		{"/fail 429 slow down", model.CauseStatus, 429, true, "offline: 429 slow down"},
		{"/fail 500", model.CauseStatus, 500, true, "offline: 500"},
		{"/fail 400 no", model.CauseStatus, 400, false, "offline: 400 no"},
		{"/fail 4000 no", model.CauseBadData, 0, false, "offline: 4000 no"},
		{"/fail context", model.CauseContext, 0, false, "offline: context"},
		{"/fail", model.CauseBadData, 0, false, "offline: failed as the script asked"},
		{"/fail-once 503", model.CauseStatus, 503, true, "offline: 503"},
	} {
		var last error
		for _, err := range New().Stream(context.Background(), model.Request{
			Purpose: model.ForTurn, Attempt: 1, Messages: []model.Message{user(c.line + "\n/say never")},
		}) {
			last = err
		}
		var e *model.Error
		if !errors.As(last, &e) {
			t.Errorf("%s: %v", c.line, last)
			continue
		}
		if e.Cause != c.cause || e.Status != c.status || e.Retryable() != c.retry || e.Error() != c.text {
			t.Errorf("%s: %+v; want e.Cause to be %v, e.Status to be %v, e.Retryable() to be %v, e.Error() to be %v", c.line, e, c.cause, c.status, c.retry, c.text)
		}
	}
}

func TestFailOnceFailsOnlyTheFirstAttempt(t *testing.T) {
	req := turn(user("/fail-once 500\n/say fine"))
	req.Attempt = 1
	if h := play(t, req); h.Err == "" {
		t.Error("the first attempt succeeded")
	}
	req.Attempt = 2
	if h := play(t, req); h.Text != "fine" || h.Err != "" {
		t.Errorf("%+v; want h.Text to be \"fine\", h.Err to be \"\"", h)
	}
}

func TestChunksHoldAcrossCallsAndAreNearEqual(t *testing.T) {
	req := turn(user("/chunks 4\n/tool x\n/say äbcdefghij"), called("1"), result(""))
	if diff := cmp.Diff([]string{"äb", "cd", "efg", "hij"}, play(t, req).Chunks); diff != "" {
		t.Error(diff)
	}
	req = turn(user("/chunks 9\n/say ab"))
	if diff := cmp.Diff([]string{"a", "b"}, play(t, req).Chunks); diff != "" {
		t.Error(diff)
	}
}

func TestResultSaysTheLastResultsAsJSON(t *testing.T) {
	req := turn(user("/tool x\n/and y\n/result"), called("1", "2"), result(`{"ok": true}`), result("plain \"text\" <b>"))
	if got, want := play(t, req).Text, `{"ok":true}`+"\n"+`"plain \"text\" <b>"`; got != want {
		t.Errorf("got %q", got)
	}
}

func TestContextSaysWhatItWasGiven(t *testing.T) {
	req := turn(user("/context"))
	req.System, req.MaxOutput = "Be kind.", 1000
	req.Tools = []model.ToolSpec{{Name: "clock"}, {Name: "shell"}}
	var got given
	if err := json.Unmarshal([]byte(play(t, req).Text), &got); err != nil {
		t.Fatal(err)
	}
	want := given{
		System: "Be kind.", MaxTokens: 1000, Tools: []string{"clock", "shell"},
		History: []givenMessage{{Role: model.User, Content: "/context"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUsageIsWordsUnlessTheScriptSaysOtherwise(t *testing.T) {
	req := turn(user("/say one two"), assistant("a\tb"), user("/say three  four five"))
	req.System = "be  kind"
	u := play(t, req).Usage
	if u != (model.Usage{Prompt: 2 + 3 + 2 + 4, Completion: 3, CostKnown: true, Rounds: 1}) {
		t.Errorf("%+v", u)
	}
	u = play(t, turn(user("/usage 70 9\n/cost 0.25\n/say x"))).Usage
	if u != (model.Usage{Prompt: 70, Completion: 9, CostMicros: 250_000, CostKnown: true, Rounds: 1}) {
		t.Errorf("%+v", u)
	}
}

func TestMaxOutputStopsAfterThatManyWords(t *testing.T) {
	for _, script := range []string{"/say one two three four", "/say one\n/say two three\n/say four", "/chunks 2\n/say one two three four"} {
		req := turn(user(script))
		req.MaxOutput = 3
		h := play(t, req)
		if len(strings.Fields(h.Text)) != 3 || h.Finish != model.FinishLength || h.Usage.Completion != 3 {
			t.Errorf("%q: %+v; want len(strings.Fields(h.Text)) to be 3, h.Finish to be %v, h.Usage.Completion to be 3", script, h, model.FinishLength)
		}
	}
	req := turn(user("/say one two three"))
	req.MaxOutput = 3
	if h := play(t, req); h.Finish != model.FinishStop {
		t.Errorf("exactly enough is enough: %+v", h)
	}
}

func TestCompactAndTitle(t *testing.T) {
	req := model.Request{Purpose: model.ForCompact, Focus: "prices", Messages: []model.Message{
		{Role: model.User, Text: "the agent's prompt", Injected: true},
		{Role: model.User, Text: "<summary>", Summary: true},
		user("What about\nthe tiers?"), assistant("Two."), called("1"), result("r"), user(strings.Repeat("b", 90) + "\nmore"), assistant("Fine."),
		{Role: model.User, Text: "Write the summary now.", Injected: true},
	}}
	want := fmt.Sprintf(`Conversation of 5 messages about "What about". Last: "%s". Focus: prices.`, strings.Repeat("b", 80))
	if got := play(t, req).Text; got != want {
		t.Errorf("got %q", got)
	}
	req = model.Request{Purpose: model.ForTitle, Messages: []model.Message{user("v1.2 shipped. More"), assistant("Good.")}}
	if got := play(t, req).Text; got != "v1.2 shipped." {
		t.Errorf("got %q", got)
	}
}

func TestSleepAndPaceTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		h := play(t, turn(user("/sleep 1500\n/pace 200\n/say a b c\n/say d")))
		if got := time.Since(begin); got != 2100*time.Millisecond || h.Text != "a b c\nd" {
			t.Errorf("took %s for %q", got, h.Text)
		}
	})
}

func TestACancelEndsASleepAtOnceWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		begin := time.Now()
		var last error
		for _, err := range New().Stream(ctx, turn(user("/sleep 600000\n/say never"))) {
			last = err
		}
		if !errors.Is(last, why) || time.Since(begin) != time.Second {
			t.Errorf("%v after %s", last, time.Since(begin))
		}
	})
}

func TestAReaderThatStopsGetsNoMore(t *testing.T) {
	for _, script := range []string{"/say a b c", "/tool x {\"long\":\"arguments in pieces\"}"} {
		n := 0
		for range New().Stream(context.Background(), turn(user(script))) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d events", n)
		}
	}
}

func TestTheSameRequestGivesTheSameStreamAThousandTimes(t *testing.T) {
	req := turn(user("/say one two\n/pace 0\n/chunks 3\n/say three four\n//x\n/context\n/usage 3 4\n/tool a {\"b\":[1,2,3]}\n/and c"))
	req.System = "s"
	want := play(t, req)
	for range 1000 {
		if diff := cmp.Diff(want, play(t, req)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAnyTextIsSaidAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[^\r\n]{0,60}`), 1, 6).Draw(t, "lines")
		chunks := rapid.IntRange(0, 7).Draw(t, "chunks")
		script := ""
		if chunks > 0 {
			script = fmt.Sprintf("/chunks %d\n", chunks)
		}
		for _, l := range lines {
			script += "/say " + l + "\n"
		}
		var text strings.Builder
		for ev, err := range New().Stream(context.Background(), turn(user(script))) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(ev.Text)
		}
		if want := strings.Join(lines, "\n"); text.String() != want {
			t.Fatalf("got %q, want %q", text.String(), want)
		}
	})
}

func TestDirectivesAreKnown(t *testing.T) {
	for line, want := range map[string]bool{
		"/say x": true, "/say": true, "/tool a {}": true, "//x": true, "/fail-once 500": true,
		"/saying": false, "/review it": false, "say": false, "": false,
	} {
		if IsDirective(line) != want {
			t.Errorf("%q; want IsDirective(line) to be %v", line, want)
		}
	}
}
