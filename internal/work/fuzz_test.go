package work

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/eventlog"
	"parley.internal/protocol/viber"
)

// samples are one event of each kind.
func samples() []viber.TaskEvent {
	tokens := int64(3)
	return []viber.TaskEvent{
		&viber.TaskStarted{IdempotencyKey: "k", Agent: "parley", EffectiveMode: viber.AlwaysAsk, Attempt: 2},
		&viber.TaskProgress{Status: viber.Planning, TokensUsed: &tokens, Message: "m"},
		&viber.TaskDelta{DeltaType: viber.DeltaText, Text: "a\x00\u2028"},
		&viber.TaskDelta{DeltaType: viber.DeltaToolCall, ToolCall: &viber.ToolCallDelta{ID: "c", Name: "n", Arguments: `{"a":`}},
		&viber.TaskDelta{DeltaType: viber.DeltaToolResult, ToolResult: &viber.ToolResultDelta{ToolCallID: "c", Result: []byte(`{"ok":true}`)}},
		&viber.TaskUserMessage{MessageID: "m", Message: viber.ChatMessage{Role: viber.RoleUser, Content: "hi"}, Mode: viber.Steer, By: "person:a"},
		&viber.ApprovalRequired{ApprovalID: "a", ToolCall: viber.ToolCall{ID: "c", Name: "n", Arguments: []byte(`{"x":1}`)}, Reason: "r"},
		&viber.ApprovalResolved{ApprovalID: "a", Outcome: viber.Expired},
		&viber.TaskCompleted{Result: viber.TaskResult{Text: "t"}},
		viber.NewTaskFailure("", viber.ErrorInfo{Type: viber.CodeTimeout, Message: "m"}, "t", viber.NewUsage(1, 2, nil)),
		&viber.TaskStopped{PartialResult: &viber.PartialResult{Text: "t"}, By: "person:a"},
	}
}

func TestEveryEventIsReadAsItWasWritten(t *testing.T) {
	for _, ev := range samples() {
		*ev.Ref() = viber.TaskRef{TaskID: "task", Seq: 7, Turn: 300}
		e, err := encodeEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq = 7
		got, err := decodeEvent("task", e, 6)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Errorf("%s: %s; want no difference", ev.Type(), diff)
		}
	}
}

// FuzzDecodeEvent: whatever is in a log, reading it neither panics nor changes it.
func FuzzDecodeEvent(f *testing.F) {
	for _, ev := range samples() {
		e, err := encodeEvent(ev)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Kind, e.Data)
	}
	f.Add("task:delta", []byte("{"))
	f.Add("text", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add("nonsense", []byte(nil))
	f.Add("texts", []byte{1, 1, 2, 'h', 'i'})
	f.Add("texts", []byte{1, 0xff, 0xff, 0x7f, 2})
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		ev, err := decodeEvent("task", eventlog.Event{Seq: 1, From: 1, Kind: kind, Data: data}, 0)
		if err != nil {
			return
		}
		if ref := ev.Ref(); ref.TaskID != "task" || ref.Seq != 1 {
			t.Fatalf("%+v; want ref.TaskID to be \"task\", ref.Seq to be 1", ref)
		}
		again, err := encodeEvent(ev)
		if err != nil {
			t.Fatalf("%s cannot be written again: %v", kind, err)
		}
		if kind == textKind && ev.Ref().Turn < 128 && len(data) > 0 && data[0] < 128 && !bytes.Equal(again.Data, data) {
			t.Fatalf("%q became %q", data, again.Data)
		}
	})
}
