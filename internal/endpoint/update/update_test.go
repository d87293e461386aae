package update

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	wire "parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/policy"
)

// This test program stands in for the endpoint's: asked for its version, it
// tells the one it was given.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println("parley", os.Getenv("UPDATE_TEST_VERSION"), runtime.GOOS+"/"+runtime.GOARCH)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func key(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(fill)), ed25519.SeedSize)))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

const address = "https://hub.example.org/d/endpoint/nonce"

// release is what a server would hand out.
type release struct {
	program []byte
	sig     string
	sum     string
}

func sign(t *testing.T, program []byte, version, platform string, k ed25519.PrivateKey) release {
	t.Helper()
	sum := sha256.Sum256(program)
	sig, err := wire.Sign(k, wire.ReleaseMessage(version, platform, sum))
	if err != nil {
		t.Fatal(err)
	}
	return release{program: program, sig: base64.StdEncoding.EncodeToString(sig), sum: hex.EncodeToString(sum[:])}
}

func self(t *testing.T) []byte {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (r release) download(_ context.Context, a string, limit int64, w io.Writer) error {
	data := r.program
	if strings.HasSuffix(a, ".sig") {
		data = []byte(r.sig + "\n")
	}
	if int64(len(data)) > limit {
		return errTooLong
	}
	_, err := w.Write(data)
	return err
}

func onlyHub(a string) error {
	if rule, hit := policy.CheckUpdateURL(a, []string{"hub.example.org"}); hit {
		return &wire.Error{Code: wire.CodeBlocked, Message: rule.Refusal()}
	}
	return nil
}

// updater stages into a fresh folder; plans gets what would be swapped.
func updater(t *testing.T, r release, plans *[]Plan) (*Updater, string) {
	t.Helper()
	dir := t.TempDir()
	return New(Options{
		Folder: dir, Program: filepath.Join(dir, "parley"), Version: "1.9.0", Keys: []ed25519.PublicKey{public(key('r'))}, Log: quiet(),
		Check: onlyHub, Download: r.download, Swap: func(p Plan) error { *plans = append(*plans, p); return nil },
	}), dir
}

func staged(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "staging", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func codeOf(err error) wire.Code {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return ""
	}
	return e.Code
}

func TestAGoodUpdateIsStagedAndSwapped(t *testing.T) {
	t.Setenv("UPDATE_TEST_VERSION", "1.10.0")
	var plans []Plan
	u, dir := updater(t, sign(t, self(t), "1.10.0", Platform(), key('r')), &plans)
	r := sign(t, self(t), "1.10.0", Platform(), key('r'))
	if err := u.Stage(t.Context(), "1.10.0", address, r.sum); err != nil { // newer by number, not by text
		t.Fatal(err)
	}
	if len(plans) != 1 || plans[0].Version != "1.10.0" || plans[0].Previous != "1.9.0" || plans[0].Folder != dir {
		t.Errorf("%+v", plans)
	}
	if names := staged(t, dir); len(names) != 1 || names[0] != plans[0].New {
		t.Errorf("%v", names)
	}
	err := u.Stage(t.Context(), "1.11.0", address, r.sum)
	if codeOf(err) != wire.CodeExecFailed || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a second update at once: %v", err)
	}
}

