package work_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// terminals remembers what an agent does with them.
type terminals struct {
	mu     sync.Mutex
	did    []string
	closed chan string
}

func (f *terminals) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, fmt.Sprintf(format, args...))
}

func (f *terminals) Open(_ context.Context, o work.TerminalOwner, s work.TerminalSpec) (string, error) {
	f.note("open %s %s for %s: %s", o.Actor, o.Actor.Person.ID, o.Actor.OnBehalf(), s.Command)
	return "t1", nil
}

func (f *terminals) Send(_ context.Context, _ work.TerminalOwner, id string, data []byte, wait time.Duration) (work.TerminalOutput, error) {
	f.note("send %s %q %v", id, data, wait)
	return work.TerminalOutput{Data: "42\r\n", Offset: 4, Status: "running"}, nil
}

func (f *terminals) Read(_ context.Context, _ work.TerminalOwner, id string, after int64, _ time.Duration) (work.TerminalOutput, error) {
	f.note("read %s after %d", id, after)
	if id != "t1" {
		return work.TerminalOutput{}, errors.New("there is no such terminal")
	}
	code := 3
	return work.TerminalOutput{Offset: 4, Status: "exited", ExitCode: &code}, nil
}

func (f *terminals) Close(_ context.Context, _ work.TerminalOwner, id string) error {
	f.note("close %s", id)
	return nil
}

func (f *terminals) CloseTask(_ context.Context, task string) { f.closed <- task }

func TestAnAgentUsesTerminalsOfItsTask(t *testing.T) {
	f := &terminals{closed: make(chan string, 1)}
	h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) { d.Terminals = f }))
	r := h.submit(mode(goal(`/tool terminal_open {"command":"sh"}`, `/tool terminal_send {"terminal_id":"t1","data":"echo $((6*7))\n","wait_ms":20}`,
		`/tool terminal_read {"terminal_id":"t1","after":4}`, `/tool terminal_close {"terminal_id":"t1"}`, `/tool terminal_read {"terminal_id":"t2"}`, "/say done"), viber.AgentDecides))
	for range 2 { // opening and typing ask, looking does not
		h.answer(alice, yes(untilType[*viber.ApprovalRequired](r).ApprovalID))
	}
	r.completed()
	want := `[open agent:parley alice for person:alice: sh send t1 "echo $((6*7))\n" 20ms read t1 after 4 close t1 read t2 after 0]`
	if got := fmt.Sprint(f.did); got != want {
		t.Errorf("%s; want %v", got, want)
	}
	results := r.results()
	for id, part := range map[string]string{"call_1_1": `"terminal_id":"t1"`, "call_2_1": `"data":"42\r\n"`, "call_3_1": `"exit_code":3`, "call_5_1": `"ok":false`} {
		if !strings.Contains(results[id], part) {
			t.Errorf("%s: %s; want strings.Contains(results[id], part)", id, results[id])
		}
	}
	if task := <-f.closed; task != r.id {
		t.Errorf("the terminals of %s were closed", task)
	}
	r = h.submit(goal(`/tool terminal_send {"terminal_id":"t1","data":"echo parley-deny-selftest\n"}`, "/say x"))
	r.completed()
	if !strings.Contains(r.results()["call_1_1"], `"denied"`) {
		t.Errorf("%v; want \"\"denied\"\" in it", r.results())
	}
	<-f.closed
}

func TestAnAgentRecallsItsOwnPersonOnly(t *testing.T) {
	h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) {
		d.Recall = func(_ context.Context, agent, sender, query string, limit int) (any, error) {
			return map[string]string{"asked": fmt.Sprintf("%s %s %s %d", agent, sender, query, limit)}, nil
		}
	}))
	r := h.submit(goal(`/tool recall {"query":"tea","limit":3}`, "/result"))
	if got := r.completed().Result.Text; got != `{"ok":true,"output":{"asked":"parley alice tea 3"}}` {
		t.Errorf("got is %v; want \"{\"ok\":true,\"output\":{\"asked\":\"parley alice tea 3\"}}\"", got)
	}
}

func TestAnAgentHasOnlyTheToolsItsFileLists(t *testing.T) {
	h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) { d.Tools, d.Terminals = nil, &terminals{closed: make(chan string, 1)} }))
	h.agents.put(t, "bare", "---\ntools: [recall]\n---\n")
	r := h.submit(with(goal(`/tool ask_user {"questions":[{"question":"?"}]}`, "/context"), func(o *viber.TaskOptions) { o.Agent = "bare" }))
	done := r.completed()
	if !strings.Contains(done.Result.Text, `"tools":[]`) || !strings.Contains(r.results()["call_1_1"], `"not_found"`) {
		t.Errorf("%s %v; want \"\"tools\":[]\" in it, \"\"not_found\"\" in it", done.Result.Text, r.results())
	}
}

// A stop was confirmed while what ran in the task's terminals was still being ended.
func TestAStopIsConfirmedOnceTheTerminalsHaveEnded(t *testing.T) {
	f := &terminals{closed: make(chan string)} // whoever ends terminals waits for us
	h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) { d.Terminals = f }))
	r := h.submit(mode(goal(`/tool terminal_open {"command":"sh"}`), viber.AgentDecides))
	untilType[*viber.ApprovalRequired](r)
	stopped := make(chan *viber.TaskStopped, 1)
	go func() { stopped <- r.stopTask() }()
	select {
	case task := <-f.closed:
		if task != r.id {
			t.Errorf("the terminals of %q were ended, and %q was stopped", task, r.id)
		}
	case <-stopped:
		t.Error("the stop was confirmed before the task's terminals were ended")
	}
	<-f.closed // what was opened meanwhile
}
