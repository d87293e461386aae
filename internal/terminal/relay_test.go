//go:build unix

package terminal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley/internal/bus"
	"parley/protocol/viber"
)

// pair is two hubs on one bus.
func pair(t *testing.T) (here, there *Terminals) {
	t.Helper()
	b := bus.NewLocal()
	peer := b.Peer()
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), peer.Close()); err != nil {
			t.Error(err)
		}
	})
	here, there = newSet(t, Deps{Bus: b, Hub: "here"}), newSet(t, Deps{Bus: peer, Hub: "there"})
	for deadline := time.Now().Add(patience); ; <-time.After(time.Millisecond) {
		here.relay.mu.Lock()
		there.relay.mu.Lock()
		met := here.relay.hubs["there"] && there.relay.hubs["here"]
		there.relay.mu.Unlock()
		here.relay.mu.Unlock()
		if met {
			return here, there
		}
		if time.Now().After(deadline) {
			t.Fatal("the hubs did not meet")
		}
	}
}

// A terminal is used from the hub that does not have it as from the one that does.
func TestAnotherHubRelays(t *testing.T) {
	here, there := pair(t)
	info := open(t, here, alice, Spec{Command: "stty -echo; echo ready; while read x; do echo \"got $x\"; done; exit 5"})
	list, err := there.List(t.Context(), alice)
	if err != nil || len(list) != 1 || list[0].ID != info.ID {
		t.Fatalf("%+v, %v", list, err)
	}
	near := watch(t, here, alice, info.ID, AttachOptions{Writer: true})
	near.until("ready")
	far := watch(t, there, alice, info.ID, AttachOptions{Writer: true})
	far.until("ready\r\n")
	typed(t, there, alice, info.ID, "from there\n")
	far.until("got from there")
	near.until("got from there")
	if got, err := far.view.Resize(t.Context(), viber.Size{Rows: 7, Cols: 70}); err != nil || got.Rows != 7 {
		t.Errorf("%v, %v", got, err)
	}
	near.resized(viber.Size{Rows: 7, Cols: 70})
	out, err := there.Read(t.Context(), alice, info.ID, 0, 0)
	if err != nil || !strings.Contains(out.Data, "got from there") {
		t.Errorf("%+v, %v", out, err)
	}
	if list, _ := there.List(t.Context(), alice); len(list) != 1 || list[0].Viewers != 2 {
		t.Errorf("%+v", list)
	}
	typed(t, there, alice, info.ID, "\x04")
	if a, b := near.end(), far.end(); a != b || far.exit == nil || far.exit.ExitCode != 5 {
		t.Errorf("%q here, %q there, %+v", a, b, far.exit)
	}
}

func TestAnotherHubKeepsTheSameSecrets(t *testing.T) {
	here, there := pair(t)
	info := open(t, here, alice, Spec{Command: "cat"})
	bob := Who{Principal: "p-bob"}
	if _, err := there.Attach(t.Context(), bob, info.ID, AttachOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := there.Input(t.Context(), bob, info.ID, []byte("x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if list, _ := there.List(t.Context(), bob); len(list) != 0 {
		t.Errorf("%v", list)
	}
	exit, err := there.End(t.Context(), alice, info.ID)
	if err != nil || exit.Signal != "SIGHUP" {
		t.Errorf("%+v, %v", exit, err)
	}
	if err := there.Input(t.Context(), alice, info.ID, []byte("x")); !errors.Is(err, ErrExited) {
		t.Errorf("%v", err)
	}
}

// Its hub gone, a terminal is gone; views elsewhere are told at once.
func TestATerminalDiesWithItsHub(t *testing.T) {
	here, there := pair(t)
	info := open(t, here, alice, Spec{Command: "exec sleep 1000"})
	far := watch(t, there, alice, info.ID, AttachOptions{})
	far.next()
	if err := here.Close(); err != nil {
		t.Fatal(err)
	}
	if err := there.Input(t.Context(), alice, info.ID, []byte("x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if list, _ := there.List(t.Context(), alice); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

// The views of a hub that died are closed after a while.
func TestForgottenViewsAreTakenBack(t *testing.T) {
	here, there := pair(t)
	info := open(t, here, alice, Spec{Command: "cat"})
	watch(t, there, alice, info.ID, AttachOptions{}).next()
	here.relay.takeBack(time.Now().Add(time.Second))
	if list, _ := here.List(t.Context(), alice); list[0].Viewers != 0 {
		t.Errorf("%+v", list[0])
	}
}
