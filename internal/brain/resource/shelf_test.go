package resource_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/internal/brain/mcpclient"
	"parley.internal/internal/brain/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string, configured ...mcpclient.Server) *resource.Shelf {
	t.Helper()
	pool := mcpclient.New(mcpclient.Options{})
	t.Cleanup(pool.Close)
	s, err := resource.Open(resource.Options{Dir: dir, Pool: pool, Configured: configured})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestServersAreKeptAndTheirSecretsNeverShown(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, mcpclient.Server{Name: "fixed", Command: "x"})
	if err := s.SetMCPs([]mcpclient.Server{{Name: "files", Command: "files-mcp", Env: map[string]string{"KEY": "s3cret"}}}); err != nil {
		t.Fatal(err)
	}
	// A client that sends back what it was shown keeps the secret.
	shown := s.MCPs()
	if len(shown) != 2 || shown[0].Local || !shown[1].Local || shown[1].Env["KEY"] != "***" {
		t.Fatalf("shown: %+v", shown)
	}
	if err := s.SetMCPs([]mcpclient.Server{shown[1].Server}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "resources.yaml"))
	if err != nil || !contains(raw, "s3cret") {
		t.Fatalf("the file lost the secret: %s, %v", raw, err)
	}
	info, err := os.Stat(filepath.Join(dir, "resources.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	// Another command under the same name does not get it.
	shown[1].Command = "steal"
	if err := s.SetMCPs([]mcpclient.Server{shown[1].Server}); err != nil {
		t.Fatal(err)
	}
	if raw, _ = os.ReadFile(filepath.Join(dir, "resources.yaml")); contains(raw, "s3cret") {
		t.Fatal("a changed command got the old secret")
	}
	if again := open(t, dir).MCPs(); len(again) != 1 || again[0].Command != "steal" {
		t.Fatalf("after a restart: %+v", again)
	}
}

func TestBadListsChangeNothing(t *testing.T) {
	s := open(t, t.TempDir(), mcpclient.Server{Name: "fixed", Command: "x"})
	for name, list := range map[string][]mcpclient.Server{
		"configured name": {{Name: "fixed", Command: "y"}},
		"nothing to run":  {{Name: "a"}},
		"twice":           {{Name: "a", Command: "x"}, {Name: "a", Command: "y"}},
	} {
		if err := s.SetMCPs(list); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := s.MCPs(); len(got) != 1 {
		t.Errorf("changed: %+v", got)
	}
}

func TestSwitchesOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "skills", "release"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: release\ndescription: how to release\n---\nDo it.\n"
	if err := os.WriteFile(filepath.Join(dir, "skills", "release", "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, mcpclient.Server{Name: "fixed", Command: "x"})
	if len(s.Usable()) != 1 {
		t.Fatalf("usable: %v", s.Usable())
	}
	if err := errors.Join(s.EnableSkill("release", false), s.EnableMCP("fixed", false)); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, mcpclient.Server{Name: "fixed", Command: "x"})
	all, err := s.Skills()
	if err != nil || len(all) != 1 || all[0].Enabled || len(s.Usable()) != 0 || !s.MCPs()[0].Disabled {
		t.Fatalf("after a restart: %+v %v %+v", all, err, s.MCPs())
	}
	if err := errors.Join(s.EnableSkill("release", true), s.EnableMCP("fixed", true), s.Reload()); err != nil {
		t.Fatal(err)
	}
	if len(s.Usable()) != 1 || s.MCPs()[0].Disabled {
		t.Error("not switched on again")
	}
	if err := s.EnableSkill("none", true); !errors.Is(err, resource.ErrNoSkill) {
		t.Errorf("got %v", err)
	}
	if err := s.EnableMCP("none", true); !errors.Is(err, resource.ErrNoMCP) {
		t.Errorf("got %v", err)
	}
}

func TestAFileWrittenAMomentAgoIsListed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	file := filepath.Join(dir, "skills", "tea.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, about := range []string{"green", "black"} {
		text := "---\nname: tea\ndescription: " + about + "\n---\nBrew.\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := s.Skills()
		if err != nil || len(all) != 1 || all[0].Description != about {
			t.Fatalf("after writing %s: %+v %v", about, all, err)
		}
	}
}

func contains(raw []byte, s string) bool { return bytes.Contains(raw, []byte(s)) }
