package talk_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
)

const (
	crashVar    = "PARLEY_TALK_TEST_CHILD"
	crashMidVar = "PARLEY_TALK_TEST_MIDDLE" // the child is killed in the middle of an answer
)

const crashScript = "/say round one\n/tool echo {\"n\":1}\n/and echo {\"n\":2}\n/say round two\n/tool echo {\"n\":3}\n/say the answer"

// failing is a testing.TB for a child process, which has no test.
type failing struct {
	testing.TB
	cleanups []func()
}

func (*failing) Helper()                   {}
func (*failing) Fatal(args ...any)         { fmt.Println("fatal", fmt.Sprint(args...)); os.Exit(3) }
func (*failing) Fatalf(f string, a ...any) { fmt.Println("fatal", fmt.Sprintf(f, a...)); os.Exit(3) }
func (f *failing) Error(args ...any)       { f.Fatal(args...) }
func (f *failing) Cleanup(fn func())       { f.cleanups = append(f.cleanups, fn) }

// runCrashChild is the other life of this test program: a hub that has a turn with
// two more waiting, tells every event once it has happened, and waits to be killed.
func runCrashChild() bool {
	target := os.Getenv(crashVar)
	if target == "" {
		return false
	}
	t := &failing{}
	db, err := store.Open(context.Background(), target, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(crashMidVar) != "" {
		crashMid(t, db)
	}
	g := newGate()
	slow := g.tool("slow")
	h := newHub(t, db, withTools(echo(), slow))
	hold := h.begin(talk.TurnRequest{Content: "/tool slow", Detached: true})
	<-g.called
	for _, text := range []string{crashScript, "/say waited"} {
		run := h.begin(talk.TurnRequest{Content: text, Detached: true})
		fmt.Println("accepted", run.ID)
		defer run.Leave()
		go func() {
			for ev, err := range run.Events(context.Background()) {
				fmt.Println("event", ev.Kind, err)
			}
		}()
	}
	g.open <- struct{}{}
	for range hold.Events(context.Background()) {
		continue
	}
	select {}
}

// crashMid has an answer that stops in the middle, and tells when what was said of it is
// on disk.
func crashMid(t *failing, db *store.DB) {
	h := newHub(t, db)
	h.begin(talk.TurnRequest{Content: "/say half an answer\n/sleep 600000", Detached: true})
	for n := 0; n == 0; <-time.After(10 * time.Millisecond) {
		err := db.Read(context.Background(), func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT count(*) FROM talk_runs WHERE ended_at = 0 AND length(text) > 0`).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("kept")
	select {}
}

func TestKill9InTheMiddleOfAnAnswerKeepsWhatWasSaid(t *testing.T) {
	t.Setenv(crashMidVar, "1")
	target := storetest.File(t)
	crashAt(t, target, 1)
	h := newHub(t, storetest.Open(t, target), nextLife)
	h.say("/say after the crash")
	if got := h.outcomes(t); got["half an answer"] != "interrupted " || got["after the crash"] != "complete " {
		t.Errorf("after a kill the history tells %v", got)
	}
}

// nextLife knows that the life before it is over, and need not wait until it counts as dead.
var nextLife = withLease(lease.Options{Alone: true})

// crashAt starts a child, kills it after so many lines and tells what it said.
func crashAt(t *testing.T, target string, lines int) (said []string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashVar+"="+target)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		said = append(said, scan.Text())
		if len(said) == lines {
			_ = child.Process.Kill()
		}
	}
	_ = child.Wait()
	if len(said) < lines {
		t.Fatalf("the child said only %q", said)
	}
	return said
}

// Killed between any two events, nothing acknowledged is lost, the window is
// whole, waiting turns go on and nothing is run twice.
func TestKill9BetweenAnyTwoEvents(t *testing.T) {
	for lines := 2; lines <= 26; lines += 4 {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			target := storetest.File(t)
			said := crashAt(t, target, lines)
			db := storetest.Open(t, target)
			h := newHub(t, db, withTools(echo()), nextLife)
			got := h.say("/say after the crash")
			if got.text() != "after the crash" {
				t.Fatal(got)
			}
			list := strings.Join(h.stored(crab), "\n")
			accepted := 0
			for _, line := range said {
				if strings.HasPrefix(line, "accepted") {
					accepted++
				}
			}
			for _, text := range append([]string{crashScript, "/say waited"}[:accepted], "/say after the crash") {
				if n := strings.Count(list, "user "+text); n != 1 {
					t.Errorf("%q is there %d times; the child said %q", text, n, said)
				}
			}
			checkWhole(t, h)
			req := h.models.last(t)
			h.stop()
			again := newHub(t, db, withTools(echo()))
			again.say("/say and again")
			before, after := plain(req), plain(again.models.last(t))
			if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
				t.Errorf("the model is sent something else after another restart: %s", diff)
			}
		})
	}
}

// checkWhole checks that every call is answered right behind it, every run has
// ended, and every reply belongs to the words before it.
func checkWhole(t *testing.T, h *hub) {
	t.Helper()
	c, err := h.mem.Find(t.Context(), crab)
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.mem.Messages(t.Context(), c.ID, memory.Range{})
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	run := ""
	for i, m := range list {
		if m.Seq != int64(i+1) {
			t.Errorf("message %d has number %d", i+1, m.Seq)
		}
		switch m.Role {
		case model.User:
			run = m.Run
		case model.Tool:
			if !open[m.CallID] {
				t.Errorf("a result without a call: %+v", m)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls without results before message %d", m.Seq)
		}
		if m.Run != run {
			t.Errorf("message %d of run %s is in run %s", m.Seq, m.Run, run)
		}
		for _, call := range m.Calls {
			open[call.ID] = true
		}
	}
	if runs, err := h.mem.OpenRuns(t.Context(), c.ID); err != nil || len(runs) != 0 {
		t.Errorf("open runs %v, %v", runs, err)
	}
}

// The key of a turn that was cut off while the model was speaking answered "try again" to
// whoever tried again, for a day.
func TestAKeyOfATurnThatWasCutOffBeforeItDidAnythingRunsItAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := memory.New(db)
		c, err := m.Open(t.Context(), crab, false)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Write(t.Context(), func(tx *store.Tx) error {
			seq, err := m.AppendTx(tx, nil, c.ID, memory.Message{Run: "r", Message: model.Message{Role: model.User, Text: "/say whole"}})
			if err != nil {
				return err
			}
			return m.Begin(tx, memory.Run{ID: "r", Conversation: c.ID, Speaker: "crab", UserSeq: seq, Key: "k"})
		})
		if err != nil {
			t.Fatal(err)
		}
		h := newHub(t, db)
		req := talk.TurnRequest{Content: "/say whole", IdempotencyKey: "k"}
		for range 2 { // the second time it is the answer that is replayed
			if got := h.turn(req); got.text() != "whole" || got.end(t).Stop != brain.StopDone {
				t.Errorf("the repeated turn gave %+v, want its answer", got)
			}
		}
		if n := len(h.models.of(model.ForTurn)); n != 1 {
			t.Errorf("%d model calls, want one", n)
		}
		checkWhole(t, h)
	})
}

func TestAnInterruptedRunIsEndedOnLoadAndNotRunAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := memory.New(db)
		c, err := m.Open(t.Context(), crab, false)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Write(t.Context(), func(tx *store.Tx) error {
			seq, err := m.AppendTx(tx, nil, c.ID,
				memory.Message{Run: "r", Message: model.Message{Role: model.User, Text: "/tool echo"}},
				memory.Message{Run: "r", Message: model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "a", Name: "echo"}, {ID: "b", Name: "echo"}}}, Usage: model.Usage{Prompt: 7, Rounds: 1}})
			if err != nil {
				return err
			}
			return m.Begin(tx, memory.Run{ID: "r", Conversation: c.ID, Speaker: "crab", UserSeq: seq, Key: "k"})
		})
		if err != nil {
			t.Fatal(err)
		}
		// What the rounds of a run have used counts while it goes on, and when it was cut short.
		used := func() {
			t.Helper()
			if u, err := m.Usage(t.Context(), c.ID); err != nil || u.Prompt != 7 {
				t.Errorf("%+v, %v", u, err)
			}
		}
		used()
		h := newHub(t, db, withTools(echo()))
		used()
		if r, err := m.GetRun(t.Context(), "r"); err != nil || brain.Stop(r.Stop) != brain.StopInterrupted || r.Ended.IsZero() {
			t.Errorf("%+v, %v", r, err)
		}
		if n := len(h.models.of(model.ForTurn)); n != 0 {
			t.Errorf("run again: %d model calls", n)
		}
		list := h.stored(crab)
		if len(list) != 4 || !strings.HasPrefix(list[2], "tool interrupted") || list[2] != list[3] {
			t.Error(list)
		}
		// Its key says how it ended, and that trying again under it is no use.
		if end := h.turn(talk.TurnRequest{Content: "/tool echo", IdempotencyKey: "k"}).end(t); end.Stop != brain.StopInterrupted || end.Code != talk.CodeNotRepeated {
			t.Errorf("%+v", end)
		}
		h.say("/say next")
		checkWhole(t, h)
	})
}
