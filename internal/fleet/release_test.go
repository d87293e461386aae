package fleet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/update"
)

// released is a release as scripts/release.sh packs it, unpacked: the folder of the
// Linux archive.
func released(t *testing.T) string {
	t.Helper()
	in, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"parley-linux-amd64", "parley-windows-amd64.exe", "parley-darwin-arm64"} {
		check(t, os.WriteFile(filepath.Join(in, name), []byte("the program "+name), 0o755))
	}
	pack := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "..", "scripts", "release.sh"), "pack", in, out)
	pack.Env = append(os.Environ(), "VERSION=1.2.3")
	if said, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-C", out, "-xzf", filepath.Join(out, "parley-1.2.3-linux-amd64.tar.gz"))
	if said, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return filepath.Join(out, "parley-1.2.3-linux-amd64")
}

// A hub could install only what it ran itself: nobody got a Windows machine without
// building, signing and uploading a program first.
func TestAReleaseBringsEndpointsForOtherSystems(t *testing.T) {
	folder := released(t)
	own := update.OwnProgram{Platform: "linux-amd64", Version: "1.2.3", Path: filepath.Join(folder, "parley")}
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
	lines := must(w.fleet.InstallLink(t.Context(), op(), "new-pc"))(t)
	if lines.Sh == "" || !strings.Contains(lines.PS1, ".ps1") {
		t.Fatalf("a release installs on every system, but offers %+v", lines)
	}
	_, nonce, _ := strings.Cut(strings.Split(lines.PS1, "'")[1], "/install/")
	nonce = strings.TrimSuffix(nonce, ".ps1")
	script := must(w.fleet.OpenInstall(t.Context(), nonce, update.ShellPowerShell, ""))(t)
	got := content(t, must(w.fleet.InstallProgram(t.Context(), nonce, "windows-amd64"))(t))
	if string(got) != "the program parley-windows-amd64.exe" || !strings.Contains(script, "windows-amd64") {
		t.Errorf("the Windows program is %q", got)
	}
}

// Half a copy, or a name that leads elsewhere, is not handed out; the rest is.
func TestAReleaseThatIsNotWholeIsNotHandedOut(t *testing.T) {
	for name, spoil := range map[string]func(endpoints string) error{
		"half a copy": func(e string) error {
			return os.WriteFile(filepath.Join(e, "parley-windows-amd64.exe"), []byte("the pro"), 0o644)
		},
		"missing": func(e string) error { return os.Remove(filepath.Join(e, "parley-windows-amd64.exe")) },
		"elsewhere": func(e string) error {
			list := filepath.Join(e, "programs.json")
			text, err := os.ReadFile(list)
			if err != nil {
				return err
			}
			return os.WriteFile(list, []byte(strings.Replace(string(text), `"parley-windows-amd64.exe"`, `"../parley"`, 1)), 0o644)
		},
		"no list": func(e string) error { return os.WriteFile(filepath.Join(e, "programs.json"), []byte("{"), 0o644) },
	} {
		folder := released(t)
		check(t, spoil(filepath.Join(folder, "endpoints")))
		own := update.OwnProgram{Platform: "linux-amd64", Version: "1.2.3", Path: filepath.Join(folder, "parley")}
		w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
		lines := must(w.fleet.InstallLink(t.Context(), op(), "new-pc"))(t)
		if lines.Sh == "" || lines.PS1 != "" {
			t.Errorf("%s: offered %+v", name, lines)
		}
		w.stop()
	}
}
