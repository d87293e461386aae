//go:build unix

package terminal

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/identity"
	"parley.internal/internal/mask"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

func TestACreatedTerminalIsListed(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Name: "build", Command: "cat", Size: viber.Size{Rows: 10, Cols: 40}})
	list, err := ts.List(t.Context(), alice)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v; want no error, len(list) to be 1", list, err)
	}
	want := viber.Terminal{
		ID: info.ID, Name: "build", CreatedAt: info.CreatedAt, Size: viber.Size{Rows: 10, Cols: 40}, Status: viber.TerminalRunning,
		CWD: ts.d.Workspace(workspace.Everybody(), ""), Command: "cat",
	}
	if d := cmp.Diff(want, list[0]); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

func TestTheShellIsReal(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "exec sh"})
	w := watch(t, ts, alice, info.ID, AttachOptions{Writer: true})
	typed(t, ts, alice, info.ID, "echo $((6*7)) $TERM; tty\n")
	w.until("42 xterm-256color")
	w.until("/dev/")
	// Key names are text, and no newline is added.
	typed(t, ts, alice, info.ID, "echo [Enter]")
	typed(t, ts, alice, info.ID, "[Tab]\n")
	for strings.Count(w.text.String(), "[Enter][Tab]") < 2 { // as it was typed, and as it was said
		if !w.next() {
			t.Fatalf("%q; want w.next()", w.text.String())
		}
	}
	typed(t, ts, alice, info.ID, "exit 3\n")
	w.end()
	if w.exit == nil || w.exit.ExitCode != 3 || w.exit.Signal != "" {
		t.Errorf("%+v; want w.exit not to be nil, w.exit.ExitCode to be 3, w.exit.Signal to be \"\"", w.exit)
	}
}

func TestTheExitComesAfterTheLastOutput(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; exit 3"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	text := w.end()
	if !strings.HasSuffix(text, "line 2999\r\n") || w.exit.ExitCode != 3 {
		t.Errorf("…%q, %+v; want strings.HasSuffix(text, \"line 2999\\r\\n\"), w.exit.ExitCode to be 3", text[max(0, len(text)-40):], w.exit)
	}
	if _, last := w.events[len(w.events)-1].(*viber.TerminalExit); !last {
		t.Errorf("the last event is %T", w.events[len(w.events)-1])
	}
	// It stays for those who come later.
	late := watch(t, ts, alice, info.ID, AttachOptions{})
	if got := late.end(); got != text || late.exit == nil {
		t.Errorf("later: %d bytes, %+v", len(got), late.exit)
	}
	list, err := ts.List(t.Context(), alice)
	if err != nil || len(list) != 1 || list[0].Status != viber.TerminalExited || *list[0].ExitCode != 3 {
		t.Errorf("%+v, %v; want no error, len(list) to be 1, list[0].Status to be %v, *list[0].ExitCode to be 3", list, err, viber.TerminalExited)
	}
	if err := ts.Input(t.Context(), alice, info.ID, []byte("x")); !errors.Is(err, ErrExited) {
		t.Errorf("typing into it: %v", err)
	}
	if _, err := ts.Resize(t.Context(), alice, info.ID, viber.DefaultSize()); !errors.Is(err, ErrExited) {
		t.Errorf("resizing it: %v", err)
	}
}

// Whoever attaches, whenever, ends up with the same bytes.
func TestScrollbackThenLiveWithNoByteTwice(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "stty -echo; while read n; do i=0; while [ $i -lt $n ]; do echo \"line $i of $n äöü 漢字\"; i=$((i+1)); done; done"})
	first := watch(t, ts, alice, info.ID, AttachOptions{})
	typed(t, ts, alice, info.ID, "50\n")
	first.until("line 49 of 50")
	typed(t, ts, alice, info.ID, "2000\n")
	second := watch(t, ts, alice, info.ID, AttachOptions{})
	second.until("line 1000 of 2000")
	third := watch(t, ts, alice, info.ID, AttachOptions{})
	typed(t, ts, alice, info.ID, "\x04")
	want := first.end()
	for i, w := range []*watcher{second, third} {
		if got := w.end(); got != want {
			t.Errorf("viewer %d has %d bytes, the first %d", i+2, len(got), len(want))
		}
	}
	// Scrollback is marked, and its end is where the live part begins.
	live := false
	var offset int64
	for _, e := range third.events {
		out, ok := e.(*viber.TerminalOutput)
		if !ok {
			continue
		}
		if live && out.Replay {
			t.Fatal("scrollback after live output")
		}
		live = live || !out.Replay
		if out.Offset <= offset || len(out.Data) > viber.MaxTerminalData || !utf8.ValidString(out.Data) {
			t.Fatalf("offset %d after %d, %d bytes", out.Offset, offset, len(out.Data))
		}
		offset = out.Offset
	}
	if offset != int64(len(want)) {
		t.Errorf("the last offset is %d of %d bytes", offset, len(want))
	}
}

