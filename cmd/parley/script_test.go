package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	"parley.internal/internal/endpoint"
	"parley.internal/internal/hub"
	"parley.internal/internal/store"
	wire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
	"parley.internal/test/acpagent"
	"parley.internal/test/pgtest"
)

// longest is how long a script waits for what must happen: only something broken gets there,
// however busy the machine is.
const longest = 3 * time.Minute

// TestMain lets scripts run this very program as "parley", in processes of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"parley":   func() { os.Exit(run(os.Args[1:])) },
		"acpagent": func() { acpagent.Main(os.Args[1:]) },
	})
}

// TestScripts drives the real program from outside; each file under
// testdata/script tells one story.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		WorkdirRoot:         pgtest.Folder(t),
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
			"waitready":   waitReady,
			"occupy":      occupy,
			"postgres":    postgres,
			"mode":        mode,
			"setfrom":     setFrom,
			"exitcode":    exitCode,
			"interrupt":   interrupt,
			"usetoken":    useToken,
			"waitmachine": waitMachine,
			"cuttrail":    cutTrail,
			"sqlite":      sqlite,
			"waitasked":   waitAsked,
			"until":       runUntil,
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
	client := &http.Client{Timeout: patience}
	deadline := time.Now().Add(longest)
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

// cutTrail takes away what the trail has after an entry, with the checkpoints over it, as
// whoever owns the database can: cuttrail SEQ.
func cutTrail(ts *testscript.TestScript, _ bool, args []string) {
	database := ts.Getenv("PARLEY_DB")
	if database == "" {
		database = hub.Folder(ts.Getenv("DATA")).Path("parley.db")
	}
	seq, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	db, err := store.Open(ctx, database, store.Options{KeepVersion: true})
	ts.Check(err)
	defer func() { _ = db.Close() }()
	ts.Check(db.Write(ctx, func(tx *store.Tx) error {
		for _, statement := range []string{
			`DELETE FROM audit_entries WHERE seq > ?`, `DELETE FROM audit_checkpoints WHERE seq > ?`,
			`UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_entries WHERE seq = ?)`,
		} {
			if _, err := tx.Exec(statement, seq); err != nil {
				return err
			}
		}
		return nil
	}))
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

// exitCode runs a program that must end with a code: exitcode CODE PROGRAM ARGS...
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// interrupt says the words of a file to an agent, waits for the first word back,
// and presses Ctrl-C: interrupt AGENT THREAD FILE.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	program, err := exec.LookPath("parley")
	ts.Check(err)
	cmd := exec.CommandContext(ctx, program, "chat", args[0], "--thread", args[1], "--data", ts.Getenv("DATA"), "-m", ts.ReadFile(args[2]))
	c, err := agentfirst.Dial(ctx, "unix://"+hub.Folder(ts.Getenv("DATA")).Path("parley.sock"), agentfirst.Options{})
	ts.Check(err)
	defer func() { _ = c.Close() }()
	ts.Check(cmd.Start())
	for ev, err := range c.Attach(ctx, &wire.Attach{Agent: args[0], Thread: args[1]}) {
		ts.Check(err)
		if ev.GetStream().GetChunk() != nil {
			break
		}
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitCancelled {
		ts.Fatalf("ended by %v", err)
	}
	eventually := time.Now().Add(longest)
	for active := true; active && time.Now().Before(eventually); {
		list, err := c.ListConversations(ctx, args[0], "")
		ts.Check(err)
		for _, v := range list {
			active = active && !(v.GetThread() == args[1] && v.GetMessageCount() == 2)
		}
	}
}

// waitAsked waits until something waits for a person, and puts its id into ASKED.
func waitAsked(ts *testscript.TestScript, _ bool, _ []string) {
	folder := hub.Folder(ts.Getenv("DATA"))
	token, err := folder.OwnerToken()
	ts.Check(err)
	running, err := folder.Running()
	ts.Check(err)
	c := hubapi.New(running.URL, token)
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		out, err := hubapi.Call(context.Background(), c, rest.ListApprovals, rest.ApprovalQuery{})
		ts.Check(err)
		for _, a := range out.Approvals {
			if a.Kind == "tool" {
				ts.Setenv("ASKED", a.ID)
				return
			}
		}
	}
	ts.Fatalf("nobody was asked")
}

// useToken puts the token of a file that "token create --json" wrote into
// PARLEY_TOKEN.
func useToken(ts *testscript.TestScript, _ bool, args []string) {
	var t struct {
		Token string `json:"token"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &t))
	ts.Setenv("PARLEY_TOKEN", t.Token)
}

// sqlite runs a statement on a database nobody uses: sqlite FILE STATEMENT.
func sqlite(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(context.Background(), args[1])
	ts.Check(err)
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

// setFrom puts what a pattern's group matches in the last standard output into
// a variable: setfrom NAME 'PATTERN'.
func setFrom(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// waitMachine waits until the endpoint of a state folder is connected:
// waitmachine FOLDER.
func waitMachine(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); {
		if st, err := endpoint.Look(context.Background(), ts.MkAbs(args[0])); err == nil && st.Connected {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	ts.Fatalf("the endpoint did not connect")
}

// runUntil runs a program again and again until what it prints matches: until PATTERN PROGRAM ARGS...
func runUntil(ts *testscript.TestScript, _ bool, args []string) {
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%v never printed %s", args[1:], args[0])
}
