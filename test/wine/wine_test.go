package wine_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// One Windows for all, since making one takes longer than anything done in it.
func TestTheWindowsProgramUnderWine(t *testing.T) {
	w := newWindows(t)
	if err := os.MkdirAll(w.path(`C:\smoke`), 0o755); err != nil {
		t.Fatal(err)
	}
	exe := w.build(t, []string{"build"}, "parley.internal/cmd/parley", "parley")
	w.build(t, []string{"build"}, "parley.internal/test/wine/testdata/powershell", "powershell")
	t.Run("the program says what it is", func(t *testing.T) {
		if got := w.run(t, exe, "version"); !strings.Contains(got, "windows/amd64") {
			t.Errorf("got is %v; want \"windows/amd64\" in it", got)
		}
	})
	t.Run("tests of the packages that talk to Windows", func(t *testing.T) { packages(t, w) })
	t.Run("an endpoint enrols, answers and obeys its switch", func(t *testing.T) { endpoint(t, w, exe) })
}

// packages runs the tests of packages as they are built for Windows.
func packages(t *testing.T, w *windows) {
	for _, pkg := range []string{"internal/endpoint/command", "internal/endpoint/truepath", "internal/endpoint/guard"} {
		t.Run(pkg, func(t *testing.T) {
			exe := w.build(t, []string{"test", "-c", "-vet=off"}, "parley.internal/"+pkg, filepath.Base(pkg))
			cmd := w.command(t.Context(), exe, "-test.timeout=3m", "-test.v")
			cmd.Dir = filepath.Join("..", "..", pkg)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "\nPASS") && !strings.Contains(string(out), "\r\nPASS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

const state = `C:\state`

// desk is a hub and the Windows machine on it.
type desk struct {
	*hubtest.Hub
	t       *testing.T
	unasked string // a token that may change machines without a question
}

// call does something on the machine; code is "" when it went well.
func (d desk) call(tool, args string, into any) (code string) {
	d.t.Helper()
	a, err := hubapi.Call(d.t.Context(), hubapi.New(d.URL, d.unasked).Patient(), rest.CallMachine, rest.MachineCall{ID: "winpc", Body: rest.Call{Tool: tool, Args: []byte(args)}})
	if problem, ok := errors.AsType[*hubapi.Error](err); ok {
		return problem.Code
	}
	if err != nil {
		d.t.Fatalf("%s %s: %v", tool, args, err)
	}
	if into != nil {
		if err := json.Unmarshal(a.Result, into); err != nil {
			d.t.Fatalf("%s %s: %v", tool, a.Result, err)
		}
	}
	return ""
}

// endpoint has a whole endpoint work: the mirror is off, so that what is refused was refused by the guard on
// the machine.
func endpoint(t *testing.T, w *windows, exe string) {
	h := hubtest.Start(t, hubtest.Config{Env: []string{"PARLEY_FLEET_MIRROR=false"}})
	d := desk{h, t, h.Token("fleet:*", "fleet:unattended")}
	minted, err := hubapi.Call(t.Context(), d.Client(), rest.MachineToken, rest.EnrolRequest{ID: "winpc"})
	if err != nil {
		t.Fatal(err)
	}
	note := w.path(`C:\smoke\Some Note.txt`)
	if err := os.WriteFile(note, []byte("Grüße\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := &hubtest.Output{}
	cmd := w.command(t.Context(), exe, "endpoint", "run", "--url", d.URL, "--id", "winpc", "--server-key", minted.ServerPublicKey, "--state", state)
	cmd.Env = append(cmd.Env, "PARLEY_ENROLL_TOKEN="+minted.Token)
	cmd.Stdout, cmd.Stderr = said, said
	ended := start(t, cmd)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the endpoint said:\n%s", said)
		}
	})
	hubtest.Eventually(t, "the machine is online", func() bool {
		m, err := hubapi.Call(t.Context(), d.Client(), rest.GetMachine, rest.ByID{ID: "winpc"})
		return err == nil && m.Online && m.Meta.OS == "windows" && m.Meta.Arch == "amd64"
	})
	d.looks()
	d.reads()
	d.runs()
	d.switches(w, exe)
	// Ctrl-C is a clean goodbye.
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "the machine is off", func() bool {
		m, err := hubapi.Call(t.Context(), d.Client(), rest.GetMachine, rest.ByID{ID: "winpc"})
		return err == nil && m.Presence == "off"
	})
	<-ended
}

// start runs a command until the test ends, and closes what it returns when the command has ended.
func start(t *testing.T, cmd *exec.Cmd) <-chan struct{} {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return ended
}

// looks asks the system.
func (d desk) looks() {
	var usage struct {
		Volumes []struct {
			Mount string `json:"mount"`
			Total int64  `json:"total_bytes"`
		} `json:"volumes"`
	}
	if code := d.call("fs_disk_usage", `{}`, &usage); code != "" || len(usage.Volumes) == 0 || usage.Volumes[0].Mount != "C:" || usage.Volumes[0].Total == 0 {
		d.t.Errorf("%s %+v", code, usage)
	}
	if !slices.Contains(d.processes(), "parley.exe") {
		d.t.Errorf("%v has no parley.exe", d.processes())
	}
	var services struct {
		Services []struct{ Name, Status, Start string } `json:"services"`
	}
	if code := d.call("diag_services", `{}`, &services); code != "" || len(services.Services) == 0 {
		d.t.Errorf("%s %+v", code, services)
	}
	var network struct {
		Interfaces []struct{ Name string } `json:"interfaces"`
	}
	if code := d.call("net_config", `{}`, &network); code != "" || len(network.Interfaces) == 0 {
		d.t.Errorf("%s %+v", code, network)
	}
	var snapshot map[string]struct{ Status, Summary string }
	if code := d.call("telemetry_collect", `{"sections":["disk","memory","uptime","os_support"]}`, &snapshot); code != "" || len(snapshot) != 4 {
		d.t.Errorf("%s %+v", code, snapshot)
	}
}

func (d desk) processes() []string {
	d.t.Helper()
	var list struct {
		Processes []struct{ Name string } `json:"processes"`
	}
	if code := d.call("diag_processes", `{}`, &list); code != "" {
		d.t.Errorf("diag_processes: %s", code)
	}
	var names []string
	for _, p := range list.Processes {
		names = append(names, p.Name)
	}
	return names
}

// reads has files found, read and refused.
func (d desk) reads() {
	var file struct{ Content string }
	for _, path := range []string{`C:\smoke\Some Note.txt`, `c:/SMOKE/some note.TXT`, `\\?\C:\smoke\Some Note.txt`} {
		args, _ := json.Marshal(map[string]string{"path": path})
		if code := d.call("fs_read", string(args), &file); code != "" || file.Content != "Grüße\r\n" {
			d.t.Errorf("%s: %s %q", path, code, file.Content)
		}
	}
	var found struct{ Matches []string }
	if code := d.call("fs_search", `{"root":"C:\\smoke","pattern":"some note"}`, &found); code != "" || !slices.Equal(found.Matches, []string{`C:\smoke\Some Note.txt`}) {
		d.t.Errorf("%s %q", code, found.Matches)
	}
	for path, want := range map[string]string{
		`C:\smoke\nothing.txt`:              "not_found",
		`smoke\note.txt`:                    "bad_args",
		`C:\smoke`:                          "bad_args",
		state + `\config.json`:              "blocked",
		`\\?\C:\STATE\config.json`:          "blocked",
		`C:\Windows\System32\config\SAM`:    "blocked",
		`C:\smoke\..\state\config.json`:     "blocked",
		`C:\users\root\.ssh\id_ed25519`:     "blocked",
		`\\.\C:\state\.\config.json::$DATA`: "blocked",
	} {
		args, _ := json.Marshal(map[string]string{"path": path})
		if code := d.call("fs_read", string(args), nil); code != want {
			d.t.Errorf("%s: %q, want %q", path, code, want)
		}
	}
}

type execution struct {
	Stdout string `json:"stdout"`
	Code   int    `json:"exit_code"`
}

// runs has scripts run, fail, refused, and ended with everything they started.
func (d desk) runs() {
	var got execution
	if code := d.call("powershell_exec", `{"script":"echo hello\r\nexit 7","timeout_s":300}`, &got); code != "" || strings.TrimSpace(got.Stdout) != "hello" || got.Code != 7 {
		d.t.Errorf("%s %+v", code, got)
	}
	for _, script := range []string{`format C: /y`, `rd /s /q C:\\`, `powershell -enc ZQBjAGgAbwA=`, `parley.exe endpoint on`} {
		if code := d.call("powershell_exec", `{"script":"`+script+`"}`, nil); code != "blocked" {
			d.t.Errorf("%s: %q", script, code)
		}
	}
	if code := d.call("shell_exec", `{"script":"ls"}`, nil); code != "unsupported" {
		d.t.Errorf("shell_exec: %q", code)
	}
	if code := d.call("powershell_exec", `{"script":"start /b powershell.exe sleep\r\npowershell.exe sleep","timeout_s":3}`, nil); code != "timeout" {
		d.t.Errorf("a script without end: %q", code)
	}
	hubtest.Eventually(d.t, "children and grandchildren are gone", func() bool { return !slices.Contains(d.processes(), "powershell.exe") })
}

// switches turns remote control off and on at the machine.
func (d desk) switches(w *windows, exe string) {
	if got := w.run(d.t, exe, "endpoint", "off", "--state", state); !strings.Contains(got, "remote control is off") {
		d.t.Error(got)
	}
	if code := d.call("powershell_exec", `{"script":"echo hello"}`, nil); code != "disabled" {
		d.t.Errorf("switched off: %q", code)
	}
	if code := d.call("fs_disk_usage", `{}`, nil); code != "" {
		d.t.Errorf("reading goes on: %q", code)
	}
	if got := w.run(d.t, exe, "endpoint", "on", "--state", state); !strings.Contains(got, "remote control is on") {
		d.t.Error(got)
	}
	if code := d.call("powershell_exec", `{"script":"echo hello","timeout_s":300}`, nil); code != "" {
		d.t.Errorf("switched on: %q", code)
	}
	if got := w.run(d.t, exe, "endpoint", "status", "--state", state, "--json"); !strings.Contains(got, `"connected":true`) {
		d.t.Error(got)
	}
}
