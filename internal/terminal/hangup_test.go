//go:build unix

package terminal

import (
	"os/signal"
	"syscall"
	"testing"
)

// A hub that ignores hang-ups, as one started with nohup does, does not hand that
// on to the programs of its terminals, and still lives through one.
func TestAHubThatIgnoresHangUpsHangsUpOnItsPrograms(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	ts := newSet(t, Deps{})
	info := open(t, ts, alice, Spec{Command: "exec sleep 1000"})
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	exit, err := ts.End(t.Context(), alice, info.ID)
	if err != nil || exit.Signal != "SIGHUP" {
		t.Errorf("%+v, %v; want no error, exit.Signal to be \"SIGHUP\"", exit, err)
	}
}
