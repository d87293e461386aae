package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	wire "parley.internal/protocol/agentfirst"
)

var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// plain is text without its styles.
func plain(s string) string { return styles.ReplaceAllString(s, "") }

func stream(run string, ev *wire.StreamEvent) *wire.ConversationEvent {
	return &wire.ConversationEvent{RunId: run, Event: &wire.ConversationEvent_Stream{Stream: ev}}
}

func start(run, agent string) *wire.ConversationEvent {
	return stream(run, &wire.StreamEvent{Event: &wire.StreamEvent_Start{Start: &wire.StreamStart{Agent: agent, RunId: run}}})
}

func chunk(run, text string) *wire.ConversationEvent {
	return stream(run, &wire.StreamEvent{Event: &wire.StreamEvent_Chunk{Chunk: &wire.StreamChunk{Content: text}}})
}

func end(run, agent, failed string) *wire.ConversationEvent {
	return stream(run, &wire.StreamEvent{Event: &wire.StreamEvent_End{End: &wire.StreamEnd{
		Agent: agent, Error: failed, Usage: &wire.TokenUsage{TotalTokens: 12, CostMicros: new(uint64(1500))},
	}}})
}

func said(seq uint64, role, agent, text string) *wire.ConversationEvent {
	return &wire.ConversationEvent{Event: &wire.ConversationEvent_Message{Message: &wire.HistoryMessage{Seq: seq, Role: role, Agent: agent, Content: text}}}
}

func apply(c *Chat, events ...*wire.ConversationEvent) string {
	var out []string
	for _, ev := range events {
		out = append(out, c.Apply(ev)...)
	}
	return plain(strings.Join(out, "\n"))
}

func TestWhatIsSaidIsShownWithItsSpeaker(t *testing.T) {
	c := NewChat("crab", "ann", "")
	got := apply(c, said(1, "user", "", "hello"), said(2, "assistant", "", "hi"), said(3, "assistant", "twin", "me too"),
		&wire.ConversationEvent{Event: &wire.ConversationEvent_CaughtUp{CaughtUp: true}}, said(3, "assistant", "twin", "me too"))
	want := "ann\nhello\n\ncrab\nhi\n\ntwin (guest)\nme too\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARunIsShownWhileItGoesAndPrintedOnce(t *testing.T) {
	c := NewChat("crab", "ann", "")
	apply(c, start("r", "crab"), chunk("r", "one "), chunk("r", "two"))
	if got := plain(c.Going(10)); got != "crab\none two" || !c.Running() {
		t.Errorf("going: %q", got)
	}
	call := func(arguments string) *wire.ConversationEvent {
		return stream("r", &wire.StreamEvent{Event: &wire.StreamEvent_ToolStart{ToolStart: &wire.ToolStart{Calls: []*wire.ToolCall{{Name: "shell", Arguments: arguments, CallId: "1"}}}}})
	}
	got := apply(c, call(""), call(`{"command":"ls"}`))
	if got != "crab\none two" {
		t.Errorf("printed at the tool: %q", got)
	}
	if g := plain(c.Going(10)); g != `⚙ shell {"command":"ls"}` {
		t.Errorf("going: %q", g)
	}
	result := &wire.StreamEvent{Event: &wire.StreamEvent_ToolResult{ToolResult: &wire.ToolResult{CallId: "1", Output: "no", DurationMs: 20, IsError: true}}}
	got = apply(c, stream("r", result), stream("r", &wire.StreamEvent{Event: &wire.StreamEvent_ToolsComplete{}}), chunk("r", "three"), end("r", "crab", ""))
	if got != "✗ shell {\"command\":\"ls\"} no\nthree\n" {
		t.Errorf("printed: %q", got)
	}
	if c.Running() || c.Going(10) != "" {
		t.Error("the run is still going")
	}
	if s := plain(c.Status()); !strings.Contains(s, "12 tokens") || !strings.Contains(s, "$0.0015") {
		t.Errorf("status %q", s)
	}
	if got := apply(c, start("s", "crab"), end("s", "crab", "cancelled")); got != "crab\ncancelled\n" {
		t.Errorf("a failure: %q", got)
	}
}

