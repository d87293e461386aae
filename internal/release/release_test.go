package release_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/release"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// signed is a folder with two files, signed, and the key.
func signed(t *testing.T) (string, ed25519.PublicKey) {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "parley-1.2.3-linux-amd64.tar.gz"), []byte("an archive"), 0o644))
	check(t, os.WriteFile(filepath.Join(dir, "parley-1.2.3.cdx.json"), []byte("{}"), 0o644))
	public, private, err := ed25519.GenerateKey(nil)
	check(t, err)
	check(t, release.SignFolder(dir, private))
	return dir, public
}

func TestWhatWasSignedIsFoundToBeTheSame(t *testing.T) {
	dir, key := signed(t)
	check(t, os.Remove(filepath.Join(dir, "parley-1.2.3.cdx.json")))
	files, err := release.Verify(dir, []ed25519.PublicKey{key})
	check(t, err)
	want := []release.File{{Name: "parley-1.2.3-linux-amd64.tar.gz", State: release.Same}, {Name: "parley-1.2.3.cdx.json", State: release.Missing}}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	check(t, release.Expect(dir, "parley-1.2.3-linux-amd64.tar.gz", []ed25519.PublicKey{key}))
	if release.Expect(dir, "parley-1.2.3-linux-arm64.tar.gz", []ed25519.PublicKey{key}) == nil {
		t.Error("a file the list does not name passes")
	}
}

// Whoever can put files on a mirror can change programs, checksums and signatures, but
// cannot sign.
func TestAChangedReleaseIsRefused(t *testing.T) {
	stranger, strangersKey, err := ed25519.GenerateKey(nil)
	check(t, err)
	for name, spoil := range map[string]func(dir string){
		"the archive": func(dir string) {
			check(t, os.WriteFile(filepath.Join(dir, "parley-1.2.3-linux-amd64.tar.gz"), []byte("another"), 0o644))
		},
		"the archive and its checksum": func(dir string) {
			check(t, os.WriteFile(filepath.Join(dir, "parley-1.2.3-linux-amd64.tar.gz"), []byte("another"), 0o644))
			sums, err := release.SumFolder(dir)
			check(t, err)
			check(t, os.WriteFile(filepath.Join(dir, release.SumsFile), sums, 0o644))
		},
		"everything, signed by a stranger": func(dir string) { check(t, release.SignFolder(dir, strangersKey)) },
		"the signature": func(dir string) {
			check(t, os.WriteFile(filepath.Join(dir, release.SignatureFile), []byte("AAAA"), 0o644))
		},
	} {
		dir, key := signed(t)
		spoil(dir)
		if err := release.Expect(dir, "parley-1.2.3-linux-amd64.tar.gz", []ed25519.PublicKey{key}); err == nil {
			t.Errorf("%s was changed, and the release is taken for the signed one", name)
		}
	}
	dir, _ := signed(t)
	if _, err := release.Verify(dir, []ed25519.PublicKey{stranger}); !errors.Is(err, release.ErrSignature) {
		t.Errorf("trusting another key: %v", err)
	}
	if _, err := release.Verify(dir, nil); !errors.Is(err, release.ErrSignature) {
		t.Errorf("trusting nobody: %v", err)
	}
}

// A bare machine has no program of ours to check a release with.
func TestToolsOfOthersAgree(t *testing.T) {
	dir, key := signed(t)
	run := func(stdin string, words ...string) error {
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir = dir
		if stdin != "" {
			file, err := os.Open(filepath.Join(dir, stdin))
			check(t, err)
			defer file.Close()
			cmd.Stdin = file
		}
		out, err := cmd.CombinedOutput()
		t.Logf("%s: %s", words[0], out)
		return err
	}
	var tried int
	spki, err := x509.MarshalPKIXPublicKey(key)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki}), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "allowed"), []byte("parley "+release.SSHPublicKey(key)+"\n"), 0o600))
	text, err := os.ReadFile(filepath.Join(dir, release.SignatureFile))
	check(t, err)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "raw"), raw, 0o600))
	both := func() (bad []string) {
		if _, err := exec.LookPath("openssl"); err == nil {
			tried++
			if run("", "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", release.SumsFile, "-sigfile", "raw") != nil {
				bad = append(bad, "openssl")
			}
		}
		if _, err := exec.LookPath("ssh-keygen"); err == nil {
			tried++
			if run(release.SumsFile, "ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "parley", "-n", release.Namespace, "-s", release.SSHFile) != nil {
				bad = append(bad, "ssh-keygen")
			}
		}
		return bad
	}
	if bad := both(); len(bad) > 0 {
		t.Errorf("%v refuse what we signed", bad)
	}
	if tried == 0 {
		t.Skip("neither openssl nor ssh-keygen is here: install one")
	}
	sums, err := os.ReadFile(filepath.Join(dir, release.SumsFile))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, release.SumsFile), append(sums, '\n'), 0o644))
	if bad := both(); len(bad)*2 != tried {
		t.Errorf("of a changed list only %v complain", bad)
	}
}

func TestChecksumsNameOnlyFilesOfTheFolder(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for _, text := range []string{"", "\n", sum + "  ../parley\n", sum + "  /etc/passwd\n", sum + "  a/b\n", sum + "  .\n", sum + "  a\n" + sum + "  a\n", "x" + sum[1:] + "  a\n", sum + " a\n", sum + "  a\n\n"} {
		if got, err := release.ParseSums([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func FuzzParseSums(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 64) + "  parley.tar.gz\n"))
	f.Add([]byte(strings.Repeat("0", 64) + " *..\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sums, err := release.ParseSums(text)
		if err != nil {
			return
		}
		for _, s := range sums {
			if !filepath.IsLocal(s.Name) || filepath.Base(s.Name) != s.Name {
				t.Errorf("%q leads elsewhere", s.Name)
			}
		}
	})
}

func TestAProgramSaysWhatItIsMadeOf(t *testing.T) {
	self := filepath.Join(t.TempDir(), "tool")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", self, "./tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	lock := filepath.Join(t.TempDir(), "package-lock.json")
	check(t, os.WriteFile(lock, []byte(`{"packages":{"":{"version":"1"},"node_modules/svelte":{"version":"5.0.0"},"node_modules/a/node_modules/@b/c":{"version":"2.0.0"},"node_modules/vite":{"version":"7.0.0","dev":true}}}`), 0o600))
	text, err := release.Parts(self, lock, "1.2.3")
	check(t, err)
	again, err := release.Parts(self, lock, "1.2.3")
	check(t, err)
	if string(text) != string(again) {
		t.Error("the same program has two lists")
	}
	var list struct {
		Components []struct{ PURL string }
	}
	check(t, json.Unmarshal(text, &list))
	all := string(text)
	for _, want := range []string{"pkg:golang/github.com/go-json-experiment/json@", "pkg:golang/std@", "pkg:npm/svelte@5.0.0", "pkg:npm/%40b/c@2.0.0"} {
		if !strings.Contains(all, want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	if strings.Contains(all, "vite") || len(list.Components) < 4 {
		t.Errorf("%d parts, tools of the build among them: %v", len(list.Components), strings.Contains(all, "vite"))
	}
}
