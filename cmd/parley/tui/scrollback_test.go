package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	wire "parley.internal/protocol/agentfirst"
)

func messageOf(seq uint64, role, text, outcome string) *wire.ConversationEvent {
	return &wire.ConversationEvent{Seq: seq, Event: &wire.ConversationEvent_Message{Message: &wire.HistoryMessage{Seq: seq, Role: role, Content: text, Outcome: outcome}}}
}

func startOf(run string) *wire.ConversationEvent {
	return &wire.ConversationEvent{RunId: run, Event: &wire.ConversationEvent_Stream{Stream: &wire.StreamEvent{
		Event: &wire.StreamEvent_Start{Start: &wire.StreamStart{Agent: "parley", RunId: run}},
	}}}
}

func screenOf(t *testing.T) *Model {
	t.Helper()
	m := New(t.Context(), &hub{}, Options{Agent: "parley"})
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 40})
	return m
}

// A hub was killed in the middle of an answer. The chat went on to show the answer as being written.
func TestAHubThatDiesAndComesBackIsToldWithHowTheTurnEnded(t *testing.T) {
	m := screenOf(t)
	show := func(ev *wire.ConversationEvent) { m.Update(eventMsg{"", ev, nil}) }
	show(messageOf(1, "user", "Count to ten.", ""))
	show(startOf("r"))
	show(chunkOf("r", "One, two"))
	m.Update(lostMsg{"", errors.New("connection refused")})
	m.Update(lostMsg{"", errors.New("connection refused")})
	if text := strings.Join(m.lines, "\n"); strings.Count(text, "The hub is away (connection refused); trying again.") != 1 {
		t.Errorf("while the hub is away the screen says\n%s\nwant once that it is, and why", text)
	}
	show(messageOf(2, "assistant", "One, two", "interrupted"))
	show(&wire.ConversationEvent{Event: &wire.ConversationEvent_CaughtUp{CaughtUp: true}})
	text := strings.Join(m.lines, "\n")
	for _, want := range []string{"One, two", "interrupted", "connected again"} {
		if !strings.Contains(text, want) {
			t.Errorf("afterwards the screen says\n%s\nwant %q", text, want)
		}
	}
	if m.chat.Running() {
		t.Error("a turn that did not outlive the hub is still shown as running")
	}
}

func TestATurnThatOutlivesABreakIsStillRunning(t *testing.T) {
	m := screenOf(t)
	show := func(ev *wire.ConversationEvent) { m.Update(eventMsg{"", ev, nil}) }
	show(startOf("r"))
	show(chunkOf("r", "One"))
	m.Update(lostMsg{"", errors.New("gone")})
	show(startOf("r"))
	show(chunkOf("r", "One, two"))
	show(&wire.ConversationEvent{Event: &wire.ConversationEvent_CaughtUp{CaughtUp: true}})
	if !m.chat.Running() || m.chat.live.text.String() != "One, two" {
		t.Error("a turn that went on is not shown as it is")
	}
}

// Lines that were wrapped for a wide window were wrapped once more in a narrow one: a long line and
// a stump, in turns.
func TestANarrowWindowWrapsWhatWasSaidOnce(t *testing.T) {
	m := screenOf(t)
	words := strings.TrimSpace(strings.Repeat("seven letter things, ", 30))
	m.Update(eventMsg{"", messageOf(1, "user", words, ""), nil})
	m.Update(eventMsg{"", startOf("r"), nil})
	for _, piece := range strings.SplitAfter(words, " ") {
		m.Update(eventMsg{"", chunkOf("r", piece), nil})
	}
	m.Update(eventMsg{"", &wire.ConversationEvent{RunId: "r", Event: &wire.ConversationEvent_Stream{Stream: &wire.StreamEvent{
		Event: &wire.StreamEvent_End{End: &wire.StreamEnd{Agent: "parley", Seq: 2}},
	}}}, nil})
	m.Update(tea.WindowSizeMsg{Width: 61, Height: 40})
	narrow := strings.Join(m.lines, "\n")
	fresh := New(t.Context(), &hub{}, Options{Agent: "parley"})
	fresh.Update(tea.WindowSizeMsg{Width: 61, Height: 40})
	fresh.Update(eventMsg{"", messageOf(1, "user", words, ""), nil})
	fresh.Update(eventMsg{"", startOf("r"), nil})
	fresh.Update(eventMsg{"", chunkOf("r", words), nil})
	fresh.Update(eventMsg{"", &wire.ConversationEvent{RunId: "r", Event: &wire.ConversationEvent_Stream{Stream: &wire.StreamEvent{
		Event: &wire.StreamEvent_End{End: &wire.StreamEnd{Agent: "parley", Seq: 2}},
	}}}, nil})
	if want := strings.Join(fresh.lines, "\n"); narrow != want {
		t.Errorf("after narrowing the window it shows\n%s\nwant what a window of that width shows from the beginning\n%s", narrow, want)
	}
}
