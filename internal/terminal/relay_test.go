//go:build unix

package terminal

import (
	"errors"
	"io"
	"strings"
	"testing"

	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/viber"
)

// pair is two hubs on one bus.
func pair(t *testing.T) (here, there *Terminals) { return pairOf(t, Deps{}, Deps{}) }

func pairOf(t *testing.T, a, c Deps) (here, there *Terminals) {
	t.Helper()
	b := bus.NewLocal()
	peer := b.Peer()
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), peer.Close()); err != nil {
			t.Error(err)
		}
	})
	a.Bus, c.Bus = b, peer
	db := storetest.SQLite(t)
	for name, d := range map[string]*Deps{"here": &a, "there": &c} {
		leases, err := lease.Join(t.Context(), db, name, lease.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(leases.Abandon)
		d.Leases = leases
	}
	return newSet(t, a), newSet(t, c)
}

// A terminal is used from the hub that does not have it as from the one that does.
func TestAnotherHubRelays(t *testing.T) {
	here, there := pair(t)
	info := open(t, here, alice, Spec{Command: "stty -echo; echo ready; while read x; do echo \"got $x\"; done; exit 5"})
	list, err := there.List(t.Context(), alice)
	if err != nil || len(list) != 1 || list[0].ID != info.ID {
		t.Fatalf("%+v, %v; want no error, len(list) to be 1, list[0].ID to be %v", list, err, info.ID)
	}
	near := watch(t, here, alice, info.ID, AttachOptions{Writer: true})
	near.until("ready")
	far := watch(t, there, alice, info.ID, AttachOptions{Writer: true})
	far.until("ready\r\n")
	typed(t, there, alice, info.ID, "from there\n")
	far.until("got from there")
	near.until("got from there")
	if got, err := far.view.Resize(t.Context(), viber.Size{Rows: 7, Cols: 70}); err != nil || got.Rows != 7 {
		t.Errorf("%v, %v; want no error, got.Rows to be 7", got, err)
	}
	near.resized(viber.Size{Rows: 7, Cols: 70})
	out, err := there.Read(t.Context(), alice, info.ID, 0, 0)
	if err != nil || !strings.Contains(out.Data, "got from there") {
		t.Errorf("%+v, %v; want no error, \"got from there\" in it", out, err)
	}
	if list, _ := there.List(t.Context(), alice); len(list) != 1 || list[0].Viewers != 2 {
		t.Errorf("%+v; want len(list) to be 1, list[0].Viewers to be 2", list)
	}
	typed(t, there, alice, info.ID, "\x04")
	if a, b := near.end(), far.end(); a != b || far.exit == nil || far.exit.ExitCode != 5 {
		t.Errorf("%q here, %q there, %+v", a, b, far.exit)
	}
}

func TestAnotherHubKeepsTheSameSecrets(t *testing.T) {
	here, there := pair(t)
	info := open(t, here, alice, Spec{Command: "cat"})
	bob := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "p-bob", Name: "bob"}}
	if _, err := there.Attach(t.Context(), bob, info.ID, AttachOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v; want ErrNotFound", err)
	}
	if err := there.Input(t.Context(), bob, info.ID, []byte("x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v; want ErrNotFound", err)
	}
	if list, _ := there.List(t.Context(), bob); len(list) != 0 {
		t.Errorf("%v; want len(list) to be 0", list)
	}
	exit, err := there.End(t.Context(), alice, info.ID)
	if err != nil || exit.Signal != "SIGHUP" {
		t.Errorf("%+v, %v; want no error, exit.Signal to be \"SIGHUP\"", exit, err)
	}
	if err := there.Input(t.Context(), alice, info.ID, []byte("x")); !errors.Is(err, ErrExited) {
		t.Errorf("%v; want ErrExited", err)
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
		t.Errorf("%v; want ErrNotFound", err)
	}
	if list, _ := there.List(t.Context(), alice); len(list) != 0 {
		t.Errorf("%v; want len(list) to be 0", list)
	}
}

// The limit is one for all hubs.
func TestOnlySoManyRunInACluster(t *testing.T) {
	here, there := pairOf(t, Deps{MaxRunning: 2}, Deps{MaxRunning: 2})
	a := open(t, here, alice, Spec{Command: "exec sleep 1000"})
	open(t, there, alice, Spec{Command: "exec sleep 1000"})
	for _, ts := range []*Terminals{here, there} {
		if _, err := ts.Create(t.Context(), alice, Spec{Command: "true"}); !errors.Is(err, ErrLimit) {
			t.Errorf("%v; want ErrLimit", err)
		}
	}
	if _, err := there.End(t.Context(), alice, a.ID); err != nil {
		t.Fatal(err)
	}
	open(t, there, alice, Spec{Command: "true"})
}

// What a terminal printed can be played from any hub, by its owner only.
func TestARecordingIsReadOnAnyHub(t *testing.T) {
	kept := func() *Recordings {
		r, err := OpenRecordings(RecordingOptions{Dir: t.TempDir(), Which: RecordAll})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	here, there := pairOf(t, Deps{Recordings: kept()}, Deps{Recordings: kept()})
	long := open(t, here, alice, Spec{Command: "seq 1 100000"})
	watch(t, here, alice, long.ID, AttachOptions{}).end()
	short := open(t, there, alice, Spec{Command: "echo short"})
	watch(t, there, alice, short.ID, AttachOptions{}).end()
	read := func(ts *Terminals, id string) string {
		_, file, err := ts.Recording(t.Context(), alice, id)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if size, err := file.Seek(0, io.SeekEnd); err != nil || size == 0 {
			t.Fatalf("%d, %v; want no error, size not to be 0", size, err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if near, far := read(here, long.ID), read(there, long.ID); near != far || len(near) < castPiece {
		t.Errorf("%d bytes where it was made, %d elsewhere", len(near), len(far))
	}
	if near, far := read(there, short.ID), read(here, short.ID); near != far || !strings.Contains(far, "short") {
		t.Errorf("%q and %q", near, far)
	}
	if list, err := here.Recordings(t.Context(), alice); err != nil || len(list) != 2 || list[0].ID != short.ID {
		t.Errorf("%+v, %v; want no error, len(list) to be 2, list[0].ID to be %v", list, err, short.ID)
	}
	bob := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "p-bob", Name: "bob"}}
	if list, err := there.Recordings(t.Context(), bob); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v; want no error, len(list) to be 0", list, err)
	}
	if _, _, err := there.Recording(t.Context(), bob, long.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
}
