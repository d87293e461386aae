//go:build unix

package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/mask"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/terminal/keeper"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

// house is a data folder on which one hub lives after the other.
type house struct {
	t     *testing.T
	dir   string
	alone time.Duration // how long keepers wait for a hub
	ended bool          // whoever opens terminals loses the right to
	exit  func() sandbox.Exit
	box   *sandbox.Sandbox
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), alone: time.Hour}
	t.Cleanup(func() { keeper.FreeAll(h.kept()) })
	return h
}

func (h *house) kept() string { return filepath.Join(h.dir, "terminals") }

// hub is the next one.
func (h *house) hub() *Terminals {
	h.t.Helper()
	own, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	recordings, err := OpenRecordings(RecordingOptions{Dir: filepath.Join(h.dir, "recordings"), Which: RecordAll})
	if err != nil {
		h.t.Fatal(err)
	}
	return newSet(h.t, Deps{Recordings: recordings, Sandbox: h.box, Workspace: workspace.Always(h.dir), Keep: &Keep{
		Program: []string{own, "keeper"}, Dir: h.kept(), Alone: h.alone, Exit: h.exit,
		Lasting: func(_ context.Context, who identity.Actor) (identity.Actor, error) { return who, nil },
		Ended:   func(identity.Actor) bool { return h.ended },
	}})
}

// dies is a hub that ends without a word to anybody, as far as one in this process can.
func (h *house) dies(ts *Terminals) {
	for _, t := range ts.mine(func(t *terminal) bool { return t.kept != nil }) {
		_ = t.do(context.Background(), func() { t.kept.Leave() })
	}
	_ = ts.Close()
}

// recorded is the text of a recording.
func (h *house) recorded(id string) string {
	h.t.Helper()
	f, err := os.Open(filepath.Join(h.dir, "recordings", id+castSuffix))
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var text strings.Builder
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event []any
		if json.Unmarshal(lines.Bytes(), &event) == nil && len(event) == 3 && event[1] == "o" {
			text.WriteString(event[2].(string))
		}
	}
	return text.String()
}

// nobodyKept waits until no keeper lives: one tells how its program ended a moment before it ends itself.
func (h *house) nobodyKept(since string) {
	h.t.Helper()
	for end := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
		left := keeper.Living(h.kept())
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("%s, and keepers still live: %v", since, left)
		}
	}
}

// eachOnce sees that the lines from first to last are there once, in order, and nothing else.
func eachOnce(t *testing.T, where, text string, first, last int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
	for i, line := range lines {
		if want := fmt.Sprintf("line %d", first+i); line != want {
			t.Fatalf("%s: line %d of %d is %q, expected %q", where, i, len(lines), line, want)
		}
	}
	if len(lines) != last-first+1 {
		t.Fatalf("%s: %d lines, expected those from %d to %d", where, len(lines), first, last)
	}
}

// The hub was stopped, and all terminals with it.
func TestATerminalOutlivesItsHub(t *testing.T) {
	h := newHouse(t)
	first := h.hub()
	info := open(t, first, alice, Spec{Command: "cd /; V=kept; stty -echo; sleep 1000 & echo ready; read x; kill -0 $! && echo $x in $PWD with $V; exit 7"})
	watch(t, first, alice, info.ID, AttachOptions{}).until("ready\r\n")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := h.hub()
	w := watch(t, second, alice, info.ID, AttachOptions{})
	w.until("ready\r\n")
	typed(t, second, alice, info.ID, "back\n")
	if text := w.end(); text != "ready\r\nback in / with kept\r\n" || w.exit == nil || w.exit.ExitCode != 7 {
		t.Errorf("%q, %+v; want text to be \"ready\\r\\nback in / with kept\\r\\n\", w.exit not to be nil, w.exit.ExitCode to be 7", text, w.exit)
	}
	h.nobodyKept("the program has ended")
}

// A program prints without pause, far more than a keeper holds, while hub after hub dies.
// inPortions prints five portions of lines, each after the first when it is told to, and ends
// when it is told to: however busy the machine is, it is not through before the last hub died.
const inPortions = `i=0
for p in 1 2 3 4 5; do
	while [ $i -lt $((p*30000)) ]; do i=$((i+1)); echo line $i; done
	while [ ! -e go.$p ]; do sleep 0.01; done
done
exit 3`

