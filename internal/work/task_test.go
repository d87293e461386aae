package work_test

import (
	"testing"

	"parley/protocol/viber"
)

func TestATaskStartsStreamsAndCompletes(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submitKey(alice, "my-key", goal("/say Hello there. And more.", "/usage 10 4"))
	started := untilType[*viber.TaskStarted](r)
	if started.Seq != 1 || started.IdempotencyKey != "my-key" || started.Attempt != 1 || started.Agent != "parley" || started.EffectiveMode != viber.AlwaysExecute {
		t.Errorf("%+v", started)
	}
	done := r.completed()
	if done.Result.Text != "Hello there. And more." || done.Result.Summary != "Hello there." || r.text() != done.Result.Text {
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
}
