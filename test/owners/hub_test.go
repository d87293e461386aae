//go:build linux

package owners_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// hub is a running hub with a model that somebody else runs.
type hub struct {
	*hubtest.Hub
	t     *testing.T
	model *fakeModel
}

func start(t *testing.T) *hub {
	t.Helper()
	model := startModel(t)
	return &hub{t: t, model: model, Hub: hubtest.Start(t, hubtest.Config{
		Env: []string{"OPENAI_API_KEY=" + modelKey, "OPENAI_BASE_URL=" + model.URL + "/v1", "PARLEY_MODEL=openai:fake"},
	})}
}

// parley runs a command against the hub.
func (h *hub) parley(token string, args ...string) (out string, code int) {
	h.t.Helper()
	cmd := hubtest.Command(h.t, append(args, "--hub", h.URL, "--token", token)...)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return both.String(), cmd.ProcessState.ExitCode()
}

// write puts a file into the data folder.
func (h *hub) write(name, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.Path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.Path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// filesWith names the files of the data folder that hold a text.
func (h *hub) filesWith(text string) (names []string) {
	h.t.Helper()
	err := filepath.WalkDir(h.Path("."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			rel, _ := filepath.Rel(h.Path("."), path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return names
}
