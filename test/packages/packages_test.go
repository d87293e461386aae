package packages_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/release"
	"parley.internal/protocol/kenny"
)

const root = "../.."

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command with some more environment and gives what it said.
func run(ctx context.Context, dir string, env []string, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, dir string, env []string, words ...string) string {
	t.Helper()
	out, err := run(t.Context(), dir, env, words...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return out
}

func needLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("releases are made on Linux")
	}
}

var endpoint = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "parley-packages-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "parley-endpoint")
	out, err := run(context.Background(), root, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version=1.2.3", "-o", path, "./cmd/parley-endpoint")
	if err != nil {
		return out, err
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if whole.dir != "" {
		_ = os.RemoveAll(whole.dir)
	}
	if path, err := endpoint(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// built is a folder as scripts/build.sh leaves it for this system. The hub's part is played
// by the endpoint program, which is real and small: nothing here asks it to be a hub.
func built(t *testing.T) string {
	t.Helper()
	path, err := endpoint()
	if err != nil {
		t.Fatalf("%v: %s", err, path)
	}
	in := t.TempDir()
	for _, name := range []string{"parley-linux-" + runtime.GOARCH, "parley-endpoint-linux-" + runtime.GOARCH} {
		check(t, os.Link(path, filepath.Join(in, name)))
	}
	return in
}

// whole is the release that all tests copy: packing it is what takes time.
var whole struct {
	once sync.Once
	dir  string
	key  ed25519.PrivateKey
}

// released is a signed release with its install.sh, and the key.
func released(t *testing.T) (string, ed25519.PrivateKey) {
	t.Helper()
	whole.once.Do(func() {
		var err error
		whole.dir, err = os.MkdirTemp("", "parley-release-*")
		check(t, err)
		whole.key = pack(t, whole.dir)
	})
	if whole.key == nil {
		t.Fatal("there is no release to copy")
	}
	out := t.TempDir()
	check(t, os.CopyFS(out, os.DirFS(whole.dir)))
	return out, whole.key
}

func pack(t *testing.T, out string) ed25519.PrivateKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	check(t, err)
	key := filepath.Join(t.TempDir(), "release.key")
	check(t, os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(private.Seed())), 0o600))
	env := []string{"VERSION=1.2.3", "RELEASE_KEY=" + key, "SOURCE_DATE_EPOCH=1700000000"}
	must(t, root, env, "scripts/release.sh", "pack", built(t), out)
	must(t, root, env, "scripts/release.sh", "installer", out, kenny.FormatPublicKey(public))
	check(t, release.SignFolder(out, private))
	return private
}

// without is an environment whose programs are all but some.
func without(t *testing.T, names ...string) []string {
	t.Helper()
	bin := t.TempDir()
	for _, dir := range []string{"/usr/bin", "/bin"} {
		entries, err := os.ReadDir(dir)
		check(t, err)
		for _, e := range entries {
			if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+e.Name()+" ") {
				_ = os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(bin, e.Name())) // both folders may be one
			}
		}
	}
	return []string{"PATH=" + bin}
}

func TestInstallScriptInstallsWhatWasSigned(t *testing.T) {
	needLinux(t)
	from, _ := released(t)
	for name, env := range map[string][]string{"openssl": without(t, "ssh-keygen"), "ssh-keygen": without(t, "openssl")} {
		to := t.TempDir()
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		said := must(t, to, env, "sh", filepath.Join(from, "install.sh"), "--from", from, "--to", to, "--version", "1.2.3")
		if got := must(t, to, nil, filepath.Join(to, "bin/parley"), "version"); !strings.Contains(got, "1.2.3") || !strings.Contains(said, "1.2.3") {
			t.Errorf("by %s: installed %q, said %q", name, got, said)
		}
		for _, want := range []string{"lib/parley/endpoints/programs.json", "lib/parley/endpoints/parley-endpoint-linux-" + runtime.GOARCH, "lib/parley/LICENSE"} {
			if _, err := os.Stat(filepath.Join(to, want)); err != nil {
				t.Errorf("by %s: %v", name, err)
			}
		}
		// Again is an upgrade: nothing of the old one stays, and nothing is missing.
		must(t, to, env, "sh", filepath.Join(from, "install.sh"), "--from", from, "--to", to)
		if _, err := os.Stat(filepath.Join(to, "lib/parley.old")); err == nil {
			t.Error("the old program was left")
		}
	}
}

