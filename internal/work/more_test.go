package work_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/viber"
)

// connector is a tool whose programs want a host while they run.
func connector(reached *atomic.Int32) *tool.Tool {
	network := &tool.Tool{
		Name: builtin.NetworkTool, Class: tool.Sensitive,
		Reach: func(args json.RawMessage) string { return string(args) },
	}
	return &tool.Tool{
		Name: "program", Class: tool.ReadOnly, Timeout: -1,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := call.Permit(ctx, network, json.RawMessage(`{"host":"new.example"}`)); err != nil {
				return tool.Result{}, err
			}
			reached.Add(1)
			return tool.Result{Text: `"reached"`}, nil
		},
	}
}

func TestACallThatRunsAsksForOneMoreThing(t *testing.T) {
	var reached atomic.Int32
	h := newHub(t, sqlite(t), withTools(connector(&reached)))
	r := h.submit(mode(goal("/tool program {}", "/tool program {}", "/say done"), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	if asked.ToolCall.Name != "network" || string(asked.ToolCall.Arguments) != `{"host":"new.example"}` || !strings.Contains(asked.Reason, "new.example") {
		t.Errorf("the question is about %s %s because %s; expected the host", asked.ToolCall.Name, asked.ToolCall.Arguments, asked.Reason)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the host was reached %d times before anybody said yes", n)
	}
	a := yes(asked.ApprovalID)
	a.Remember = viber.RememberTask
	h.answer(alice, a)
	r.completed()
	if n := reached.Load(); n != 2 || len(ofType[*viber.ApprovalRequired](r)) != 1 {
		t.Errorf("reached %d times after %d questions; expected both calls to go on after one yes for the task", n, len(ofType[*viber.ApprovalRequired](r)))
	}

	r = h.submit(mode(goal("/tool program {}", "/say done"), viber.AgentDecides))
	h.answer(alice, no(untilType[*viber.ApprovalRequired](r).ApprovalID, "not this one"))
	r.completed()
	if text := r.results()["call_1_1"]; !strings.Contains(text, "not this one") || reached.Load() != 2 {
		t.Errorf("after a no the call said %s and the host was reached %d times", text, reached.Load()-2)
	}

	h.submit(mode(goal("/tool program {}", "/say done"), viber.AlwaysExecute)).completed()
	if reached.Load() != 3 {
		t.Error("a task that may do everything did not reach the host")
	}

	r = h.submit(mode(goal("/tool program {}", "/say done"), viber.AgentDecides))
	open := untilType[*viber.ApprovalRequired](r)
	r.stopTask()
	if late := h.answer(alice, yes(open.ApprovalID)); late.First || reached.Load() != 3 {
		t.Errorf("a yes after the task was stopped counted: %+v, reached %d times", late, reached.Load()-3)
	}
}

// After a restart the program that asked is gone. A yes to its host must not be taken for a yes to
// anything else, its command least of all.
func TestTheQuestionOfAProgramEndsWithItsHub(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var reached atomic.Int32
		h := newHub(t, db, withTools(connector(&reached)))
		r := h.submit(continuing(mode(goal("/tool program {}", "/say done"), viber.AgentDecides)))
		asked := untilType[*viber.ApprovalRequired](r)
		r.stop()
		next := again(t, h, withTools(connector(&reached)))
		back := next.followAll(r.id)
		back.completed()
		back.numbered()
		if got := ofType[*viber.ApprovalResolved](back); len(got) != 1 || got[0].Outcome != viber.Cancelled || got[0].ApprovalID != asked.ApprovalID {
			t.Errorf("the question was not withdrawn: %s", back.describe())
		}
		if text := back.results()["call_1_1"]; !strings.Contains(text, `"interrupted"`) {
			t.Errorf("the call that asked says %s; expected that it was interrupted", text)
		}
		if late := next.answer(alice, yes(asked.ApprovalID)); late.First || reached.Load() != 0 {
			t.Errorf("a yes after the restart counted: %+v, reached %d times", late, reached.Load())
		}
	})
}