// goOn lets the program go on behind a portion.
func goOn(t *testing.T, dir string, portion int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("go.%d", portion)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// newest is the number of the last line that is whole.
func newest(text string) (n int) {
	lines := strings.Split(text, "\r\n")
	if len(lines) > 1 {
		_, _ = fmt.Sscanf(lines[len(lines)-2], "line %d", &n) // a line that is cut has none
	}
	return n
}

func TestEveryLineIsThereOnceHoweverManyHubsDie(t *testing.T) {
	h := newHouse(t)
	const portion, last = 30_000, 150_000
	hub := h.hub()
	info := open(t, hub, alice, Spec{Command: inPortions, Cwd: h.dir})
	for n := 1; n <= 4; n++ {
		w := watch(t, hub, alice, info.ID, AttachOptions{})
		goOn(t, h.dir, n)
		for newest(w.text.String()) <= n*portion {
			w.next()
		}
		h.dies(hub) // in the middle of the next portion
		hub = h.hub()
	}
	w := watch(t, hub, alice, info.ID, AttachOptions{})
	goOn(t, h.dir, 5)
	text := w.end()
	if w.exit == nil || w.exit.ExitCode != 3 {
		t.Errorf("it ended with %+v, expected 3", w.exit)
	}
	eachOnce(t, "the recording", h.recorded(info.ID), 1, last)
	tail, passed := text, 0
	for _, e := range w.events { // a slow viewer is moved forward, and told so
		if out, ok := e.(*viber.TerminalOutput); ok && out.Truncated {
			tail, passed = out.Data, passed+1
		} else if ok && passed > 0 {
			tail += out.Data
		}
	}
	var from int
	if _, err := fmt.Sscanf(tail[strings.Index(tail, "line "):], "line %d\r\n", &from); err != nil {
		t.Fatal(err)
	}
	eachOnce(t, "the view", tail[strings.Index(tail, "line "):], from, last)
}

func TestHowAProgramEndedWhileTheHubWasAwayIsTold(t *testing.T) {
	h := newHouse(t)
	first := h.hub()
	info := open(t, first, alice, Spec{Command: "while [ ! -e go ]; do sleep 0.01; done; echo bye; echo >gone; exit 5", Cwd: h.dir})
	h.dies(first)
	if err := os.WriteFile(filepath.Join(h.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, filepath.Join(h.dir, "gone"))
	second := h.hub()
	w := watch(t, second, alice, info.ID, AttachOptions{})
	if text := w.end(); text != "bye\r\n" || w.exit.ExitCode != 5 {
		t.Errorf("%q, %+v; want text to be \"bye\\r\\n\", w.exit.ExitCode to be 5", text, w.exit)
	}
}

func await(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s never came", path)
		}
	}
}

func TestASecretThatIsCutInTwoByADyingHubStaysMasked(t *testing.T) {
	m := mask.New(func() []string { return []string{"top-secret-value"} })
	for n := 1; n < len("top-secret-value"); n++ {
		one := m.Stream()
		shown := string(one.Push([]byte("a top-secret-value b top-secret-value"[:2+n])))
		at := one.Mark()
		raw := "a top-secret-value b top-secret-value"[2+n-at.Held:]
		two := m.StreamAt(at)
		shown += string(two.Push([]byte(raw))) + string(two.End())
		if want := m.Text("a top-secret-value b top-secret-value"); shown != want {
			t.Errorf("cut after %d bytes of the secret: %q, expected %q", n, shown, want)
		}
	}
}

func TestWhoeverLostTheRightLosesTheTerminalWhenTheHubComesBack(t *testing.T) {
	h := newHouse(t)
	first := h.hub()
	info := open(t, first, alice, Spec{Command: "exec sleep 1000"})
	h.dies(first)
	h.ended = true
	second := h.hub()
	w := watch(t, second, alice, info.ID, AttachOptions{})
	w.end()
	if w.exit == nil || w.exit.Signal != "SIGHUP" {
		t.Errorf("it ended with %+v, expected a hang-up", w.exit)
	}
}

