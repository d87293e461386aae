//go:build unix

package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/sandbox"
)

func program(h *hub, folders ...string) sandbox.Program {
	return sandbox.Program{Path: "/bin/sh", Args: []string{"-c", "true"}, Dir: h.workspace, Folders: folders}
}

// The environment is a list of what passes. A secret with a name that nobody thought of
// stays outside.
func TestOnlyKnownVariablesPass(t *testing.T) {
	h := newHub(t, func(o *sandbox.Options) {
		o.Env = []string{"JAVA_HOME"}
		o.Environ = append(o.Environ, "JAVA_HOME=/opt/java", "MY_DB=x")
	})
	run, err := h.box.Prepare(sandbox.Program{Path: "/bin/sh", Dir: h.workspace, Folders: []string{h.workspace}, Env: map[string]string{"TICKETS_TOKEN": "own"}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	got := map[string]string{}
	for _, kv := range run.Cmd.Env {
		name, value, _ := strings.Cut(kv, "=")
		got[name] = value
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "MY_DB", "https_proxy", "HTTP_PROXY"} {
		if value, ok := got[name]; ok {
			t.Errorf("%s=%s is inside; expected it to stay outside", name, value)
		}
	}
	want := map[string]string{
		"PATH": os.Getenv("PATH"), "LC_ALL": "C", "JAVA_HOME": "/opt/java", "TICKETS_TOKEN": "own", "HOME": h.workspace,
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q inside; expected %q", name, got[name], value)
		}
	}
	if info, err := os.Stat(got["TMPDIR"]); err != nil || !info.IsDir() {
		t.Errorf("TMPDIR is %q: %v", got["TMPDIR"], err)
	}
	run.Close()
	if _, err := os.Stat(got["TMPDIR"]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there after Close: %v", err)
	}
}

func TestTheDataFolderIsNeverGiven(t *testing.T) {
	h := newHub(t, func(o *sandbox.Options) { o.Support = sandbox.Support{Version: 1} })
	link := filepath.Join(h.workspace, "link")
	if err := os.Symlink(h.data, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{h.data, filepath.Join(h.data, "keys"), filepath.Join(h.workspace, ".."), link, "/"} {
		if _, _, err := h.box.Inside(program(h, dir)); !errors.Is(err, sandbox.ErrFolder) {
			t.Errorf("a box with the folder %s: %v; expected %v", dir, err, sandbox.ErrFolder)
		}
	}
	box := sandbox.New(sandbox.Options{
		Data: h.data, Workspace: h.workspace, Hidden: []string{filepath.Join(filepath.Dir(h.data), "tls/key.pem")},
		Read: []string{h.data, filepath.Join(h.data, "keys"), filepath.Dir(h.data), filepath.Join(filepath.Dir(h.data), "tls")},
	})
	h.write("tls/key.pem", "")
	h.write("tls/cert.pem", "")
	read, _, err := box.Inside(program(h, h.workspace))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range read {
		if strings.HasPrefix(path, h.data) || path == filepath.Dir(h.data) || strings.HasSuffix(path, "/tls") || strings.HasSuffix(path, "key.pem") {
			t.Errorf("settings that name the data folder or what is around it open %s", path)
		}
	}
	if !slices.Contains(read, filepath.Join(filepath.Dir(h.data), "tls/cert.pem")) {
		t.Error("what lies beside a secret and was named cannot be read")
	}
	if _, _, err := h.box.Inside(program(h, h.workspace, filepath.Join(h.workspace, "sub"))); err != nil {
		t.Errorf("a box with the workspace: %v", err)
	}
}

// What is given and has secrets in it is given piece by piece.
func TestAFolderAroundTheDataFolderIsGivenWithoutIt(t *testing.T) {
	h := newHub(t, func(o *sandbox.Options) { o.Support = sandbox.Support{Version: 1} })
	root := filepath.Dir(h.data)
	h.write("project/main.go", "package main")
	h.write("home/work/x", "")
	_, inside, err := h.box.Inside(program(h, root))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{root + "/project", root + "/home/work"} {
		if !slices.Contains(inside, path) {
			t.Errorf("%s is not inside; expected it to be: %s", path, inside)
		}
	}
	for _, path := range []string{root, h.data, h.data + "/keys", h.data + "/owner.token", root + "/home", root + "/home/.ssh"} {
		if slices.Contains(inside, path) {
			t.Errorf("%s is inside; expected it not to be", path)
		}
	}
}

func TestToolsOfThePathAreInsideAndHomesAreNot(t *testing.T) {
	var root string
	h := newHub(t, func(o *sandbox.Options) {
		root = filepath.Dir(o.Data)
		o.Support = sandbox.Support{Version: 1}
		o.Environ = []string{"PATH=" + strings.Join([]string{
			root + "/sdk/bin", root + "/home/.local/bin", root + "/home", root + "/home/bin", root + "/data/bin", root, "relative", root + "/home/.ssh",
		}, string(filepath.ListSeparator))}
	})
	for _, name := range []string{"sdk/bin/x", "sdk/lib/x", "home/bin/x", "data/bin/x"} {
		h.write(name, "")
	}
	inside, _, err := h.box.Inside(program(h, h.workspace))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range []string{"sdk", "home/.local", "home/.local/bin", "home", "home/bin", "data", "data/bin", "", "home/.ssh"} {
		if slices.Contains(inside, filepath.Join(root, path)) {
			got = append(got, path)
		}
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"home/.local/bin", "home/bin", "sdk"}, got); d != "" {
		t.Errorf("folders of the PATH inside (-want +got):\n%s", d)
	}
}

func TestWithoutABoxProgramsRunAllTheSame(t *testing.T) {
	h := newHub(t, func(o *sandbox.Options) { o.Support = sandbox.Support{Why: "a test says so"} })
	if out, _ := h.sh(`echo "$HTTP_PROXY $https_proxy"`); out != "http://proxy \n" {
		t.Errorf("proxies of the hub are %q; expected the one without a password", out)
	}
	if h.box.Boxed() || h.box.Support().String() != "none: a test says so" {
		t.Errorf("Boxed is %v: %s", h.box.Boxed(), h.box.Support())
	}
	out, code := h.sh("cat notes.txt; echo \"$ANTHROPIC_API_KEY\"; echo \"$HOME\"")
	if code != 0 || out != "notes\n\n"+h.workspace+"\n" {
		t.Errorf("exit code %d, %q", code, out)
	}
}

func TestWhatAKilledHubLeftBehindGoes(t *testing.T) {
	h := newHub(t)
	run, err := h.box.Prepare(program(h, h.workspace))
	if err != nil {
		t.Fatal(err)
	}
	newer := sandbox.New(sandbox.Options{Data: h.data, Workspace: h.workspace, Temp: filepath.Join(h.data, "boxes")})
	left, err := os.ReadDir(filepath.Join(h.data, "boxes"))
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left of %v: %v", left, run.Cmd, err)
	}
	if newer.Boxed() {
		t.Error("options without support made boxes")
	}
}

func TestPeopleKeepTheirEnvironmentButForSecrets(t *testing.T) {
	in := []string{
		"PATH=/bin", "PARLEY_TOKEN=x", "parley_x=x", "ANTHROPIC_API_KEY=x", "gh_token=x", "A_SECRET=x", "B_PASSWORD=x",
		"C_CREDENTIALS=x", "KEYBOARD=us", "TOKENS=3", "ODD", "=C:=C:\\",
	}
	if d := cmp.Diff([]string{"PATH=/bin", "KEYBOARD=us", "TOKENS=3", "ODD", "=C:=C:\\"}, sandbox.WithoutSecrets(in)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}
