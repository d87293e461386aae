package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/identity"
	"parley.internal/internal/terminal/keeper"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "keeper" { // this very program, started again by a terminal
		if err := keeper.Main(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	trailtest.Main(m, "terminal.")
}

// patience bounds every wait; only something broken reaches it.
const patience = 2 * time.Minute

var alice = identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "p-alice", Name: "alice"}, Via: identity.Via{Connection: "s1", TokenID: "t1", Device: "d1", Address: "127.0.0.1"}}

// trail collects audit entries.
type trail struct {
	audit.Nowhere
	mu      sync.Mutex
	entries []audit.Entry
}

func (t *trail) Note(entries ...audit.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, entries...)
}

func (t *trail) actions() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for _, e := range t.entries {
		all = append(all, string(e.Action))
	}
	return all
}

func newSet(t *testing.T, d Deps) *Terminals {
	t.Helper()
	if d.Workspace == nil {
		d.Workspace = workspace.Always(t.TempDir())
	}
	d.Audit = trailtest.Watch(d.Audit)
	ts, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ts.Close(); err != nil {
			t.Error(err)
		}
	})
	return ts
}

func open(t *testing.T, ts *Terminals, who identity.Actor, spec Spec) viber.Terminal {
	t.Helper()
	info, err := ts.Create(t.Context(), who, spec)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// watcher collects what a view shows.
type watcher struct {
	t      *testing.T
	view   View
	first  *viber.TerminalAttached
	text   strings.Builder
	events []viber.Payload
	exit   *viber.TerminalExit
}

func watch(t *testing.T, ts *Terminals, who identity.Actor, id string, opts AttachOptions) *watcher {
	t.Helper()
	v, err := ts.Attach(t.Context(), who, id, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return &watcher{t: t, view: v}
}

// next takes one event; false at the end.
func (w *watcher) next() bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	event, err := w.view.Next(ctx)
	if errors.Is(err, io.EOF) {
		return false
	}
	if err != nil {
		w.t.Fatalf("after %q: %v", fit.Clip(w.text.String(), 2000), err)
	}
	w.events = append(w.events, event)
	switch p := event.(type) {
	case *viber.TerminalAttached:
		w.first = p
	case *viber.TerminalOutput:
		w.text.WriteString(p.Data)
	case *viber.TerminalExit:
		w.exit = p
	}
	return true
}

// until takes events until the text holds some words.
func (w *watcher) until(words string) {
	w.t.Helper()
	for !strings.Contains(w.text.String(), words) {
		if !w.next() {
			w.t.Fatalf("%q never came, only %q", words, fit.Clip(w.text.String(), 2000))
		}
	}
}

// end takes everything.
func (w *watcher) end() string {
	w.t.Helper()
	for w.next() {
	}
	return w.text.String()
}

func (w *watcher) resized(want viber.Size) {
	w.t.Helper()
	for {
		if !w.next() {
			w.t.Fatal("the terminal ended")
		}
		if r, ok := w.events[len(w.events)-1].(*viber.TerminalResized); ok && (viber.Size{Rows: r.Rows, Cols: r.Cols}) == want {
			return
		}
	}
}

func typed(t *testing.T, ts *Terminals, who identity.Actor, id, text string) {
	t.Helper()
	if err := ts.Input(t.Context(), who, id, []byte(text)); err != nil {
		t.Fatal(err)
	}
}
