package work_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// patient makes a hub that looks seldom by itself, so that days can pass.
func patient(h *hub, d *work.Deps) {
	_ = h.inbox.Close()
	inbox, err := approval.Open(context.Background(), h.db, h.bus, approval.Options{Recheck: time.Hour})
	if err != nil {
		h.t.Fatal(err)
	}
	h.inbox, d.Inbox, d.Limits.Sweep = inbox, inbox, time.Hour
}

// Who approves from a phone may be away for days. A question waits for seven days and
// no longer, unless the agent or the task says otherwise.
func TestAQuestionWaitsForDays(t *testing.T) {
	ask := mode(goal(`/tool shell {"command":"touch x"}`, "/result"), viber.AgentDecides)
	for name, c := range map[string]struct {
		agent string
		ms    int64
		waits time.Duration
	}{
		"usually":     {"", 0, 7 * 24 * time.Hour},
		"the agent":   {"approval_timeout: 2d\n", 0, 48 * time.Hour},
		"the task":    {"approval_timeout: 2d\n", 3_600_000, time.Hour},
		"the longest": {"", 2_592_000_000, 30 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub(t, sqlite(t), patient)
				h.agents.put(t, "parley", "---\ntools: [\"*\"]\n"+c.agent+"---\nYou are Parley.")
				s := *ask
				o := *ask.Options
				o.ApprovalTimeoutMS = c.ms
				s.Options = &o
				r := h.submit(&s)
				untilType[*viber.ApprovalRequired](r)
				<-time.After(c.waits - time.Minute)
				if list, err := h.Approvals(ctx, alice); err != nil || len(list) != 1 || list[0].TimeoutMS > 60_000 {
					t.Fatalf("a minute before the end %d questions wait (%v), want the one, with a minute left", len(list), err)
				}
				<-time.After(2 * time.Minute)
				back := h.followAll(r.id)
				back.completed()
				if got := ofType[*viber.ApprovalResolved](back); len(got) != 1 || got[0].Outcome != viber.Expired {
					t.Errorf("a minute after the end the decisions are %v, want one that it expired", got)
				}
			})
		})
	}
}

// A task that only waits for a person uses up no time of its own and writes nothing,
// however long it takes; what it does before and after counts.
func TestWaitingForAPersonCostsNothing(t *testing.T) {
	for _, c := range []struct {
		before, after time.Duration
		ends          bool
	}{{20 * time.Second, 38 * time.Second, true}, {20 * time.Second, 42 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			h := newHub(t, sqlite(t), patient)
			r := h.submit(with(goal(fmt.Sprintf("/sleep %d", c.before.Milliseconds()), `/tool shell {"command":"touch x"}`, fmt.Sprintf("/sleep %d", c.after.Milliseconds()), "/say done"), func(o *viber.TaskOptions) { o.Mode, o.TimeoutMS = viber.AgentDecides, 60_000 }))
			r.stop()
			<-time.After(c.before + time.Second)
			asked, err := h.Approvals(ctx, alice)
			if err != nil || len(asked) != 1 {
				t.Fatalf("%d questions wait (%v), want one", len(asked), err)
			}
			snap, err := h.Snapshot(ctx, alice, r.id)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * 24 * time.Hour)
			later, err := h.Snapshot(ctx, alice, r.id)
			if err != nil || later.LastSeq != snap.LastSeq {
				t.Errorf("three days of waiting wrote %d events (%v), want none", later.LastSeq-snap.LastSeq, err)
			}
			h.answer(alice, yes(asked[0].ApprovalID))
			<-time.After(c.after + time.Second)
			back := h.followAll(r.id)
			if c.ends {
				back.completed()
			} else {
				back.failed(viber.CodeTimeout)
			}
		})
	}
}

// Everybody who is asked may be away. What waits takes no place of what runs, and whatever it
// holds does not grow with the days.
func TestManyTasksWaitForDaysAndNothingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, many = 2, 19
		h := newHub(t, sqlite(t), patient, func(_ *hub, d *work.Deps) { d.Limits.RunningPerPrincipal = most })
		idle := runtime.NumGoroutine()
		for range many {
			r := h.submit(mode(goal(`/tool shell {"command":"touch x"}`), viber.AgentDecides))
			untilType[*viber.ApprovalRequired](r)
			r.stop()
		}
		synctest.Wait()
		waiting, calls := runtime.NumGoroutine(), len(h.models.sent())
		if each := (waiting - idle) / many; each > 2 {
			t.Errorf("a task that waits holds %d goroutines, want at most 2", each)
		}
		<-time.After(3 * 24 * time.Hour)
		synctest.Wait()
		if now := runtime.NumGoroutine(); now > waiting {
			t.Errorf("after three days there are %d goroutines, want no more than the %d there were", now, waiting)
		}
		if now := len(h.models.sent()); now != calls {
			t.Errorf("a model was called %d times while %d tasks waited, want never", now-calls, many)
		}
		h.submit(goal("/say through")).completed()
		untilType[*viber.ApprovalRequired](h.submit(mode(goal(`/tool shell {"command":"touch x"}`), viber.AgentDecides)))
		_, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "more", Submit: mode(goal(`/tool shell {"command":"touch x"}`), viber.AgentDecides)})
		if l, ok := errors.AsType[*work.LimitError](err); !ok || l.Reason != viber.ReasonTooManyTasks {
			t.Errorf("with %d that wait, one more is answered %v, want that there are too many", many+1, err)
		}
	})
}

// The time in which no hub had the task is not the task's either.
func TestTheTimeWithoutAHubIsNotTheTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), patient)
		r := h.submit(goal("/tool file_list {}", "/sleep 1200000", "/say done"))
		r.until(func(viber.TaskEvent) bool { return len(r.results()) == 1 })
		r.stop()
		h.stop()
		<-time.After(2 * time.Hour)
		next := again(t, h, patient)
		<-time.After(21 * time.Minute)
		next.followAll(r.id).completed()
	})
}

// A task that its hubs do not survive is not taken up for ever.
func TestATaskIsTakenOverOnlySoOftenWithoutGettingAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), patient)
		r := h.submit(goal("/sleep 600000", "/say done"))
		r.stop()
		for range 10 {
			h = again(t, h, patient)
			synctest.Wait()
			if snap, err := h.Snapshot(ctx, alice, r.id); err != nil || snap.Status != viber.TaskRunning {
				t.Fatalf("%+v %v, want the task running", snap, err)
			}
		}
		h = again(t, h, patient)
		if e := h.followAll(r.id).failed(viber.CodeInternalError); e.Details.Reason != viber.ReasonDaemonRestarted {
			t.Errorf("the eleventh time it ends with %+v, want daemon_restarted", e.Details)
		}
	})
}

// Who is told that a task has stopped may use the files again: nothing of it runs any more.
func TestAStopIsConfirmedWhenTheProgramsHaveEnded(t *testing.T) {
	h := newHub(t, sqlite(t))
	mark := filepath.Join(h.workspace, "mark")
	r := h.submit(goal(`/tool shell {"command":"trap 'sleep 0.3; echo late > late; exit' TERM; echo $$ > mark; while :; do sleep 0.05; done"}`, "/say no"))
	if !waitFile(mark) {
		t.Fatal("the command did not begin")
	}
	r.stopTask()
	pid, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("the stop is confirmed while the command still runs")
	}
	if _, err := os.Stat(filepath.Join(h.workspace, "late")); err != nil {
		t.Errorf("the command was not given the time to end by itself: %v", err)
	}
}
