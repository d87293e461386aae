package talk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
)

// machine drives one conversation with random turns, steers, interrupts, cancels
// and kills while its runs stop at a gate.
type machine struct {
	t    *rapid.T
	h    *hub
	gate *gate
	runs map[string]*talk.Run // by content
	n    int

	compactions sync.WaitGroup
}

func (m *machine) begin(mode talk.Mode, script string) {
	m.n++
	text := fmt.Sprintf("%s\n/say answer %d", script, m.n)
	run, err := m.h.Turn(context.Background(), me, talk.TurnRequest{Key: crab, Content: text, Mode: mode})
	if errors.Is(err, talk.ErrQueueFull) {
		return
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.runs[text] = run
}

func (m *machine) actions() map[string]func(*rapid.T) {
	pick := func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "/tool slow", "/tool echo"}).Draw(t, "script")
	}
	return map[string]func(*rapid.T){
		"queue":     func(t *rapid.T) { m.begin(talk.Queue, pick(t)) },
		"steer":     func(t *rapid.T) { m.begin(talk.Steer, pick(t)) },
		"interrupt": func(t *rapid.T) { m.begin(talk.Interrupt, pick(t)) },
		"guest": func(t *rapid.T) {
			m.n++
			text := fmt.Sprintf("/say guest %d", m.n)
			if run, err := m.h.Turn(context.Background(), me, talk.TurnRequest{Key: crab, Content: text, Guest: "twin"}); err == nil {
				m.runs[text] = run
			}
		},
		"open": func(*rapid.T) { m.gate.open <- struct{}{} },
		"cancel": func(t *rapid.T) {
			err := m.h.Cancel(context.Background(), me, crab, "")
			if err != nil && !errors.Is(err, talk.ErrNotActive) {
				t.Fatal(err)
			}
		},
		"kill": func(t *rapid.T) {
			err := m.h.Kill(context.Background(), me, crab)
			if err != nil && !errors.Is(err, talk.ErrNotActive) {
				t.Fatal(err)
			}
		},
		"compact": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
				return
			}
			m.compactions.Go(func() { _, _ = m.h.Compact(context.Background(), me, crab, "") })
		},
	}
}

// finish lets everything end and checks what must always hold.
func (m *machine) finish() {
	for range 100 {
		select {
		case m.gate.open <- struct{}{}:
		default:
		}
	}
	for text, run := range m.runs {
		ends := 0
		for ev, err := range run.Events(context.Background()) {
			if err != nil {
				m.t.Fatalf("%q: %v", text, err)
			}
			if ev.Kind == talk.End {
				ends++
			}
		}
		if ends != 1 {
			m.t.Errorf("%q ended %d times", text, ends)
		}
	}
	m.compactions.Wait()
	m.check()
}

func (m *machine) check() {
	c, err := m.h.mem.Find(context.Background(), crab)
	if err != nil {
		return
	}
	list, err := m.h.mem.Messages(context.Background(), c.ID, memory.Range{})
	if err != nil {
		m.t.Fatal(err)
	}
	var ended []string
	run, seen := "", map[string]int{}
	for _, msg := range list {
		if msg.Role == model.User {
			seen[msg.Text]++
			if m.runs[msg.Text] == nil {
				m.t.Errorf("nobody said %q", msg.Text)
			}
			continue
		}
		// Everything else belongs to one run at a time; a steer's words may stand
		// inside it.
		if msg.Run != run {
			if slices.Contains(ended, msg.Run) {
				m.t.Errorf("run %s goes on after another began", msg.Run)
			}
			ended, run = append(ended, run), msg.Run
		}
	}
	for text, n := range seen {
		if n != 1 {
			m.t.Errorf("%q is stored %d times", text, n)
		}
	}
	if waiting, err := m.h.mem.Queue(context.Background(), c.ID); err != nil || len(waiting) != 0 {
		m.t.Errorf("%d still wait, %v", len(waiting), err)
	}
	if open, err := m.h.mem.OpenRuns(context.Background(), c.ID); err != nil || len(open) != 0 {
		m.t.Errorf("%d runs are open, %v", len(open), err)
	}
}

func TestAnySequenceOfTurnsAndControlEndsEveryTurnOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db, err := store.Open(context.Background(), storetest.File(t), store.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer db.Close()
		g := newGate()
		h := newHub(&failing{}, db, withTools(g.tool("slow"), echo()))
		defer h.stop()
		m := &machine{t: rt, h: h, gate: g, runs: map[string]*talk.Run{}}
		rt.Repeat(m.actions())
		m.finish()
	})
}
