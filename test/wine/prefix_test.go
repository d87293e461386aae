package wine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

// places are where Wine may be, the usual name first; Debian's wine64 puts nothing on the path.
var places = []string{"wine", "wine64", "/usr/lib/wine/wine64"}

// windows is an empty Windows of a test's own, and the program that runs things in it.
type windows struct {
	loader, prefix string
}

// newWindows makes one, or says in one line why the test is skipped.
func newWindows(t *testing.T) *windows {
	t.Helper()
	if os.Getenv("PARLEY_TEST_WINE") == "" {
		t.Skip("set PARLEY_TEST_WINE=1 to run the Windows program under Wine; 'make test' does, as a step of its own, where Wine is installed")
	}
	w := &windows{prefix: filepath.Join(t.TempDir(), "prefix")}
	for _, p := range places {
		if found, err := exec.LookPath(p); err == nil {
			w.loader = found
			break
		}
	}
	if w.loader == "" {
		t.Skip("Wine is not installed on this machine (Debian: apt-get install wine64): the Windows program is built and vetted, but not run")
	}
	t.Cleanup(w.shutDown)
	if out, err := w.command(t.Context(), "wineboot", "--init").CombinedOutput(); err != nil {
		t.Fatalf("wineboot: %v\n%s", err, out)
	}
	w.giveRandomness(t)
	return w
}

// giveRandomness lays the forwarder where this Wine lacks the library.
func (w *windows) giveRandomness(t *testing.T) {
	t.Helper()
	path := w.path(`C:\windows\system32\` + prngLibrary)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := os.WriteFile(path, forwarder(prngLibrary, prngName, prngTarget), 0o600); err != nil {
		t.Fatal(err)
	}
}

// path is where a file of drive C is for us.
func (w *windows) path(name string) string {
	rest := strings.TrimPrefix(name, `C:\`)
	return filepath.Join(append([]string{w.prefix, "drive_c"}, strings.Split(rest, `\`)...)...)
}

// command runs a Windows program. It sees no display and none of our settings.
func (w *windows) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.loader, args...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "PARLEY_") && !strings.HasPrefix(pair, "DISPLAY=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "WINEPREFIX="+w.prefix, "WINEDEBUG=-all", `WINEPATH=C:\smoke`,
		"WINEDLLOVERRIDES=mscoree,mshtml=;winemenubuilder.exe=d")
	return cmd
}

// run is command, to its end; it gives what was printed, without carriage returns.
func (w *windows) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hubtest.Patience)
	defer cancel()
	out, err := w.command(ctx, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.ReplaceAll(string(out), "\r", "")
}

// shutDown ends everything that runs in this Windows, and waits for it.
func (w *windows) shutDown() {
	for _, name := range []string{"wineserver", filepath.Join(filepath.Dir(w.loader), "wineserver"), "/usr/lib/wine/wineserver"} {
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		for _, flag := range []string{"-k", "-w"} {
			cmd := exec.Command(name, flag)
			cmd.Env = append(os.Environ(), "WINEPREFIX="+w.prefix)
			_ = cmd.Run() // nothing left to end is an error too
		}
		return
	}
}

// build compiles a package of ours for Windows into drive C; with -c it is the package's tests.
func (w *windows) build(t *testing.T, verb []string, pkg, name string) string {
	t.Helper()
	exe := `C:\smoke\` + name + ".exe"
	args := append(append([]string{}, verb...), "-trimpath", "-ldflags=-s -w", "-o", w.path(exe), pkg)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return exe
}