func TestOnlyWhoKnowsTheSecretGetsToAKeptTerminal(t *testing.T) {
	h := newHouse(t)
	first := h.hub()
	info := open(t, first, alice, Spec{Command: "echo ready; exec sleep 1000"})
	folder := filepath.Join(h.kept(), info.ID)
	for _, secret := range []string{"", "guessed"} {
		if _, err := keeper.Attach(folder, secret); !errors.Is(err, keeper.ErrRefused) {
			t.Errorf("with the secret %q: %v, expected a refusal", secret, err)
		}
	}
	if at, err := os.Stat(folder); err != nil || at.Mode().Perm() != 0o700 {
		t.Errorf("its folder is %v, %v, expected for its owner only", at.Mode(), err)
	}
	// Nobody was disturbed.
	watch(t, first, alice, info.ID, AttachOptions{}).until("ready")
	if _, err := first.End(t.Context(), alice, info.ID); err != nil {
		t.Error(err)
	}
	h.nobodyKept("the terminal was closed")
}

func TestAKeeperWhoseFolderHasGoneEndsItsTerminal(t *testing.T) {
	h := newHouse(t)
	first := h.hub()
	open(t, first, alice, Spec{Command: "trap 'echo >hung; exit' HUP; echo >up; while :; do sleep 0.01; done", Cwd: h.dir})
	await(t, filepath.Join(h.dir, "up"))
	h.dies(first)
	if err := os.RemoveAll(h.kept()); err != nil {
		t.Fatal(err)
	}
	await(t, filepath.Join(h.dir, "hung"))
}

// served is a way out that answers everything itself.
type served struct{ server http.Server }

func newServed() sandbox.Exit {
	s := &served{}
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "by the hub") })
	return s
}

func (s *served) Serve(l net.Listener, _ string) { _ = s.server.Serve(l) }
func (s *served) Close()                         { _ = s.server.Close() }

// The box, and what is in it, lives as long as the keeper; its network is away and comes back with the hub.
func TestABoxedTerminalOutlivesItsHubAndItsNetworkComesBack(t *testing.T) {
	support := sandbox.Probe("")
	if support.Isolation < sandbox.Network || support.Kind != "" {
		t.Skip("boxes have no network of their own here: use Linux with user namespaces")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed: nothing else here connects to a port")
	}
	h := newHouse(t)
	space := filepath.Join(h.dir, "workspace")
	if err := os.Mkdir(space, 0o700); err != nil {
		t.Fatal(err)
	}
	h.box = sandbox.New(sandbox.Options{Support: support, Environ: os.Environ(), Data: h.dir, Workspace: space, Temp: filepath.Join(h.dir, "boxes")})
	h.exit = newServed
	first := h.hub()
	script := `ask() { bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; printf "GET http://a.test/ HTTP/1.0\r\n\r\n" >&3; cat <&3' >$1.part; mv $1.part $1; }
ls ../terminals/*/socket ../terminals/*/terminal.json 2>/dev/null; echo x >$TMPDIR/mine
ask with; while [ ! -e away ]; do sleep 0.01; done; ask without; while [ ! -e back ]; do sleep 0.01; done; ask again; cat $TMPDIR/mine; exit 9`
	agent := alice
	agent.Agent = "parley"
	info := open(t, first, agent, Spec{Command: script, Box: []string{space}, Cwd: space, Exit: newServed()})
	got := func(name string) string {
		await(t, filepath.Join(space, name))
		text, _ := os.ReadFile(filepath.Join(space, name))
		return string(text)
	}
	if text := got("with"); !strings.Contains(text, "by the hub") {
		t.Fatalf("with a hub the network answers %q", text)
	}
	h.dies(first)
	_ = os.WriteFile(filepath.Join(space, "away"), nil, 0o666)
	if text := got("without"); !strings.Contains(text, "the hub is away") {
		t.Errorf("without a hub the network answers %q", text)
	}
	second := h.hub()
	_ = os.WriteFile(filepath.Join(space, "back"), nil, 0o666)
	if text := got("again"); !strings.Contains(text, "by the hub") {
		t.Errorf("with the next hub the network answers %q", text)
	}
	w := watch(t, second, agent, info.ID, AttachOptions{})
	if text := w.end(); text != "x\r\n" || w.exit.ExitCode != 9 {
		t.Errorf("%q, %+v; expected its own file, nothing of the keeper's folder, and 9", text, w.exit)
	}
}