func TestAnUnknownTerminalAndAForeignOneAreTheSame(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "cat"})
	bob, admin := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "p-bob", Name: "bob"}}, identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "p-root", Name: "root"}, Scopes: identity.Expand(identity.Admin)}
	for _, id := range []string{info.ID, "nonsense", ""} {
		_, e1 := ts.Attach(t.Context(), bob, id, AttachOptions{})
		e2 := ts.Input(t.Context(), bob, id, []byte("x"))
		_, e3 := ts.Resize(t.Context(), bob, id, viber.DefaultSize())
		_, e4 := ts.End(t.Context(), bob, id)
		_, e5 := ts.Read(t.Context(), bob, id, 0, 0)
		for i, err := range []error{e1, e2, e3, e4, e5} {
			if err == nil || err.Error() != ErrNotFound.Error() {
				t.Errorf("%q, call %d: %v", id, i+1, err)
			}
		}
	}
	if list, _ := ts.List(t.Context(), bob); len(list) != 0 {
		t.Errorf("bob sees %v", list)
	}
	if list, _ := ts.List(t.Context(), admin); len(list) != 1 {
		t.Errorf("the admin sees %v", list)
	}
	watch(t, ts, admin, info.ID, AttachOptions{}).next()
}

func TestTheSizeIsTheSmallestOfThoseWhoMayWrite(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "cat"})
	resize := func(w *watcher, rows, cols, wantRows, wantCols int) {
		t.Helper()
		got, err := w.view.Resize(t.Context(), viber.Size{Rows: rows, Cols: cols})
		if err != nil || got != (viber.Size{Rows: wantRows, Cols: wantCols}) {
			t.Fatalf("%v, %v", got, err)
		}
	}
	// Without a view one counts, as long as no viewer has said anything.
	if got, err := ts.Resize(t.Context(), alice, info.ID, viber.Size{Rows: 5, Cols: 6}); err != nil || got != (viber.Size{Rows: 5, Cols: 6}) {
		t.Fatalf("%v, %v", got, err)
	}
	a := watch(t, ts, alice, info.ID, AttachOptions{Writer: true})
	reader := watch(t, ts, alice, info.ID, AttachOptions{})
	a.next()
	if a.first.Size != (viber.Size{Rows: 5, Cols: 6}) {
		t.Errorf("attached at %v", a.first.Size)
	}
	resize(a, 50, 100, 50, 100)
	reader.resized(viber.Size{Rows: 50, Cols: 100})
	if got, err := ts.Resize(t.Context(), alice, info.ID, viber.Size{Rows: 2, Cols: 2}); err != nil || got != (viber.Size{Rows: 50, Cols: 100}) {
		t.Fatalf("without a view: %v, %v", got, err)
	}
	resize(reader, 3, 3, 50, 100) // may not write: has no say
	b := watch(t, ts, alice, info.ID, AttachOptions{Writer: true})
	resize(b, 40, 120, 40, 100)
	a.resized(viber.Size{Rows: 40, Cols: 100})
	b.view.Close()
	a.resized(viber.Size{Rows: 50, Cols: 100})
	a.view.Close() // nobody left: it stays
	list, _ := ts.List(t.Context(), alice)
	if list[0].Size != (viber.Size{Rows: 50, Cols: 100}) || list[0].Viewers != 1 {
		t.Errorf("%+v", list[0])
	}
	for _, bad := range []viber.Size{{}, {Rows: 1001, Cols: 1}, {Rows: -1, Cols: 5}} {
		if _, err := ts.Resize(t.Context(), alice, info.ID, bad); !errors.Is(err, ErrBadSize) {
			t.Errorf("%v: %v; want ErrBadSize", bad, err)
		}
	}
}