func TestABadUpdateIsRefusedAndLeavesNoFile(t *testing.T) {
	t.Setenv("UPDATE_TEST_VERSION", "2.0.0")
	program := self(t)
	good := sign(t, program, "2.0.0", Platform(), key('r'))
	windows := append([]byte("MZ"), make([]byte, 4096)...)
	with := func(change func(*release)) release { r := good; change(&r); return r }
	for name, c := range map[string]struct {
		r       release
		version string
		url     string
		sum     string
		want    wire.Code
	}{
		"wrong hash":                   {good, "2.0.0", address, strings.Repeat("0", 64), wire.CodeExecFailed},
		"another key":                  {sign(t, program, "2.0.0", Platform(), key('x')), "2.0.0", address, good.sum, wire.CodeExecFailed},
		"signed for another version":   {sign(t, program, "3.0.0", Platform(), key('r')), "2.0.0", address, good.sum, wire.CodeExecFailed},
		"signed for another system":    {sign(t, program, "2.0.0", "plan9-mips", key('r')), "2.0.0", address, good.sum, wire.CodeExecFailed},
		"no signature":                 {with(func(r *release) { r.sig = "" }), "2.0.0", address, good.sum, wire.CodeExecFailed},
		"garbage for a signature":      {with(func(r *release) { r.sig = "%%%" }), "2.0.0", address, good.sum, wire.CodeExecFailed},
		"not a program":                {sign(t, []byte("#!/bin/sh\nexit 0\n"), "2.0.0", Platform(), key('r')), "2.0.0", address, "", wire.CodeExecFailed},
		"a program for another system": {sign(t, windows, "2.0.0", Platform(), key('r')), "2.0.0", address, "", wire.CodeExecFailed},
		"says another version":         {sign(t, program, "2.0.1", Platform(), key('r')), "2.0.1", address, "", wire.CodeExecFailed},
		"the same version":             {good, "1.9.0", address, good.sum, wire.CodeBlocked},
		"an older version":             {good, "1.8.9", address, good.sum, wire.CodeBlocked},
		"no version at all":            {good, "latest", address, good.sum, wire.CodeBlocked},
		"another host":                 {good, "2.0.0", "https://evil.example.net/x", good.sum, wire.CodeBlocked},
		"plain http":                   {good, "2.0.0", "http://hub.example.org/x", good.sum, wire.CodeBlocked},
	} {
		var plans []Plan
		u, dir := updater(t, c.r, &plans)
		sum := c.sum
		if sum == "" {
			sum = c.r.sum
		}
		if err := u.Stage(t.Context(), c.version, c.url, sum); codeOf(err) != c.want {
			t.Errorf("%s: %v; want codeOf(err) to be %v", name, err, c.want)
		}
		if names := staged(t, dir); len(names) != 0 || len(plans) != 0 {
			t.Errorf("%s: left %v, plans %v", name, names, plans)
		}
	}
}

func TestWithoutAReleaseKeyThereAreNoUpdates(t *testing.T) {
	u := New(Options{Folder: t.TempDir(), Version: "1", Log: quiet(), Check: onlyHub})
	if err := u.Stage(t.Context(), "2", address, strings.Repeat("0", 64)); codeOf(err) != wire.CodeUnsupported {
		t.Error(err)
	}
}

func TestRedirectsAreJudgedToo(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "content") })
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/good", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://evil.example.net/x", http.StatusFound)
	})
	mux.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/good", http.StatusFound)
	})
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	client := newClient(func(a string) error {
		if _, hit := policy.CheckUpdateURL(a, []string{strings.TrimPrefix(server.URL, "https://")}); hit {
			return &wire.Error{Code: wire.CodeBlocked, Message: "no"}
		}
		return nil
	})
	client.Transport = server.Client().Transport
	for path, want := range map[string]wire.Code{"/here": "", "/good": "", "/away": wire.CodeBlocked, "/plain": wire.CodeBlocked, "/round": wire.CodeExecFailed, "/missing": wire.CodeExecFailed} {
		var got strings.Builder
		err := download(t.Context(), client, server.URL+path, 100, &got)
		if want == "" {
			if err != nil || got.String() != "content" {
				t.Errorf("%s: %v; want no error, got.String() to be \"content\"", path, err)
			}
			continue
		}
		if err == nil || codeOf(refused(err)) != want {
			t.Errorf("%s: %v; want an error, codeOf(refused(err)) to be %v", path, err, want)
		}
	}
	if err := download(t.Context(), client, server.URL+"/good", 3, io.Discard); !errors.Is(err, errTooLong) {
		t.Errorf("too long: %v", err)
	}
}

func TestFormatAndProcessorAreChecked(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkFormatFor(path, runtime.GOOS, runtime.GOARCH); err != nil {
		t.Error(err)
	}
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	if err := checkFormatFor(path, runtime.GOOS, other); !errors.Is(err, errArch) {
		t.Errorf("another processor: %v", err)
	}
	for _, goos := range []string{"linux", "windows", "darwin", "plan9"} {
		if goos != runtime.GOOS && checkFormatFor(path, goos, runtime.GOARCH) == nil {
			t.Errorf("a program of %s passes on %s", runtime.GOOS, goos)
		}
	}
}