func TestANewTitleIsToldBesideWhatIsSaid(t *testing.T) {
	c := NewChat("crab", "ann", "")
	titled := stream("", &wire.StreamEvent{Event: &wire.StreamEvent_Notice{Notice: &wire.Notice{Code: wire.NoticeTitled, Text: "Pri\x1b[2Jces"}}})
	if got := apply(c, titled); got != "— titled: Pri⟨U+001B⟩[2Jces —\n" || c.Running() {
		t.Errorf("%q; want got to be \"— titled: Pri⟨U+001B⟩[2Jces —\\n\", not c.Running()", got)
	}
}

func TestTheQueueIsCounted(t *testing.T) {
	c := NewChat("crab", "ann", "")
	queued := stream("w", &wire.StreamEvent{Event: &wire.StreamEvent_Queued{Queued: &wire.Queued{Position: 1, RunId: "w"}}})
	apply(c, start("r", "crab"), queued)
	if s := plain(c.Status()); !strings.Contains(s, "1 waiting") {
		t.Errorf("status %q", s)
	}
	// A waiting turn that is cancelled does not end the one that runs.
	apply(c, end("w", "crab", "cancelled"))
	if s := plain(c.Status()); strings.Contains(s, "waiting") || !c.Running() {
		t.Errorf("status %q, running %v", s, c.Running())
	}
}

// Nothing anybody says can steer the terminal.
func TestEscapeSequencesDoNothing(t *testing.T) {
	evil := "\x1b]0;owned\x07 \x1b[2J \u009b31m \u202eevil\r"
	c := NewChat("crab", "ann", "")
	out := strings.Join(c.Apply(said(1, "assistant", "", evil)), "\n")
	out += strings.Join(c.Apply(said(2, "assistant", "twin\x1b[2J", "x")), "\n")
	apply(c, start("r", "crab\x1b[2J"), chunk("r", evil))
	out += c.Going(20)
	out += NewMenu(&wire.AskUser{Questions: []*wire.Question{{Question: evil, Header: evil, Options: []*wire.QuestionOption{{Label: evil, Description: evil}}}}}).View(80)
	for _, bad := range []string{"\x1b]", "\x1b[2J", "\u009b", "\x07", "\u202e", "\r"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q got through", bad)
		}
	}
	if strings.Contains(plain(out), "\x1b") {
		t.Errorf("an escape is left: %q", plain(out))
	}
}

func FuzzRender(f *testing.F) {
	f.Add("# x\n- *a*\n```\n\x1b[0m", 20)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if out := plain(Render(text, width%500)); strings.ContainsAny(out, "\x1b\x07\r") {
			t.Errorf("%q became %q", text, out)
		}
	})
}

func TestMarkdown(t *testing.T) {
	got := plain(Render("# Title `x`\n\nSome **bold** and _thin_ words, `code`.\n- one\n  - two\n1. first\n> quoted\n```go\nfunc **x**\n```\n---\nsnake_case_name 2*3*4", 40))
	want := "Title x\n\nSome bold and thin words, code.\n• one\n  • two\n1. first\n│ quoted\n  func **x**\n────────────────────────────────────────\nsnake_case_name 2*3*4"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for line := range strings.SplitSeq(plain(Render(strings.Repeat("- many words in an item ", 20), 30)), "\n") {
		if len([]rune(line)) > 30 {
			t.Errorf("too wide: %q", line)
		}
	}
}

func TestAMenuCollectsTheAnswers(t *testing.T) {
	m := NewMenu(&wire.AskUser{AskId: "a", Questions: []*wire.Question{
		{Question: "Colour?", Options: []*wire.QuestionOption{{Label: "red"}, {Label: "blue"}}},
		{Question: "Sizes?", MultiSelect: true, Options: []*wire.QuestionOption{{Label: "S"}, {Label: "M"}, {Label: "L"}}},
		{Question: "Why?"},
	}})
	m.Move(-1)
	m.Toggle() // not in a question with one answer
	if _, done := m.Choose(""); done {
		t.Fatal("done after the first part")
	}
	m.Toggle()
	m.Move(2)
	m.Toggle()
	if _, done := m.Choose(""); done {
		t.Fatal("done after the second part")
	}
	answer, done := m.Choose("because")
	if !done || answer != `{"Colour?":"blue","Sizes?":"S, L","Why?":"because"}` {
		t.Errorf("answer %s", answer)
	}
}

