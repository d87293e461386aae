package fleet_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
)

// herd is machines with a tag, of which some fail.
func (w *world) herd(n int, fails func(i int) bool) *atomic.Int64 {
	ran := &atomic.Int64{}
	for i := range n {
		id := fmt.Sprintf("m%02d", i)
		w.join(id).answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
			ran.Add(1)
			if fails(i) {
				return nil, &kenny.Error{Code: "exec_failed", Message: "no"}
			}
			return jsontext.Value(`{}`), nil
		})
		must(w.fleet.Edit(w.t.Context(), op(), id, fleet.Edit{Tags: &[]string{"lab"}}))(w.t)
	}
	return ran
}

func TestFanOutGivesPartialResults(t *testing.T) {
	w := newWorld(t, setup{})
	ran := w.herd(6, func(i int) bool { return i%3 == 0 })
	must(w.fleet.Create(t.Context(), op(), "m99", "", []string{"lab"}))(t)
	r := must(w.fleet.FanOut(t.Context(), op(), fleet.FanRequest{Tag: "lab", Tool: "net_dns_flush"}))(t)
	if len(r.Items) != 7 || r.Done != 4 || r.Failed != 3 || r.Stopped || ran.Load() != 6 {
		t.Errorf("%+v", r)
	}
	for i, it := range r.Items {
		switch {
		case i == 6 && it.Error.Code != fault.Offline, i < 6 && i%3 == 0 && it.Error.Code != fault.ExecFailed, i < 6 && i%3 != 0 && it.State != call.StateDone, it.CallID == "":
			t.Errorf("%d: %+v", i, it)
		}
	}
}

func TestAFailingCanaryStopsTheRest(t *testing.T) {
	w := newWorld(t, setup{})
	ran := w.herd(8, func(i int) bool { return i == 1 })
	r := must(w.fleet.FanOut(t.Context(), op(), fleet.FanRequest{Tag: "lab", Tool: "net_dns_flush", Canary: 2}))(t)
	if ran.Load() != 2 || !r.Stopped || r.Done != 1 || r.Failed != 1 || r.Items[7].State != call.StateCancelled || !r.Items[0].Canary {
		t.Errorf("%d ran: %+v", ran.Load(), r)
	}
	ran.Store(0)
	r = must(w.fleet.FanOut(t.Context(), op(), fleet.FanRequest{Tag: "lab", Tool: "net_dns_flush", Parallel: 1, StopOnError: true}))(t)
	if ran.Load() != 2 || !r.Stopped {
		t.Errorf("%d ran: %+v", ran.Load(), r)
	}
}

// A canary whose script said "exit 5" was taken for a success, and every machine ran it.
func TestAnExitCodeThatIsNotZeroIsAFailureOfManyAtOnce(t *testing.T) {
	w := newWorld(t, setup{})
	ran := &atomic.Int64{}
	for i := range 6 {
		id := fmt.Sprintf("m%02d", i)
		w.join(id).answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
			ran.Add(1)
			return jsontext.Value(`{"stdout":"half way\n","stderr":"","exit_code":5}`), nil
		})
		must(w.fleet.Edit(t.Context(), op(), id, fleet.Edit{Tags: &[]string{"lab"}}))(t)
	}
	for name, req := range map[string]fleet.FanRequest{"canary": {Canary: 1}, "stop on error": {StopOnError: true, Parallel: 1}} {
		ran.Store(0)
		req.Tag, req.Tool, req.Args = "lab", "shell_exec", jsontext.Value(`{"script":"exit 5"}`)
		r := must(w.fleet.FanOut(t.Context(), op(), req))(t)
		if ran.Load() != 1 || !r.Stopped || r.Failed != 1 || r.Done != 0 {
			t.Errorf("%s: %d machines ran a script that fails, instead of one: %+v", name, ran.Load(), r)
		}
		first := r.Items[0]
		if first.Error == nil || first.Error.Code != fault.ExecFailed || !strings.Contains(first.Error.Message, "exit code 5") || !strings.Contains(string(first.Result), "half way") {
			t.Errorf("%s: the failed share does not say why, with its output: %+v", name, first)
		}
	}
}

func TestFanOutAsksOnceForAll(t *testing.T) {
	w := newWorld(t, setup{})
	ran := w.herd(3, func(int) bool { return false })
	seen := make(chan call.Question, 8)
	ask := func(yes bool) (fleet.FanResult, error) {
		return w.fleet.FanOut(t.Context(), as(identity.AtMCP, fullMCP...), fleet.FanRequest{
			Tag: "lab", Tool: "net_dns_flush", Approver: clientApprover{seen, call.Decision{Approved: yes, By: "person:owner", How: "elicitation"}, nil},
		})
	}
	r, err := ask(true)
	q := receive(t, seen, "question")
	if err != nil || r.Done != 3 || len(q.Machines) != 3 || len(seen) != 0 || !strings.Contains(q.Title, "3 machines") {
		t.Errorf("%+v %v %+v; want no error, r.Done to be 3, len(q.Machines) to be 3, len(seen) to be 0, \"3 machines\" in it", r, err, q)
	}
	_, err = ask(false)
	wantCode(t, err, fault.Denied)
	got := make(chan error, 1)
	go func() {
		_, err := w.fleet.FanOut(t.Context(), as(identity.InConversation, fullMCP...), fleet.FanRequest{Tag: "lab", Tool: "net_dns_flush"})
		got <- err
	}()
	item := w.pending()
	if !strings.Contains(string(item.Arguments), `"m00","m01","m02"`) {
		t.Errorf("%s; want \"\"m00\",\"m01\",\"m02\"\" in it", item.Arguments)
	}
	w.decide(item.ID, true, "")
	check(t, receive(t, got, "answer"))
	if ran.Load() != 6 {
		t.Errorf("%d ran", ran.Load())
	}
}

func TestFanOutNeedsOneWayToChoose(t *testing.T) {
	w := newWorld(t, setup{})
	w.herd(1, func(int) bool { return false })
	for _, req := range []fleet.FanRequest{{}, {Tag: "lab", All: true}, {Machines: []string{"m00"}, Tag: "lab"}} {
		req.Tool = "net_config"
		_, err := w.fleet.FanOut(t.Context(), op(), req)
		wantCode(t, err, fault.BadArgs)
	}
	_, err := w.fleet.FanOut(t.Context(), op(), fleet.FanRequest{Tag: "nobody", Tool: "net_config"})
	wantCode(t, err, fault.NotFound)
}
