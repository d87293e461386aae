//go:build unix

package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/sandbox"
)

// Whoever says yes to a command that asks for a folder says yes to that folder, not to
// what a model hid behind its name.
func TestNobodyCanBeTalkedIntoGivingSecrets(t *testing.T) {
	h := newHubIn(t, t.TempDir()) // the usual one lies where nobody may ask for anything
	root := filepath.Dir(h.data)
	h.write("project/main.go", "package main")
	h.write("people/bob/.ssh/id", "")
	h.write("people/bob/notes", "")
	link := filepath.Join(root, "innocent")
	if err := os.Symlink(h.data, link); err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		h.data: "hub's own", h.data + "/owner.token": "hub's own", h.workspace: "hub's own", h.data + "/keys": "hub's own", root: "too much",
		link: "leads to", root + "/project/../data": "plain absolute", "relative": "plain absolute", root + "/nowhere": "not there", "/": "too much",
		root + "/home": "too much", root + "/home/.ssh": "private", root + "/home/.ssh/id_ed25519": "private", root + "/people/bob/.ssh": "private",
		"/etc/shadow": "system", "/proc": "system", "/sys": "system", "/etc": "system", "/home": "", "/root": "too much",
	} {
		if why == "" {
			continue
		}
		if err := h.box.Grantable([]string{path}, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("reading %s: %v; expected a refusal with %q", path, err, why)
		}
		if err := h.box.Grantable(nil, []string{path}); err == nil {
			t.Errorf("changing %s is granted; expected a refusal", path)
		}
	}
	if err := h.box.Grantable([]string{root + "/project", "/usr/share"}, []string{root + "/project"}); err != nil {
		t.Errorf("an ordinary folder: %v", err)
	}
	if err := h.box.Grantable(nil, []string{"/usr/share"}); err == nil {
		t.Error("changing a folder of the system is granted; expected a refusal")
	}
}

// The yes is for one box.
func TestWhatACallNeedsIsInItsBoxAlone(t *testing.T) {
	h := newHub(t)
	if !h.box.Boxed() {
		t.Skip("no box can be made here: ", h.box.Support())
	}
	h.write("project/main.go", "package main\n")
	h.write("other/out.txt", "")
	project, other := filepath.Join(filepath.Dir(h.data), "project"), filepath.Join(filepath.Dir(h.data), "other")
	run := func(read, write []string, command string) (string, int) {
		return h.run(sandbox.Program{Path: "/bin/sh", Args: []string{"-c", command}, Dir: h.workspace, Folders: append([]string{h.workspace}, write...), Read: read})
	}
	command := "cat " + project + "/main.go && echo x > " + other + "/out.txt"
	if out, code := run(nil, nil, command); code == 0 {
		t.Errorf("without asking: %s", out)
	}
	if out, code := run([]string{project}, []string{other}, command); code != 0 {
		t.Errorf("with what it needs: exit code %d, %s", code, out)
	}
	if out, code := run([]string{project}, nil, "echo x >> "+project+"/main.go"); code == 0 {
		t.Errorf("what was given for reading was changed: %s", out)
	}
	if out, code := run(nil, nil, command); code == 0 {
		t.Errorf("another command has what the one before it was given: %s", out)
	}
}