func TestCompletionAndMentions(t *testing.T) {
	agents := []string{"critic", "crab", "twin"}
	for in, want := range map[string]string{
		"@t": "@twin ", "@cr": "@cr", "@cri": "@critic ", "@x": "@x", "/he": "/help ", "/c": "/c", "/ca": "/cancel ",
		"hello": "hello", "@twin hi": "@twin hi", "": "",
	} {
		if got := completion(in, agents); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string][2]string{
		"@twin what now": {"twin", "what now"}, "@nobody hi": {"", "@nobody hi"}, "mail a@twin b": {"", "mail a@twin b"}, "@twin": {"", "@twin"},
	} {
		if guest, text := mention(in, agents); guest != want[0] || text != want[1] {
			t.Errorf("%q: %q %q", in, guest, text)
		}
	}
}

// hub is a Link that notes what it is asked.
type hub struct {
	asked []string
	say   func(ctx context.Context) error // instead of noting a turn
}

func (h *hub) note(format string, args ...any) {
	h.asked = append(h.asked, fmt.Sprintf(format, args...))
}

func (h *hub) Attach(context.Context, string, func(error)) iter.Seq2[*wire.ConversationEvent, error] {
	return func(func(*wire.ConversationEvent, error) bool) {}
}

func (h *hub) Put(_ context.Context, path string) (*wire.FileRef, error) {
	h.note("put %s", filepath.Base(path))
	return &wire.FileRef{Digest: "digest", Name: filepath.Base(path)}, nil
}

func (h *hub) Say(ctx context.Context, thread, guest, text string, files []*wire.FileRef) error {
	for _, f := range files {
		defer h.note("with %s", f.GetName())
	}
	if h.say != nil {
		return h.say(ctx)
	}
	h.note("say %s/%s: %s", thread, guest, text)
	return nil
}

func (h *hub) Cancel(context.Context, string) error { h.note("cancel"); return nil }

func (h *hub) Reply(_ context.Context, _, id, answer string) error {
	h.note("reply %s %s", id, answer)
	return nil
}

func (h *hub) Approve(_ context.Context, id string, yes bool) error {
	h.note("approve %s %v", id, yes)
	return nil
}

func (h *hub) Compact(_ context.Context, _, focus string) error {
	h.note("compact %s", focus)
	return errors.New("nothing to compact")
}

func (h *hub) Archives(context.Context, string) ([]*wire.ArchiveInfo, error) {
	return []*wire.ArchiveInfo{{Title: "Prices."}}, nil
}

func (h *hub) Search(context.Context, string) ([]*wire.Hit, error) {
	return []*wire.Hit{{Snippet: "found it", Kind: "message", Role: "assistant", Speaker: "twin", At: "2026-04-03T10:00:00.5Z"}}, nil
}

func (h *hub) Agents(context.Context) ([]string, error) { return []string{"crab", "twin"}, nil }

// screen drives a model as a person would.
type screen struct {
	t    *testing.T
	m    *Model
	hub  *hub
	left bool
}

func newScreen(t *testing.T) *screen {
	h := &hub{}
	s := &screen{t: t, m: New(t.Context(), h, Options{Agent: "crab", Sender: "ann"}), hub: h}
	s.m.input.SetVirtualCursor(false) // nothing blinks, so no command waits
	s.update(tea.WindowSizeMsg{Width: 80, Height: 20})
	s.update(agentsMsg{[]string{"crab", "twin"}})
	return s
}

// update feeds a message, and what it leads to.
func (s *screen) update(msg tea.Msg) {
	_, cmd := s.m.Update(msg)
	if cmd == nil {
		return
	}
	switch next := cmd().(type) {
	case tea.QuitMsg:
		s.left = true
	case doneMsg, saidMsg, printMsg, agentsMsg:
		s.update(next)
	}
}