// Whoever serves a release can change every file of it, but the script people have has the key.
func TestInstallScriptRunsNothingThatWasNotSigned(t *testing.T) {
	needLinux(t)
	archive := "parley-1.2.3-linux-" + runtime.GOARCH + ".tar.gz"
	_, stranger, err := ed25519.GenerateKey(nil)
	check(t, err)
	change := func(from string) { check(t, os.WriteFile(filepath.Join(from, archive), []byte("another"), 0o600)) }
	for name, c := range map[string]struct {
		spoil func(from string)
		env   []string
		flags []string
		want  string
	}{
		"the archive": {spoil: change, want: "not the file that was signed"},
		"the archive and its checksum": {want: "not signed", spoil: func(from string) {
			change(from)
			sums, err := release.SumFolder(from)
			check(t, err)
			check(t, os.WriteFile(filepath.Join(from, release.SumsFile), sums, 0o600))
		}},
		"everything, signed by a stranger": {want: "not signed", spoil: func(from string) {
			change(from)
			check(t, release.SignFolder(from, stranger))
		}},
		"the same for ssh-keygen": {want: "not signed", env: without(t, "openssl"), spoil: func(from string) {
			change(from)
			check(t, release.SignFolder(from, stranger))
		}},
		"no tool to check with":  {want: "neither openssl", env: without(t, "openssl", "ssh-keygen"), spoil: func(string) {}},
		"another version":        {want: "not 9.9.9", flags: []string{"--version", "9.9.9"}, spoil: func(string) {}},
		"an address without TLS": {want: "https", flags: []string{"--from", "http://127.0.0.1:1"}, spoil: func(string) {}},
	} {
		from, _ := released(t)
		script, to := t.TempDir(), t.TempDir()
		text, err := os.ReadFile(filepath.Join(from, "install.sh"))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(script, "install.sh"), text, 0o600))
		c.spoil(from)
		said, err := run(t.Context(), to, c.env, append([]string{"sh", filepath.Join(script, "install.sh"), "--from", from, "--to", to}, c.flags...)...)
		if err == nil || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v, said %q, want %q", name, err, said, c.want)
		}
		if left, _ := os.ReadDir(to); len(left) > 0 {
			t.Errorf("%s: %v was installed", name, left)
		}
	}
}

func TestTwoReleasesOfOneTreeAreTheSame(t *testing.T) {
	needLinux(t)
	in, a, b := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"parley-linux-" + runtime.GOARCH, "parley-endpoint-linux-" + runtime.GOARCH} {
		check(t, os.WriteFile(filepath.Join(in, name), []byte("the program "+name), 0o600))
	}
	env := []string{"VERSION=1.2.3", "SOURCE_DATE_EPOCH=1700000000"}
	must(t, root, env, "scripts/release.sh", "pack", in, a)
	for _, name := range []string{"parley-linux-" + runtime.GOARCH, "parley-endpoint-linux-" + runtime.GOARCH} {
		check(t, os.Chtimes(filepath.Join(in, name), time.Unix(0, 0), time.Unix(0, 0)))
	}
	must(t, root, append(env, "TZ=Asia/Tokyo", "LC_ALL=C"), "scripts/release.sh", "pack", in, b)
	name := "parley-1.2.3-linux-" + runtime.GOARCH + ".tar.gz"
	x, err := os.ReadFile(filepath.Join(a, name))
	check(t, err)
	y, err := os.ReadFile(filepath.Join(b, name))
	check(t, err)
	if !bytes.Equal(x, y) {
		t.Error("two archives of the same programs differ")
	}
}

// What the units allow is written down as a number that may only fall.
func TestUnitsAreHardened(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here: install systemd")
	}
	for _, unit := range []string{"parley.service", "parley-endpoint.service"} {
		out, err := run(t.Context(), root, nil, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=30", filepath.Join("packaging/systemd", unit))
		lines := strings.Split(strings.TrimSpace(out), "\n")
		t.Log(lines[len(lines)-1])
		if err != nil {
			t.Errorf("%s is exposed more than 3.0:\n%s", unit, out)
		}
	}
}
