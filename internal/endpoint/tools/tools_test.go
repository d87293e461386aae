package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
	"parley.internal/internal/endpoint/truepath"
	wire "parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryToolOfTheCatalogueHasAHandler(t *testing.T) {
	s := New(Deps{})
	for _, tool := range wire.Tools() {
		if s.handlers[tool.Name] == nil {
			t.Errorf("nobody does %s", tool.Name)
		}
	}
	if len(s.handlers) != len(wire.Tools()) {
		t.Error("a handler nobody can ask for")
	}
}

func TestFailuresGetTheirCodes(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want wire.Code
	}{
		"missing path":    {&fs.PathError{Op: "open", Err: fs.ErrNotExist}, wire.CodeNotFound},
		"missing program": {fmt.Errorf("x %w: %w", command.ErrNotStarted, exec.ErrNotFound), wire.CodeExecFailed},
		"no permission":   {&fs.PathError{Op: "open", Err: fs.ErrPermission}, wire.CodeExecFailed},
		"relative":        {truepath.ErrRelative, wire.CodeBadArgs},
		"wrong kind":      {truepath.ErrKind, wire.CodeBadArgs},
		"not here":        {fmt.Errorf("%w: no systemd", probe.ErrUnsupported), wire.CodeUnsupported},
		"a failed helper": {&command.ExitError{Program: "ip", Code: 2, Stderr: "Operation not permitted"}, wire.CodeExecFailed},
		"its own code":    {unsupported("x"), wire.CodeUnsupported},
	} {
		e, ok := errors.AsType[*wire.Error](translate(c.err))
		if !ok || e.Code != c.want {
			t.Errorf("%s: %v; want ok, e.Code to be %v", name, e, c.want)
		}
	}
	if err := translate(context.DeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("the end of time has another owner")
	}
}

func TestTheUpStepAlwaysRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var steps []string
	err := downUp(ctx,
		func(context.Context) error { steps = append(steps, "down"); cancel(); return errors.New("down failed") },
		func(ctx context.Context) error { steps = append(steps, "up"); return ctx.Err() })
	if !slices.Equal(steps, []string{"down", "up"}) || err == nil || err.Error() != "down failed" {
		t.Errorf("%v %v; want slices.Equal(steps, []string{\"down\", \"up\"}), an error, err.Error() to be \"down failed\"", steps, err)
	}
	err = downUp(t.Context(), func(context.Context) error { return nil }, func(context.Context) error { return errors.New("up failed") })
	if err == nil {
		t.Error("a failed up step is a success")
	}
}

func TestPowerShellIsFoundInItsOrder(t *testing.T) {
	for _, c := range []struct {
		there []string
		want  string
	}{{[]string{"powershell.exe", "pwsh"}, "/bin/powershell.exe"}, {[]string{"pwsh"}, "/bin/pwsh"}, {nil, ""}} {
		got, ok := findPowerShell(func(name string) (string, error) {
			if slices.Contains(c.there, name) {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		})
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%v: %q", c.there, got)
		}
	}
}

func TestAPowerShellScriptGoesByWayOfAPrivateFile(t *testing.T) {
	script := "param($x)\n'ümläut'; exit 3"
	spec, clean, err := powershellSpec("/bin/pwsh", script)
	if err != nil {
		t.Fatal(err)
	}
	last := spec.Args[len(spec.Args)-1]
	_, rest, _ := strings.Cut(last, "& '")
	path, _, _ := strings.Cut(rest, "'")
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "\ufeff"+script {
		t.Errorf("%q %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v; want no error, info.Mode().Perm()&0o077 to be 0", info.Mode(), err)
	}
	if !slices.Contains(spec.Args, "-NoProfile") || !slices.Contains(spec.Args, "-NonInteractive") || strings.Contains(strings.Join(spec.Args, " "), "ümläut") {
		t.Error(spec.Args)
	}
	clean()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the script stayed behind")
	}
}

func TestWingetIsCalledByExactIDAndSilently(t *testing.T) {
	want := []string{"install", "--id", "Vendor.App", "--exact", "--silent", "--accept-source-agreements", "--disable-interactivity", "--accept-package-agreements"}
	if d := cmp.Diff(want, silent("install", exactly("Vendor.App")...)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if slices.Contains(silent("uninstall", exactly("x")...), "--accept-package-agreements") {
		t.Error("uninstall knows no package agreements")
	}
}

func TestALogOfWingetHasNoProgressBars(t *testing.T) {
	got := wingetLog("   - \r   \\ \rFound App [Vendor.App]\r\n  ██████▒▒▒  12 MB\r\n\r\nSuccessfully installed\r\n")
	if got != "Found App [Vendor.App]\nSuccessfully installed" {
		t.Errorf("%q; want \"Found App [Vendor.App]\\nSuccessfully installed\"", got)
	}
	if long := wingetLog(strings.Repeat("line\n", 50000)); len(long) > maxLog+8 || !strings.HasPrefix(long, "…") {
		t.Errorf("%d bytes", len(long))
	}
}

func TestServicesAreFilteredByEitherName(t *testing.T) {
	all := []probe.Service{{Name: "sshd", Display: "OpenSSH"}, {Name: "web", Display: "Site"}}
	for filter, want := range map[string]int{"": 2, "SSH": 1, "site": 1, "zzz": 0} {
		if got := matching(all, filter); len(got) != want {
			t.Errorf("%q: %v; want len(got) to be %v", filter, got, want)
		}
	}
}
