package brain_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/brain"
	"parley.internal/internal/identity"
)

func open(t testing.TB) (*brain.Library, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agents")
	l, err := brain.OpenLibrary(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

func TestTheFirstStartHasTwoAgentsAndADeletedOneStaysDeleted(t *testing.T) {
	l, _ := open(t)
	if err := l.EnsureDefaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	parley, err := l.Get("parley")
	if err != nil || parley.Prompt == "" || parley.Description == "" || len(parley.Tools) == 0 {
		t.Errorf("%+v %v; want no error, parley.Prompt not to be \"\", parley.Description not to be \"\", len(parley.Tools) not to be 0", parley, err)
	}
	kibitzer, err := l.Get("kibitzer")
	if err != nil || len(kibitzer.Tools) != 0 {
		t.Errorf("%+v %v; want no error, len(kibitzer.Tools) to be 0", kibitzer, err)
	}
	if err := l.Delete(t.Context(), identity.Hub(), "kibitzer"); err != nil {
		t.Fatal(err)
	}
	if err := l.EnsureDefaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Get("kibitzer"); !errors.Is(err, brain.ErrNoAgent) {
		t.Error("it came back", err)
	}
}

func TestABrokenFileKeepsTheLastGoodVersionAndShowsItsError(t *testing.T) {
	l, dir := open(t)
	file := filepath.Join(dir, "a.md")
	steps := []struct {
		text, prompt, problem string
	}{
		{"---\nmodell: x\n---\nfirst", "", "modell"},
		{"second", "second", ""},
		{"---\nthinking: deep\n---\nthird", "second", "thinking"},
		{"fourth", "fourth", ""},
	}
	for _, s := range steps {
		write(t, file, s.text)
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		a, err := l.Get("a")
		e, _ := l.Entry("a")
		if s.prompt == "" {
			if !errors.Is(err, brain.ErrBrokenAgent) || !strings.Contains(err.Error(), s.problem) {
				t.Errorf("%q: %v; want brain.ErrBrokenAgent, strings.Contains(err.Error(), s.problem)", s.text, err)
			}
			continue
		}
		if err != nil || a.Prompt != s.prompt || (e.Err != nil) != (s.problem != "") {
			t.Errorf("%q: %v %v %v", s.text, a, err, e.Err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(); err != nil || len(l.List()) != 0 {
		t.Error("a removed file is still an agent", err)
	}
}

func TestAChangedFileIsNoticed(t *testing.T) {
	l, dir := open(t)
	write(t, filepath.Join(dir, "a.md"), "before")
	changed := make(chan struct{}, 16)
	cancel := l.Subscribe(func() { changed <- struct{}{} })
	defer cancel()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { l.Watch(ctx) })
	defer wg.Wait()
	defer stop()
	<-changed // the watch reads what is there when it begins
	write(t, filepath.Join(dir, "a.md"), "after")
	for {
		<-changed
		if a, err := l.Get("a"); err == nil && a.Prompt == "after" {
			return
		}
	}
}

func TestOtherFilesAreNoAgents(t *testing.T) {
	l, dir := open(t)
	for _, name := range []string{"README.txt", "A.md", ".a.md", "a.md~", ".md"} {
		write(t, filepath.Join(dir, name), "x")
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(); err != nil || len(l.List()) != 0 {
		t.Errorf("%v %v; want no error, len(l.List()) to be 0", l.List(), err)
	}
}

func TestAgentsAreCreatedChangedAndDeleted(t *testing.T) {
	l, dir := open(t)
	ctx := t.Context()
	told := 0
	cancel := l.Subscribe(func() { told++ })
	a, err := l.Create(ctx, identity.Hub(), "a", []byte(`{"prompt":"Be kind.","tools":["files"],"max_iterations":4,"budget":{"day_usd":0.5},"temperature":0.5}`))
	if err != nil || a.Prompt != "Be kind." || a.MaxIterations != 4 || a.Budget.DayMicros != 500_000 {
		t.Fatalf("%+v %v; want no error, a.Prompt to be \"Be kind.\", a.MaxIterations to be 4, a.Budget.DayMicros to be 500_000", a, err)
	}
	if _, err := l.Create(ctx, identity.Hub(), "a", []byte(`{}`)); !errors.Is(err, brain.ErrAgentExists) {
		t.Error(err)
	}
	a, err = l.Update(ctx, identity.Hub(), "a", []byte(`{"model":"offline","max_iterations":null}`))
	if err != nil || a.Model != "offline" || a.MaxIterations != 16 || a.Prompt != "Be kind." || a.Tools[0] != "files" {
		t.Errorf("given keys change, the rest stays: %+v %v", a, err)
	}
	for config, want := range map[string]string{
		`{"modell":"x"}`: "did you mean", `{"thinking":"deep"}`: "thinking", `[]`: "not a JSON object", `{} x`: "follows",
		`{"prompt":3}`: "prompt", `{"tools":{"a":1}}`: "tools",
	} {
		if _, err := l.Update(ctx, identity.Hub(), "a", []byte(config)); !errors.Is(err, brain.ErrAgentConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want brain.ErrAgentConfig, strings.Contains(err.Error(), want)", config, err)
		}
	}
	if got, _ := l.Get("a"); got.Model != "offline" {
		t.Error("a refused change took effect")
	}
	if _, err := l.Update(ctx, identity.Hub(), "b", []byte(`{}`)); !errors.Is(err, brain.ErrNoAgent) {
		t.Error(err)
	}
	for _, name := range []string{"../x", "X", ""} {
		if _, err := l.Create(ctx, identity.Hub(), name, []byte(`{}`)); !errors.Is(err, brain.ErrAgentName) {
			t.Errorf("%q: %v; want brain.ErrAgentName", name, err)
		}
		if err := l.Delete(ctx, identity.Hub(), name); !errors.Is(err, brain.ErrNoAgent) {
			t.Errorf("%q: %v; want brain.ErrNoAgent", name, err)
		}
	}
	if err := l.Delete(ctx, identity.Hub(), "a"); err != nil {
		t.Error(err)
	}
	if err := l.Delete(ctx, identity.Hub(), "a"); !errors.Is(err, brain.ErrNoAgent) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Error("something was left behind", left)
	}
	if cancel(); told != 3 {
		t.Errorf("told of %d changes", told)
	}
}

func TestAnEditKeepsTheBodyAndTheComments(t *testing.T) {
	l, dir := open(t)
	write(t, filepath.Join(dir, "garden.md"), fullAgent)
	if _, err := l.Update(t.Context(), identity.Hub(), "garden", []byte(`{"max_iterations":9}`)); err != nil {
		t.Fatal(err)
	}
	file, err := l.File("garden")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(fullAgent, "\n---\n")
	if text := string(file); !strings.HasSuffix(text, "---\n"+body) || !strings.Contains(text, "# who it is") || !strings.Contains(text, "max_iterations: 9\n") {
		t.Errorf("got\n%s", text)
	}
	if info, err := os.Stat(filepath.Join(dir, "garden.md")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

func TestAnAgentsConfigurationMakesAnEqualAgent(t *testing.T) {
	l, _ := open(t)
	for name, file := range map[string]string{"full": fullAgent, "plain": "Hello.\nYou.", "off": "---\ncompact_threshold: off\n---\nx", "tokens": "---\ncompact_threshold: 5000\n---\nx"} {
		a, err := l.Put(t.Context(), identity.Hub(), name, []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Create(t.Context(), identity.Hub(), name+"2", a.Config())
		if err != nil {
			t.Fatal(err)
		}
		b.Name = a.Name
		if diff := cmp.Diff(normal(a), normal(b)); diff != "" {
			t.Errorf("%s: %s; want no difference", name, diff)
		}
	}
}

// normal makes nil and empty lists equal.
func normal(a *brain.Agent) brain.Agent {
	c := *a
	for _, l := range []*[]string{&c.Tools, &c.GuestTools, &c.AutoApprove, &c.Skills, &c.MCPs, &c.Members, &c.Senders, &c.RequireApproval} {
		if len(*l) == 0 {
			*l = nil
		}
	}
	return c
}

func TestAnyPromptComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := strings.Trim(strings.ReplaceAll(rapid.String().Draw(t, "prompt"), "\r", ""), "\n")
		a, err := brain.ParseAgent("a", []byte("---\nmodel: offline\n---\n\n"+want+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if a.Prompt != want || a.Model != "offline" {
			t.Fatalf("got %q, want %q", a.Prompt, want)
		}
	})
}