func TestTheProcessSeesItsSize(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "stty -echo; stty size; read x; stty size", Size: viber.Size{Rows: 11, Cols: 22}})
	w := watch(t, ts, alice, info.ID, AttachOptions{Writer: true})
	w.until("11 22")
	if _, err := w.view.Resize(t.Context(), viber.Size{Rows: 33, Cols: 44}); err != nil {
		t.Fatal(err)
	}
	typed(t, ts, alice, info.ID, "\n")
	w.until("33 44")
}

func TestDetachingIsHereOnly(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "stty -echo; echo ready; cat"})
	a, b := watch(t, ts, alice, info.ID, AttachOptions{}), watch(t, ts, alice, info.ID, AttachOptions{})
	a.until("ready")
	typed(t, ts, alice, info.ID, "one\n")
	a.until("one\r\n")
	a.view.Close()
	a.view.Close()
	typed(t, ts, alice, info.ID, "two\n")
	b.until("two\r\n")
	again := watch(t, ts, alice, info.ID, AttachOptions{})
	typed(t, ts, alice, info.ID, "\x04")
	if got := again.end(); got != "ready\r\none\r\ntwo\r\n" {
		t.Errorf("%q; want \"ready\\r\\none\\r\\ntwo\\r\\n\"", got)
	}
}

// Somebody who does not look holds up nobody, and is told that output was passed over.
func TestASlowViewerIsMovedForward(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "stty -echo; read x; head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 70; echo; echo done; cat"})
	slow, quick := watch(t, ts, alice, info.ID, AttachOptions{}), watch(t, ts, alice, info.ID, AttachOptions{})
	slow.next()
	typed(t, ts, alice, info.ID, "\n")
	quick.until("done\r\n")
	typed(t, ts, alice, info.ID, "\x04")
	text := slow.end()
	if !strings.HasSuffix(text, "done\r\n") || len(text) > viber.MaxScrollback*3/2 {
		t.Errorf("%d bytes, …%q", len(text), text[max(0, len(text)-20):])
	}
	told := 0
	for _, e := range slow.events {
		if out, ok := e.(*viber.TerminalOutput); ok && out.Truncated {
			told++
		}
	}
	if told != 1 || slow.exit == nil {
		t.Errorf("told %d times, exit %v", told, slow.exit)
	}
	late := watch(t, ts, alice, info.ID, AttachOptions{})
	late.end()
	if !late.first.Truncated || late.text.Len() > viber.MaxScrollback || late.first.Offset == 0 {
		t.Errorf("%+v, %d bytes", late.first, late.text.Len())
	}
}

