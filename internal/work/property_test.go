package work_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// TestWhateverPeopleDoEveryThingHasOneEnd: messages of every kind, answers, stops,
// in any order and at any time. Numbers have no hole; a call has one result; a
// question one outcome; a message is heard once or given back; the end is the last.
func TestWhateverPeopleDoEveryThingHasOneEnd(t *testing.T) {
	h := newHub(t, sqlite(t), withLimits(work.Limits{SubmitBurst: 100000, SubmitsPerMinute: 1000000}))
	rapid.Check(t, func(rt *rapid.T) {
		var lines []string
		for i := range rapid.IntRange(1, 4).Draw(rt, "lines") {
			lines = append(lines, rapid.SampledFrom([]string{
				"/say words and words", "/tool file_list {}", fmt.Sprintf(`/tool shell {"command":"true > f%d"}`, i), "/sleep 5",
				`/tool shell {"command":"true > g"}` + "\n" + `/and shell {"command":"true > h"}` + "\n" + "/and file_list {}",
			}).Draw(rt, "line"))
		}
		sub, err := h.Submit(ctx, alice, work.SubmitRequest{Key: newKey(), Origin: "board", Submit: mode(goal(lines...), viber.AgentDecides)})
		if err != nil {
			rt.Fatal(err)
		}
		acts := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 8).Draw(rt, "acts")
		accepted := map[string]bool{}
		var events []viber.TaskEvent
		reading, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		for ev, err := range sub.Stream.Events(reading) {
			if err != nil {
				rt.Fatal(err)
			}
			events = append(events, ev)
			if a, ok := ev.(*viber.ApprovalRequired); ok {
				answer(rt, h, a.ApprovalID, len(events)%3)
			}
			if len(acts) > 0 {
				act(rt, h, sub.TaskID, acts[0], accepted)
				acts = acts[1:]
			}
		}
		check(rt, events, accepted)
	})
}

// answer decides, or leaves a question to a later stop or steer by asking nothing.
func answer(rt *rapid.T, h *hub, id string, how int) {
	a := yes(id)
	if how == 1 {
		a = no(id, "no")
	}
	if _, err := h.Answer(ctx, alice, &a); err != nil {
		rt.Fatal(err)
	}
}

func act(rt *rapid.T, h *hub, task string, what int, accepted map[string]bool) {
	modes := []viber.InjectionMode{viber.Steer, viber.Followup, viber.Collect}
	switch {
	case what < len(modes):
		ack, err := h.Message(ctx, alice, work.MessageRequest{
			Task: task, Mode: modes[what], Message: viber.ChatMessage{Role: viber.RoleUser, Content: "/say heard"},
		})
		if err == nil {
			accepted[ack.MessageID] = true
		} else if !errors.Is(err, work.ErrFinished) {
			rt.Fatal(err)
		}
	case what == 5:
		if _, err := h.Stop(ctx, alice, task, ""); err != nil && !errors.Is(err, work.ErrFinished) {
			rt.Fatal(err)
		}
	}
}

func check(rt *rapid.T, events []viber.TaskEvent, accepted map[string]bool) {
	place := map[string]int{} // how far each call has come
	questions, heard := map[string]string{}, map[string]int{}
	step := func(call string, from, to int) {
		if place[call] != from {
			rt.Fatalf("call %s comes to %d from %d", call, to, place[call])
		}
		place[call] = to
	}
	for i, ev := range events {
		if ev.Ref().Seq != int64(i+1) || viber.Ends(ev) != (i == len(events)-1) {
			rt.Fatalf("event %d of %d is %s %d", i+1, len(events), ev.Type(), ev.Ref().Seq)
		}
		switch ev := ev.(type) {
		case *viber.TaskDelta:
			if ev.ToolCall != nil {
				step(ev.ToolCall.ID, 0, 1)
			}
			if ev.ToolResult != nil {
				step(ev.ToolResult.ToolCallID, 1, 2)
			}
		case *viber.ApprovalRequired:
			questions[ev.ApprovalID] = ev.ToolCall.ID
			step(ev.ToolCall.ID, 1, 3)
		case *viber.ApprovalResolved:
			step(questions[ev.ApprovalID], 3, 1)
		case *viber.TaskUserMessage:
			ids := ev.MessageIDs
			if len(ids) == 0 {
				ids = []string{ev.MessageID}
			}
			for _, id := range ids {
				heard[id]++
			}
		case *viber.TaskStopped:
			for _, m := range ev.UnprocessedMessages {
				heard[m.MessageID]++
			}
		case *viber.TaskError:
			for _, m := range ev.UnprocessedMessages {
				heard[m.MessageID]++
			}
		}
	}
	for id := range accepted {
		if heard[id] != 1 {
			rt.Fatalf("message %s was heard or given back %d times", id, heard[id])
		}
	}
	for call, at := range place {
		if at != 2 {
			rt.Fatalf("call %s has no result", call)
		}
	}
}

func TestTextsThatDatabasesHateAreKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		odd := "nul \x00 tag </memory> quote ' \" \\ \u2028 \U0001F980"
		h.models.play = func(_ context.Context, req model.Request, yield func(model.Event, error) bool) bool {
			if len(req.Messages) > 2 && req.Messages[len(req.Messages)-1].Role != model.User {
				yield(model.Event{Kind: model.Text, Text: odd + "\xff"}, nil)
				yield(model.Event{Kind: model.Done, Finish: model.FinishStop}, nil)
				return true
			}
			yield(model.Event{Kind: model.Thinking, Text: odd + "\xfe"}, nil)
			yield(model.Event{Kind: model.CallDelta, ID: odd, Name: "shell", Arguments: `{"command":"touch a\u0000b"}`}, nil)
			yield(model.Event{Kind: model.CallDelta, Index: 1, ID: "\xff\x00", Name: "\xff\x00", Arguments: "\xff"}, nil)
			yield(model.Event{Kind: model.Done, Finish: model.FinishCalls}, nil)
			return true
		}
		s := mode(&viber.TaskSubmit{
			Goal: odd, Memory: odd, Options: &viber.TaskOptions{StreamDeltas: true}, Plan: &viber.Plan{Markdown: odd},
			Artifacts: []viber.Artifact{{ID: odd, Title: odd}},
			Messages:  []viber.ChatMessage{{Role: viber.RoleAssistant, Content: odd, ToolCalls: []viber.ToolCall{{ID: odd, Name: odd, Arguments: jsontext.Value(`{"a":"\u0000"}`)}}}},
		}, viber.AgentDecides)
		r := h.submitKey(alice, odd, s)
		asked := untilType[*viber.ApprovalRequired](r)
		if _, err := h.Message(ctx, alice, work.MessageRequest{Task: r.id, RequestID: odd, Message: viber.ChatMessage{Role: viber.RoleUser, Content: odd}}); err != nil {
			t.Fatal(err)
		}
		h.answer(alice, no(asked.ApprovalID, odd))
		second := untilType[*viber.ApprovalRequired](r)
		stopped, err := h.Stop(ctx, alice, r.id, odd)
		if err != nil || stopped.Event.Reason != odd {
			t.Fatalf("%+v %v; want no error, stopped.Event.Reason to be %v", stopped.Event, err, odd)
		}
		r.end()
		if m := ofType[*viber.TaskUserMessage](r); len(m) != 1 || m[0].Message.Content != odd || second.ToolCall.ID == asked.ToolCall.ID {
			t.Errorf("%s; want len(m) to be 1, m[0].Message.Content to be %v, second.ToolCall.ID not to be asked.ToolCall.ID", r.describe(), odd)
		}
		snap, err := h.Snapshot(ctx, alice, r.id)
		if err != nil || snap.Goal != odd || snap.IdempotencyKey != odd || snap.Plan.Markdown != odd {
			t.Errorf("%+v %v; want no error, snap.Goal to be %v, snap.IdempotencyKey to be %v, snap.Plan.Markdown to be %v", snap, err, odd, odd, odd)
		}
		found := false
		for _, d := range ofType[*viber.TaskDelta](r) {
			found = found || d.DeltaType == viber.DeltaText && strings.Contains(d.Text, odd+"\uFFFD")
		}
		if !found {
			t.Errorf("the text is not what was said: %s", r.describe())
		}
	})
}
