package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kardianos/service"
)

// manager stands for a system's service manager, which no test may touch.
type manager struct {
	service.Service
	installed, running bool
	failing            string // the step that fails
}

func (m *manager) step(name string) error {
	if m.failing == name {
		return errors.New(name + " is not possible")
	}
	return nil
}

func (m *manager) Install() error { err := m.step("install"); m.installed = err == nil; return err }

func (m *manager) Uninstall() error { m.installed = false; return nil }

func (m *manager) Start() error { err := m.step("start"); m.running = err == nil; return err }

func (m *manager) Stop() error { m.running = false; return nil }

func (m *manager) Status() (service.Status, error) {
	if !m.installed {
		return service.StatusUnknown, service.ErrNotInstalled
	}
	return service.StatusRunning, nil
}

func plan(t *testing.T, m *manager, there string) (Plan, string) {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "bin", "parley")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(from, "new")
	if there != "" {
		write(to, there)
	}
	return Plan{Service: m, From: from, Program: to, Enrol: func() error { return nil }}, to
}

// Without systemd the machine was enrolled, the program copied and a unit written,
// and then starting it failed.
func TestAFailedInstallationLeavesNothingHalfDone(t *testing.T) {
	for _, failing := range []string{"install", "start"} {
		m := &manager{failing: failing}
		p, program := plan(t, m, "")
		if err := p.Run(); err == nil || !strings.Contains(err.Error(), failing) || !strings.Contains(err.Error(), "as they were") {
			t.Errorf("a failing %s is told as %v", failing, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(program)); len(left) > 0 || m.installed {
			t.Errorf("a failing %s leaves %v, service %v", failing, left, m.installed)
		}
	}
}

func TestAFailedReinstallationKeepsTheEarlierOne(t *testing.T) {
	m := &manager{installed: true, running: true, failing: "start"}
	p, program := plan(t, m, "old")
	if err := p.Run(); err == nil {
		t.Fatal("it did not fail")
	}
	text, _ := os.ReadFile(program)
	if string(text) != "old" || !m.installed {
		t.Errorf("program %q, service %v; wanted the earlier ones", text, m.installed)
	}
	m.failing = ""
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	text, _ = os.ReadFile(program)
	if left, _ := os.ReadDir(filepath.Dir(program)); string(text) != "new" || len(left) != 1 || !m.running {
		t.Errorf("program %q, %d files, running %v; wanted the new one alone", text, len(left), m.running)
	}
}

func TestWhatKeepsFromInstallingIsToldBefore(t *testing.T) {
	there, missing := t.TempDir(), filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no administrator": {ready("linux", 1000, there), "sudo"},
		"no systemd":       {ready("linux", 0, missing), "not run by systemd"},
		"linux":            {ready("linux", 0, there), ""},
		"macos":            {ready("darwin", 0, missing), ""},
		"windows":          {ready("windows", -1, missing), ""},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v; wanted %q", name, c.err, c.want)
		}
	}
}