func (s *screen) press(names ...string) {
	for _, name := range names {
		codes := map[string]tea.KeyPressMsg{
			"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
			"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
			"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
		}
		if k, special := codes[name]; special {
			s.update(k)
			continue
		}
		for _, r := range name {
			s.update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

func (s *screen) shows(words ...string) {
	s.t.Helper()
	view := plain(s.m.View().Content)
	for _, w := range words {
		if !strings.Contains(view, w) {
			s.t.Errorf("the screen does not show %q:\n%s", w, view)
		}
	}
	if n := strings.Count(view, "\n") + 1; n != 20 {
		s.t.Errorf("the screen has %d lines", n)
	}
}

func TestAPersonAtTheScreen(t *testing.T) {
	s := newScreen(t)
	s.press("hello", "ctrl+j", "there", "enter", "@t", "tab", "what now", "enter", "/say any other", "enter", "/guest twin", "enter", "hm", "enter", "/guest", "enter", "ok", "enter")
	want := []string{"say /: hello\nthere", "say /twin: what now", "say /: /say any other", "say /twin: hm", "say /: ok"}
	if diff := cmp.Diff(want, s.hub.asked); diff != "" {
		t.Error(diff)
	}
	// Earlier lines come back, and the draft after them.
	s.press("draft", "up", "up")
	if got := s.m.input.Value(); got != "/guest" {
		t.Errorf("history gives %q", got)
	}
	s.press("down", "down")
	if got := s.m.input.Value(); got != "draft" {
		t.Errorf("the draft is %q", got)
	}
	s.press("ctrl+c")
	if s.left || s.m.input.Value() != "" {
		t.Error("the first Ctrl-C empties the line")
	}
	s.press("/archives", "enter", "/search found", "enter", "/compact prices", "enter", "/help", "enter")
	said := plain(strings.Join(s.m.lines, "\n"))
	for _, w := range []string{"1 archives", "Prices.", "1 found", "twin  found it", "nothing to compact", "/thread [NAME]"} {
		if !strings.Contains(said, w) {
			t.Errorf("%q was not printed:\n%s", w, said)
		}
	}
	s.press("/exit", "enter")
	if !s.left {
		t.Error("/exit did not leave")
	}
}

func TestCtrlCCancelsAndTwiceLeaves(t *testing.T) {
	s := newScreen(t)
	s.update(eventMsg{"", start("r", "crab"), nil})
	s.update(eventMsg{"", chunk("r", "working"), nil})
	s.shows("working", "Ctrl-C cancels")
	s.press("ctrl+c")
	if diff := cmp.Diff([]string{"cancel"}, s.hub.asked); diff != "" || s.left {
		t.Errorf("%s left %v", diff, s.left)
	}
	s.press("ctrl+c")
	if !s.left {
		t.Error("the second did not leave")
	}
}

// A run that was asked for and has told nothing yet is cancelled too.
func TestCtrlCRightAfterEnterTakesTheTurnBack(t *testing.T) {
	s := newScreen(t)
	told := make(chan error, 1)
	s.hub.say = func(ctx context.Context) error {
		<-ctx.Done()
		told <- ctx.Err()
		return ctx.Err()
	}
	s.press("hello")
	_, cmd := s.m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	over := make(chan tea.Msg)
	go func() { over <- cmd() }()
	s.press("next", "ctrl+c")
	if err := <-told; !errors.Is(err, context.Canceled) || s.left {
		t.Errorf("%v, left %v", err, s.left)
	}
	s.update(<-over)
	if got := s.m.input.Value(); got != "next" || len(s.m.lines) != 0 || len(s.m.saying) != 0 {
		t.Errorf("typed %q, printed %q, still saying %d", got, s.m.lines, len(s.m.saying))
	}
	// With nothing on its way, it empties the line.
	s.press("x", "ctrl+c")
	if got := s.m.input.Value(); got != "" {
		t.Errorf("typed %q", got)
	}
}

// A turn in another thread is not what Ctrl-C means here.
func TestCtrlCSparesOtherThreads(t *testing.T) {
	s := newScreen(t)
	s.hub.say = func(ctx context.Context) error { return ctx.Err() }
	s.press("hello")
	_, cmd := s.m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.press("/thread trip", "enter", "ctrl+c")
	if said, ok := cmd().(saidMsg); !ok || said.err != nil {
		t.Errorf("%v; want ok, said.err to be nil", said)
	}
}

func TestQuestionsAndApprovalsInPlace(t *testing.T) {
	s := newScreen(t)
	question := &wire.AskUser{AskId: "q", Questions: []*wire.Question{{Question: "Colour?", Header: "Colour", Options: []*wire.QuestionOption{{Label: "red"}, {Label: "blue"}}}}}
	s.update(eventMsg{"", start("r", "crab"), nil})
	s.update(eventMsg{"", stream("r", &wire.StreamEvent{Event: &wire.StreamEvent_AskUser{AskUser: question}}), nil})
	s.shows("Colour?", "› red", "blue")
	s.press("down", "enter")
	// What is cut, or would be shown otherwise than it is, is not allowed from here.
	cut := &wire.Waiting{ApprovalId: "cut", Tool: "shell", Summary: "ls **x**\u202e" + strings.Repeat("y", 80) + "…"}
	s.update(eventMsg{"", stream("r", &wire.StreamEvent{Event: &wire.StreamEvent_Waiting{Waiting: cut}}), nil})
	s.shows("May it run shell?", "**x**⟨U+202E⟩", "parley approvals show cut")
	before := len(s.hub.asked)
	s.press("y")
	if got := s.hub.asked[before:]; len(got) > 0 {
		t.Errorf("a call that is not shown whole was allowed: %q", got)
	}
	s.update(eventMsg{"", stream("r", &wire.StreamEvent{Event: &wire.StreamEvent_Waiting{Waiting: &wire.Waiting{ApprovalId: "cut", Tool: "shell", Resolved: "rejected"}}}), nil})
	waiting := &wire.Waiting{ApprovalId: "w", Tool: "shell", Summary: "ls"}
	s.update(eventMsg{"", stream("r", &wire.StreamEvent{Event: &wire.StreamEvent_Waiting{Waiting: waiting}}), nil})
	s.shows("May it run shell?")
	s.press("y")
	if diff := cmp.Diff([]string{`reply q {"Colour?":"blue"}`, "approve w true"}, s.hub.asked); diff != "" {
		t.Error(diff)
	}
	// Answered elsewhere, it disappears here.
	s.update(eventMsg{"", stream("r", &wire.StreamEvent{Event: &wire.StreamEvent_Waiting{Waiting: &wire.Waiting{ApprovalId: "w", Tool: "shell", Resolved: "approved"}}}), nil})
	if s.m.chat.Consent() != nil {
		t.Error("the approval is still asked for")
	}
}

func TestThreadsAreApart(t *testing.T) {
	s := newScreen(t)
	s.press("/thread trip", "enter")
	s.update(eventMsg{"", said(1, "user", "", "of the main thread"), nil})
	s.update(eventMsg{"trip", said(1, "user", "", "of the trip"), nil})
	s.shows("thread trip", "of the trip", "#trip")
	if slices.ContainsFunc(s.m.lines, func(l string) bool { return strings.Contains(l, "main thread") }) {
		t.Error("a message of another thread is shown")
	}
	s.press("hi", "enter")
	if diff := cmp.Diff([]string{"say trip/: hi"}, s.hub.asked); diff != "" {
		t.Error(diff)
	}
}

func TestScrollingStaysWhereSomebodyReads(t *testing.T) {
	s := newScreen(t)
	for i := range 100 {
		s.update(eventMsg{"", said(uint64(i+1), "user", "", fmt.Sprintf("message %03d", i)), nil})
	}
	s.shows("message 099")
	s.press("pgup")
	before := plain(s.m.View().Content)
	s.update(eventMsg{"", said(200, "user", "", "newest"), nil})
	if diff := cmp.Diff(before, plain(s.m.View().Content)); diff != "" {
		t.Error(diff)
	}
	s.press("pgdown", "pgdown")
	s.shows("newest")
}