func TestSecretsAreMaskedAlsoAcrossReads(t *testing.T) {
	const secret = "prl_correct-horse-battery"
	ts := newSet(t, Deps{Mask: mask.New(func() []string { return []string{secret, "short"} })})
	info := open(t, ts, alice, Spec{Name: "x", Command: "stty -echo; printf 'a prl_correct-ho'; read x; printf 'rse-battery b\\nshort prl_correct-h'; read x; printf 'at\\n" + secret + "'; exit 0"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	w.until("a ")
	typed(t, ts, alice, info.ID, "\n")
	w.until("[masked] b")
	typed(t, ts, alice, info.ID, "\n")
	if got := w.end(); got != "a [masked] b\r\nshort prl_correct-hat\r\n[masked]" {
		t.Errorf("%q; want \"a [masked] b\\r\\nshort prl_correct-hat\\r\\n[masked]\"", got)
	}
	list, _ := ts.List(t.Context(), alice)
	if strings.Contains(list[0].Command, secret) {
		t.Error("the list gives it away")
	}
}

// A prompt that ends like a secret begins is shown all the same.
func TestAFewBytesOfASecretDoNotHideAPrompt(t *testing.T) {
	ts := newSet(t, Deps{Mask: mask.New(func() []string { return []string{"$ secret-value"} })})
	info := open(t, ts, alice, Spec{Command: "stty -echo; printf 'ready$ '; read x; printf 'secret-value'"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	w.until("ready$ ")
	typed(t, ts, alice, info.ID, "\n")
	if got := w.end(); got != "ready$ [masked]" {
		t.Errorf("%q; want \"ready$ [masked]\"", got)
	}
}

func TestTheEnvironmentHoldsNoSecrets(t *testing.T) {
	for _, name := range []string{"PARLEY_OWNER", "X_API_KEY", "A_TOKEN", "A_SECRET", "B_PASSWORD", "C_CREDENTIALS"} {
		t.Setenv(name, "leak-me-not")
	}
	t.Setenv("KEYBOARD", "harmless")
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "env"})
	text := watch(t, ts, alice, info.ID, AttachOptions{}).end()
	if strings.Contains(text, "leak-me-not") || !strings.Contains(text, "KEYBOARD=harmless") || !strings.Contains(text, "TERM=xterm-256color") {
		t.Errorf("text is %v; want not \"leak-me-not\" in it, \"KEYBOARD=harmless\" in it, \"TERM=xterm-256color\" in it", text)
	}
}

func TestBytesThatAreNoTextAreShownAsSuch(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "stty -echo; printf 'a\\377b\\303'; read x; printf '\\244c\\303'"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	w.until("b")
	typed(t, ts, alice, info.ID, "\n")
	if got := w.end(); got != "a\uFFFDbäc\uFFFD" {
		t.Errorf("%q; want \"a\\uFFFDbäc\\uFFFD\"", got)
	}
}

// A process that ignores the hang-up is killed, with the jobs of its session.
func TestClosingEndsTheWholeSession(t *testing.T) {
	ts := newSet(t, Deps{})
	fifo := filepath.Join(ts.d.Workspace(workspace.Everybody(), ""), "alive")
	info := open(t, ts, alice, Spec{Command: "trap '' HUP TERM; mkfifo alive; set -m; (trap '' HUP TERM; echo up; while :; do sleep 100; done) 3> alive & wait"})
	// Opening the pipe succeeds once the job holds it; reading ends when it is gone.
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	w.next()
	ended := make(chan error, 1)
	go func() {
		for {
			file, err := os.Open(fifo)
			if errors.Is(err, os.ErrNotExist) {
				<-time.After(5 * time.Millisecond)
				continue
			}
			if err == nil {
				_, err = bufio.NewReader(file).ReadString('\n')
				_ = file.Close()
			}
			ended <- err
			return
		}
	}()
	w.until("up")
	exit, err := ts.End(t.Context(), alice, info.ID)
	if err != nil || exit.Signal != "SIGKILL" || exit.ExitCode != 137 || exit.TerminalID != info.ID {
		t.Fatalf("%+v, %v; want no error, exit.Signal to be \"SIGKILL\", exit.ExitCode to be 137, exit.TerminalID to be %v", exit, err, info.ID)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("a job outlived its terminal")
	}
	if again, err := ts.End(t.Context(), alice, info.ID); err != nil || again != exit {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestAHangUpIsEnoughForMost(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "exec sleep 1000"})
	exit, err := ts.End(t.Context(), alice, info.ID)
	if err != nil || exit.Signal != "SIGHUP" {
		t.Errorf("%+v, %v; want no error, exit.Signal to be \"SIGHUP\"", exit, err)
	}
}

// What a process leaves behind, holding the terminal, does not hold up its exit.
func TestALeftOverDoesNotHoldUpTheExit(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "(trap '' HUP; exec setsid sleep 5) & echo bye; exit 4"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	if text := w.end(); !strings.Contains(text, "bye") || w.exit.ExitCode != 4 {
		t.Errorf("%q %+v; want \"bye\" in it, w.exit.ExitCode to be 4", text, w.exit)
	}
}

func TestInputThatNobodyReadsIsBounded(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "stty raw -echo; exec sleep 1000"})
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = ts.Input(t.Context(), alice, info.ID, make([]byte, 64<<10))
	}
	if !errors.Is(err, ErrLimit) {
		t.Errorf("%v; want ErrLimit", err)
	}
	if _, err := ts.End(t.Context(), alice, info.ID); err != nil {
		t.Errorf("it cannot be closed: %v", err)
	}
}

