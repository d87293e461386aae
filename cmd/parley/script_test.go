package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/internal/hub"
	"parley/test/pgtest"
)

// TestMain lets scripts run this very program as "parley", in processes of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"parley": func() { os.Exit(run(os.Args[1:])) },
	})
}

// TestScripts drives the real program from outside; each file under
// testdata/script tells one story.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			port, err := freePort()
			if err != nil {
				return err
			}
			env.Values[testKey{}] = t
			env.Setenv("ADDR", port)
			env.Setenv("DATA", env.WorkDir+"/data")
			env.Setenv("PARLEY_DATA", env.WorkDir+"/data")
			env.Setenv("PARLEY_LISTEN", port)
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"waitready": waitReady,
			"occupy":    occupy,
			"postgres":  postgres,
			"mode":      mode,
		},
	})
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// waitReady waits until the hub of the data folder answers.
func waitReady(ts *testscript.TestScript, _ bool, args []string) {
	folder := hub.Folder(ts.Getenv("DATA"))
	if len(args) > 0 {
		folder = hub.Folder(ts.MkAbs(args[0]))
	}
	client := &http.Client{Timeout: 5 * time.Second}
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if running, err := folder.Running(); err == nil {
			if res, err := client.Get(running.URL + "/readyz"); err == nil {
				_ = res.Body.Close()
				if res.StatusCode == http.StatusOK {
					return
				}
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("the hub did not get ready")
}

// occupy listens on the script's address until the script ends.
func occupy(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", ts.Getenv("ADDR"))
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
}

// postgres puts the address of a fresh database into DB.
func postgres(ts *testscript.TestScript, _ bool, _ []string) {
	t, ok := ts.Value(testKey{}).(*testing.T)
	if !ok {
		ts.Fatalf("no test")
	}
	ts.Setenv("DB", pgtest.URL(t))
}

type testKey struct{}

// mode checks a file's rights: mode 0600 FILE.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); (got == args[0]) == neg {
		ts.Fatalf("%s has mode %s", args[1], got)
	}
}
