package main

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/internal/endpoint"
	wire "parley/protocol/kenny"
)

// waitMachine waits until the endpoint of a state folder is connected:
// waitmachine FOLDER.
func waitMachine(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if st, err := endpoint.Look(context.Background(), ts.MkAbs(args[0])); err == nil && st.Connected {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("the endpoint did not connect")
}

func TestTheMachinesNameMakesAnID(t *testing.T) {
	id := machineID()
	if err := wire.CheckID(id); err != nil || !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(id) {
		t.Errorf("%q: %v", id, err)
	}
}