func TestOnlySoManyRunAtATime(t *testing.T) {
	ts := newSet(t, Deps{MaxRunning: 2})
	a := open(t, ts, alice, Spec{Command: "exec sleep 1000"})
	open(t, ts, alice, Spec{Command: "exec sleep 1000"})
	if _, err := ts.Create(t.Context(), alice, Spec{Command: "true"}); !errors.Is(err, ErrLimit) {
		t.Fatalf("%v; want ErrLimit", err)
	}
	open(t, ts, identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "p-bob", Name: "bob"}}, Spec{Command: "true"}) // somebody else may
	if _, err := ts.End(t.Context(), alice, a.ID); err != nil {
		t.Fatal(err)
	}
	open(t, ts, alice, Spec{Command: "true"})
}

func TestWhatCannotStartSaysSo(t *testing.T) {
	ts := newSet(t, Deps{})
	if _, err := ts.Create(t.Context(), alice, Spec{Cwd: "nowhere"}); !errors.Is(err, ErrSpawn) {
		t.Errorf("%v; want ErrSpawn", err)
	}
	if _, err := ts.Create(t.Context(), alice, Spec{Size: viber.Size{Rows: 5000, Cols: 1}}); !errors.Is(err, ErrBadSize) {
		t.Errorf("%v; want ErrBadSize", err)
	}
	if list, _ := ts.List(t.Context(), alice); len(list) != 0 {
		t.Errorf("%v; want len(list) to be 0", list)
	}
}

