package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// sleeper makes this test program a process that only waits, or one that
// starts another such and says which.
const sleeper = "COMMAND_TEST_SLEEPER"

func TestMain(m *testing.M) {
	switch os.Getenv(sleeper) {
	case "parent":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), sleeper+"=child")
		if err := child.Start(); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(strconv.Itoa(child.Process.Pid) + "\n")
		waitForEver()
	case "child":
		waitForEver()
	}
	os.Exit(m.Run())
}

// waitForEver reads what nobody writes: only being killed ends it.
func waitForEver() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_, _ = r.Read(make([]byte, 1))
	runtime.KeepAlive(w)
}

func TestOutputAndExitCodeOfACommand(t *testing.T) {
	res, err := Run(t.Context(), Spec{Path: "cmd.exe", Args: []string{"/c", "echo out& echo err>&2& exit 7"}})
	if err != nil || res.ExitCode != 7 || strings.TrimSpace(string(res.Stdout)) != "out" || strings.TrimSpace(string(res.Stderr)) != "err" {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := Run(t.Context(), Spec{Path: `C:\no\such\program.exe`}); !errors.Is(err, ErrNotStarted) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// firstLine is told when a program has said its first line.
type firstLine struct {
	text strings.Builder
	said chan string
}

func (f *firstLine) Write(p []byte) (int, error) {
	if f.said != nil {
		f.text.Write(p)
		if line, _, whole := strings.Cut(f.text.String(), "\n"); whole {
			f.said <- line
			f.said = nil
		}
	}
	return len(p), nil
}

func TestTheEndOfACallKillsWhatItStartedAndWhatThatStarted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		res, err := Run(ctx, Spec{Path: self, Env: []string{sleeper + "=parent"}, Output: &firstLine{said: said}})
		if err == nil {
			err = fmt.Errorf("ended by itself: %+v", res)
		}
		ended <- err
	}()
	var line string
	select {
	case line = <-said:
	case err := <-ended:
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !Belongs(pid) {
		t.Error("the grandchild belongs to the call")
	}
	if Belongs(os.Getpid()) {
		t.Error("this process belongs to no call")
	}
	grandchild, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(grandchild) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if event, err := windows.WaitForSingleObject(grandchild, 30_000); event != windows.WAIT_OBJECT_0 {
		t.Errorf("the grandchild lives on: %d %v", event, err)
	}
}
