package control

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	wire "parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SWITCH_TEST_FOLDER"); dir != "" {
		os.Exit(ask(dir))
	}
	goleak.VerifyTestMain(m)
}

// ask is this test program run again as another user: it asks for "on" and
// prints the answer.
func ask(dir string) int {
	reply, err := Ask(context.Background(), dir, Request{Do: Mode(os.Getenv("SWITCH_TEST_MODE"))})
	if err != nil {
		reply.Error = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(reply)
	return 0
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

var (
	ann   = Caller{ID: "1001", Name: "ann"}
	bob   = Caller{ID: "1002", Name: "bob"}
	admin = Caller{ID: "0", Name: "root", Admin: true}
)

func TestAMissingFileIsOnADamagedOneOff(t *testing.T) {
	dir := t.TempDir()
	sw := NewSwitch(dir, quiet())
	if st := sw.State(); st.Mode != On || st.Broken {
		t.Errorf("missing: %+v", st)
	}
	for _, damage := range []string{"", "{", "null", `{"mode":"ON"}`, `{"mode":""}`, `{"mode":"on"}{"mode":"off"}`, `{"mode":"on","extra":1}`, "\x00\x00"} {
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if st := sw.State(); st.Mode != Off || !st.Broken {
			t.Errorf("%q: %+v; want st.Mode to be %v, st.Broken", damage, st, Off)
		}
		if sw.Allows(wire.Mutating) == nil || sw.Allows(wire.ReadOnly) != nil {
			t.Errorf("%q does not count as off", damage)
		}
	}
	if err := os.Remove(filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if st := sw.State(); st.Mode != Off {
		t.Errorf("unreadable: %+v", st)
	}
}

func TestTheChoiceSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []Mode{Off, Private, Asking, On} {
		if _, err := NewSwitch(dir, quiet()).Set(mode, admin); err != nil {
			t.Fatal(err)
		}
		if st := NewSwitch(dir, quiet()).State(); st.Mode != mode || st.By != "0" || st.At.IsZero() {
			t.Errorf("%s became %+v", mode, st)
		}
	}
}

func TestWhoMaySwitch(t *testing.T) {
	off, private := State{Mode: Off, By: ann.ID}, State{Mode: Private, By: ann.ID}
	broken := State{Mode: Off, Broken: true}
	script := Caller{ID: "0", Admin: true, Script: true}
	for _, c := range []struct {
		name string
		now  State
		to   Mode
		who  Caller
		want error
	}{
		{"anyone switches off", State{Mode: On}, Off, bob, nil},
		{"anyone makes it stricter", off, Private, bob, nil},
		{"off again is off", off, Off, bob, nil},
		{"who switched off switches on", off, On, ann, nil},
		{"an administrator switches on", off, On, admin, nil},
		{"another plain user does not", off, On, bob, ErrNotYours},
		{"nor loosens private", private, Off, bob, ErrNotYours},
		{"who made it private loosens", private, Off, ann, nil},
		{"anyone has changes asked", State{Mode: On}, Asking, bob, nil},
		{"who is asked ends it", State{Mode: Asking, By: ann.ID}, On, ann, nil},
		{"another plain user does not end it", State{Mode: Asking, By: ann.ID}, On, bob, ErrNotYours},
		{"nor makes off an asking", off, Asking, bob, ErrNotYours},
		{"off is stricter than asking", State{Mode: Asking, By: ann.ID}, Off, bob, nil},
		{"a damaged file is the administrator's", broken, On, ann, ErrNotYours},
		{"who mends it", broken, On, admin, nil},
		{"a script of the endpoint never", off, On, script, ErrScript},
		{"not even off", State{Mode: On}, Off, script, ErrScript},
	} {
		if err := may(c.now, c.to, c.who); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// No sequence of requests by plain users undoes what another one switched off.
func TestNobodyLoosensWhatAnotherTightened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := State{Mode: Off, By: ann.ID}
		for _, mode := range rapid.SliceOf(rapid.SampledFrom([]Mode{On, Asking, Off, Private})).Draw(t, "requests") {
			if may(state, mode, bob) == nil {
				if mode.Tightness() < state.Mode.Tightness() {
					t.Fatal("bob loosened it")
				}
				if mode != state.Mode {
					return // stricter: it is bob's from here on
				}
			}
		}
	})
}

func TestTheSocketKnowsWhoAsks(t *testing.T) {
	dir := t.TempDir()
	sw := NewSwitch(dir, quiet())
	srv, err := Listen(sw)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			if reply, err := Ask(t.Context(), dir, Request{}); err != nil || reply.State.Mode != On {
				t.Errorf("%+v %v; want no error, reply.State.Mode to be %v", reply, err, On)
			}
		})
	}
	work.Wait()
	reply, err := Ask(t.Context(), dir, Request{Do: Off})
	me, meErr := Me()
	if err != nil || meErr != nil || reply.Error != "" || reply.State.Mode != Off || reply.State.By != me.ID {
		t.Errorf("%+v %v %v; want no error, reply.Error to be \"\", reply.State.Mode to be %v, reply.State.By to be %v", reply, err, meErr, Off, me.ID)
	}
	if reply, err := Ask(t.Context(), dir, Request{Do: "sideways"}); err != nil || reply.Error == "" {
		t.Errorf("%+v %v; want no error, reply.Error not to be \"\"", reply, err)
	}
}

func TestWithoutAnEndpointNobodyAnswers(t *testing.T) {
	if _, err := Ask(t.Context(), t.TempDir(), Request{}); !errors.Is(err, ErrNotRunning) {
		t.Error(err)
	}
}

func TestALongFolderStillHasASocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	srv, err := Listen(NewSwitch(dir, quiet()))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	if _, err := Ask(t.Context(), dir, Request{}); err != nil {
		t.Error(err)
	}
}
