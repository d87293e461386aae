package update

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// service is a machine's service whose program is a file; what the file says
// is what the program does.
type service struct {
	t       *testing.T
	plan    Plan
	running string
	events  []string
	fail    map[string]error // by event
}

func (s *service) Stop(context.Context) error {
	s.events = append(s.events, "stop "+s.running)
	s.running = ""
	return s.fail["stop"]
}

func (s *service) Start(context.Context) error {
	data, err := os.ReadFile(s.plan.Program)
	if err != nil {
		return err
	}
	s.running = string(data)
	s.events = append(s.events, "start "+s.running)
	if err := s.fail["start "+s.running]; err != nil {
		return err
	}
	if version, ok := strings.CutPrefix(s.running, "connects as "); ok {
		note, _ := json.Marshal(Session{Connected: true, Version: version, At: time.Now()})
		if err := os.WriteFile(filepath.Join(s.plan.Folder, SessionFile), note, 0o600); err != nil {
			s.t.Error(err)
		}
	}
	return nil
}

func scene(t *testing.T, program string) (*service, Plan) {
	t.Helper()
	dir := t.TempDir()
	p := Plan{Folder: dir, Program: filepath.Join(dir, "parley"), New: filepath.Join(dir, "new"), Version: "2", Previous: "1"}
	for path, content := range map[string]string{
		p.Program: "connects as 1", p.New: program, filepath.Join(dir, "key"): "the key", filepath.Join(dir, "switch.json"): `{"mode":"off"}`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &service{t: t, plan: p, running: "connects as 1", fail: map[string]error{}}, p
}

func content(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "(none)"
	}
	return string(data)
}

func TestANewVersionThatConnectsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := scene(t, "connects as 2")
		o := Swap(t.Context(), p, s, quiet())
		if o.State != Connected || content(p.Program) != "connects as 2" || content(previous(p)) != "connects as 1" || s.running != "connects as 2" {
			t.Errorf("%+v, runs %q, events %v", o, s.running, s.events)
		}
		if content(filepath.Join(p.Folder, "key")) != "the key" || content(filepath.Join(p.Folder, "switch.json")) != `{"mode":"off"}` {
			t.Error("key or switch were touched")
		}
	})
}

func TestAVersionThatDoesNotConnectIsRolledBack(t *testing.T) {
	for name, broken := range map[string]string{"hangs": "runs but never connects", "connects as something else": "connects as 1.5"} {
		synctest.Test(t, func(t *testing.T) {
			s, p := scene(t, broken)
			start := time.Now()
			o := Swap(t.Context(), p, s, quiet())
			if o.State != RolledBack || content(p.Program) != "connects as 1" || s.running != "connects as 1" {
				t.Errorf("%s: %+v, runs %q", name, o, s.running)
			}
			if waited := time.Since(start); waited < connectWait || waited > connectWait+time.Minute {
				t.Errorf("%s: waited %s", name, waited)
			}
			if content(p.New) != "(none)" {
				t.Errorf("%s: the new program is still there", name)
			}
		})
	}
}

func TestWhateverFailsTheOldProgramRuns(t *testing.T) {
	for name, spoil := range map[string]func(*service, Plan){
		"the new one does not start": func(s *service, _ Plan) { s.fail["start connects as 2"] = errors.New("no") },
		"the service does not stop":  func(s *service, _ Plan) { s.fail["stop"] = errors.New("no") },
		"the new one is gone":        func(_ *service, p Plan) { _ = os.Remove(p.New) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s, p := scene(t, "connects as 2")
			spoil(s, p)
			o := Swap(t.Context(), p, s, quiet())
			if o.State != RolledBack || content(p.Program) != "connects as 1" || s.running != "connects as 1" {
				t.Errorf("%s: %+v, runs %q, events %v", name, o, s.running, s.events)
			}
		})
	}
}

func TestTheOutcomeIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := scene(t, "never connects")
		Swap(t.Context(), p, s, quiet())
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		Report(p.Folder, logger)
		Report(p.Folder, logger)
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "rolled_back") || !strings.Contains(text, "no completed handshake") {
			t.Errorf("text is %v; want strings.Count(text, \"\\n\") to be 1, \"rolled_back\" in it, \"no completed handshake\" in it", text)
		}
	})
}

func TestThePlanIsHandedToACopyOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.json")
	p := Plan{Folder: dir, Program: "/usr/local/bin/parley", New: "n", Version: "2", Previous: "1"}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadPlan(path); err != nil || got != p {
		t.Errorf("%+v %v; want no error, %v", got, err, p)
	}
}