func TestAnAgentSendsAndReads(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "stty -echo; echo ready; while read x; do echo \"got $x\"; done", Task: "task-1"})
	first, err := ts.Read(t.Context(), alice, info.ID, 0, patience)
	if err != nil || first.Data != "ready\r\n" || first.Status != viber.TerminalRunning {
		t.Fatalf("%+v, %v; want no error, first.Data to be \"ready\\r\\n\", first.Status to be %v", first, err, viber.TerminalRunning)
	}
	out, err := ts.Send(t.Context(), alice, info.ID, []byte("one\n"), patience)
	if err != nil || out.Data != "got one\r\n" || out.Offset != first.Offset+int64(len(out.Data)) {
		t.Fatalf("%+v, %v", out, err)
	}
	if nothing, err := ts.Read(t.Context(), alice, info.ID, out.Offset, 0); err != nil || nothing.Data != "" || nothing.Offset != out.Offset {
		t.Errorf("%+v, %v; want no error, nothing.Data to be \"\", nothing.Offset to be %v", nothing, err, out.Offset)
	}
	list, _ := ts.List(t.Context(), alice)
	if list[0].TaskID != "task-1" {
		t.Errorf("%+v; want list[0].TaskID to be \"task-1\"", list[0])
	}
	// A task's terminals end with it, unless somebody looks.
	other := open(t, ts, alice, Spec{Command: "exec sleep 1000", Task: "task-1"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	w.next()
	ts.EndTask(t.Context(), "task-1")
	end, err := ts.Read(t.Context(), alice, other.ID, 0, 0)
	if err != nil || end.Status != viber.TerminalExited {
		t.Errorf("the task's terminals were ended, and this one still runs: %+v, %v", end, err)
	}
	typed(t, ts, alice, info.ID, "still here\n")
	w.until("got still here")
}

func TestTheTrailKnowsWhoDidWhatAndNotWhatWasTyped(t *testing.T) {
	kept := &trail{}
	ts := newSet(t, Deps{Audit: kept})
	info := open(t, ts, alice, Spec{Command: "cat"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	typed(t, ts, alice, info.ID, "my-secret-words")
	typed(t, ts, alice, info.ID, "more\n")
	other := alice
	other.Connection = "s2"
	typed(t, ts, other, info.ID, "x\n")
	w.until("more")
	if _, err := ts.End(t.Context(), alice, info.ID); err != nil {
		t.Fatal(err)
	}
	want := []string{"terminal.created", "terminal.attached", "terminal.input", "terminal.input", "terminal.closed", "terminal.exited"}
	if d := cmp.Diff(want, kept.actions()); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	for _, e := range kept.entries {
		text, _ := json.Marshal(e)
		if strings.Contains(string(text), "my-secret-words") || e.Target != info.ID {
			t.Errorf("%s; want not \"my-secret-words\" in it, e.Target to be %v", text, info.ID)
		}
		if e.Action == "terminal.attached" && (e.Actor != "person:alice" || e.Detail["by_token"] != "t1" || e.Detail["by_device"] != "d1" || e.Detail["by_address"] != "127.0.0.1") {
			t.Errorf("%s", text)
		}
	}
}

func TestARecordingIsAnAsciicastThatReplaysToTheSameText(t *testing.T) {
	recordings, err := OpenRecordings(RecordingOptions{Dir: t.TempDir(), Which: RecordAll})
	if err != nil {
		t.Fatal(err)
	}
	ts := newSet(t, Deps{Recordings: recordings, Mask: mask.New(func() []string { return []string{"very-secret"} })})
	info := open(t, ts, alice, Spec{Name: "demo", Command: "stty -echo; printf 'ä very-secret\\n'; read x; echo two"})
	w := watch(t, ts, alice, info.ID, AttachOptions{Writer: true})
	w.until("\n")
	if _, err := w.view.Resize(t.Context(), viber.Size{Rows: 30, Cols: 90}); err != nil {
		t.Fatal(err)
	}
	typed(t, ts, alice, info.ID, "hidden-words\n")
	text := w.end()
	list, err := recordings.List(alice)
	if err != nil || len(list) != 1 || list[0].ID != info.ID || list[0].Name != "demo" {
		t.Fatalf("%+v, %v; want no error, len(list) to be 1, list[0].ID to be %v, list[0].Name to be \"demo\"", list, err, info.ID)
	}
	_, file, err := recordings.Open(alice, info.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Scan()
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Version != 2 || head.Width != 80 || head.Height != 24 {
		t.Errorf("%s: %v; want no error, head.Version to be 2, head.Width to be 80, head.Height to be 24", lines.Text(), err)
	}
	var played, kinds string
	var at float64
	for lines.Scan() {
		var event [3]any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event[0].(float64) < at {
			t.Error("time runs backwards")
		}
		at = event[0].(float64)
		if event[1] == "o" {
			played += event[2].(string)
		} else {
			kinds += event[1].(string) + event[2].(string)
		}
	}
	if played != text || kinds != "r90x30" || strings.Contains(played, "hidden-words") || !strings.Contains(played, "[masked]") {
		t.Errorf("played %q, shown %q, sizes %q", played, text, kinds)
	}
	if _, _, err := recordings.Open(identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "p-bob", Name: "bob"}}, info.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
	if _, _, err := recordings.Open(alice, "../../etc/passwd"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a path: %v", err)
	}
}

func TestOldRecordingsGo(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a.cast", "b.cast", "c.cast"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenRecordings(RecordingOptions{Dir: dir, Age: 90 * time.Minute, Bytes: 150}); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if !slices.Equal(left, []string{filepath.Join(dir, "a.cast")}) {
		t.Errorf("%v; want slices.Equal(left, []string{filepath.Join(dir, \"a.cast\")})", left)
	}
}

func TestAStoppingHubTakesItsProcessesWithIt(t *testing.T) {
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "exec sleep 1000"})
	w := watch(t, ts, alice, info.ID, AttachOptions{})
	w.next()
	if err := ts.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ts.Create(t.Context(), alice, Spec{}); !errors.Is(err, ErrStopping) {
		t.Errorf("%v; want ErrStopping", err)
	}
	if list, _ := ts.List(t.Context(), alice); len(list) != 0 {
		t.Errorf("%v; want len(list) to be 0", list)
	}
}

// An agent that could type into a person's own terminal would be outside of its box with the
// first word.
func TestAgentsReachNoTerminalsOfPeople(t *testing.T) {
	ts := newSet(t, Deps{})
	own := open(t, ts, alice, Spec{Command: "cat"})
	agent := alice.ForAgent("parley", identity.InTask, "t")
	boxed := open(t, ts, agent, Spec{Command: "cat", Box: []string{t.TempDir()}})
	for name, use := range map[string]func(id string) error{
		"type": func(id string) error { return ts.Input(t.Context(), agent, id, []byte("id\n")) },
		"read": func(id string) error { _, err := ts.Read(t.Context(), agent, id, 0, 0); return err },
	} {
		if err := use(own.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s, a person's terminal: %v; expected %v", name, err, ErrNotFound)
		}
		if err := use(boxed.ID); err != nil {
			t.Errorf("%s, a terminal of an agent: %v", name, err)
		}
	}
	if err := ts.Input(t.Context(), alice, boxed.ID, []byte("x\n")); err != nil {
		t.Errorf("the person cannot use the agent's terminal: %v", err)
	}
}
