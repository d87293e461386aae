package fleet_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/update"
	"parley.internal/protocol/kenny"
)

// released is a release as scripts/release.sh packs it, unpacked: the folder of the
// Linux archive.
func released(t *testing.T) string { t.Helper(); return releasedBy(t, nil) }

// releasedBy is the same, signed by a key.
func releasedBy(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	in, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"parley-linux-amd64", "parley-endpoint-linux-amd64", "parley-endpoint-windows-amd64.exe", "parley-endpoint-darwin-arm64"} {
		check(t, os.WriteFile(filepath.Join(in, name), []byte("the program "+name), 0o755))
	}
	pack := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "..", "scripts", "release.sh"), "pack", in, out)
	pack.Env = append(os.Environ(), "VERSION=1.2.3")
	if key != nil {
		file := filepath.Join(t.TempDir(), "release.key")
		check(t, os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key.Seed())), 0o600))
		pack.Env = append(pack.Env, "RELEASE_KEY="+file)
	}
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
	if string(got) != "the program parley-endpoint-windows-amd64.exe" || !strings.Contains(script, "windows-amd64") {
		t.Errorf("the Windows program is %q", got)
	}
}

// A machine got the hub's whole program, six times as large, when it ran what the hub runs on.
func TestAReleaseInstallsTheSmallProgram(t *testing.T) {
	folder := released(t)
	own := update.OwnProgram{Platform: "linux-amd64", Version: "1.2.3", Path: filepath.Join(folder, "parley")}
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
	lines := must(w.fleet.InstallLink(t.Context(), op(), "new-pc"))(t)
	_, nonce, _ := strings.Cut(strings.Split(lines.Sh, "'")[1], "/install/")
	must(w.fleet.OpenInstall(t.Context(), nonce, update.ShellPOSIX, ""))(t)
	got := content(t, must(w.fleet.InstallProgram(t.Context(), nonce, "linux-amd64"))(t))
	if string(got) != "the program parley-endpoint-linux-amd64" {
		t.Errorf("a Linux machine is installed from %q", got)
	}
}

// A hub that was upgraded could not bring its machines along before somebody had signed
// and uploaded programs for them, which the release had with it all the time.
func TestASignedReleaseUpdatesMachines(t *testing.T) {
	key := newKey()
	public := key.Public().(ed25519.PublicKey)
	folder := releasedBy(t, key)
	own := update.OwnProgram{Platform: "linux-amd64", Version: "1.2.3", Path: filepath.Join(folder, "parley")}
	offered := func(trust ...ed25519.PublicKey) (platforms []string) {
		w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own, d.ReleaseKeys = own, trust }})
		defer w.stop()
		for _, b := range must(w.fleet.Binaries(t.Context(), op()))(t) {
			if b.Version == "1.2.3" && b.Key == kenny.FormatPublicKey(public) {
				platforms = append(platforms, b.Platform)
			}
		}
		slices.Sort(platforms)
		return platforms
	}
	all := []string{"darwin-arm64", "linux-amd64", "windows-amd64"}
	if got := offered(public); !slices.Equal(got, all) {
		t.Errorf("a hub that trusts the key offers %v, want %v", got, all)
	}
	if got := offered(); !slices.Equal(got, all) {
		t.Errorf("a hub that names no keys offers %v, want %v", got, all)
	}
	if got := offered(newKey().Public().(ed25519.PublicKey)); len(got) > 0 {
		t.Errorf("a hub that trusts another key offers %v", got)
	}
	list := filepath.Join(folder, "endpoints", "programs.json")
	text := must(os.ReadFile(list))(t)
	check(t, os.WriteFile(list, []byte(strings.Replace(string(text), `"version": "1.2.3"`, `"version": "9.9.9"`, 1)), 0o644))
	if w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }}); len(must(w.fleet.Binaries(t.Context(), op()))(t)) > 0 {
		t.Error("a list that claims another version than was signed is offered as updates")
	}
}

// Half a copy, or a name that leads elsewhere, is not handed out; the rest is.
func TestAReleaseThatIsNotWholeIsNotHandedOut(t *testing.T) {
	for name, spoil := range map[string]func(endpoints string) error{
		"half a copy": func(e string) error {
			return os.WriteFile(filepath.Join(e, "parley-endpoint-windows-amd64.exe"), []byte("the pro"), 0o644)
		},
		"missing": func(e string) error { return os.Remove(filepath.Join(e, "parley-endpoint-windows-amd64.exe")) },
		"elsewhere": func(e string) error {
			list := filepath.Join(e, "programs.json")
			text, err := os.ReadFile(list)
			if err != nil {
				return err
			}
			return os.WriteFile(list, []byte(strings.Replace(string(text), `"parley-endpoint-windows-amd64.exe"`, `"../parley"`, 1)), 0o644)
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
