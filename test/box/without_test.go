//go:build linux

package box_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley.internal/test/hubtest"
)

// roleVariable makes this test program something else: see asAnother.
const roleVariable = "PARLEY_TEST_BOX_ROLE"

// The roles.
const (
	// withoutLandlock becomes the program in its arguments, on a kernel that says it has no Landlock.
	withoutLandlock = "without-landlock"
	// tracer tries to trace the process in its arguments.
	tracer = "tracer"
)

// asAnother plays the role that the environment names, and returns where there is none.
func asAnother() {
	var err error
	switch role := os.Getenv(roleVariable); role {
	case "":
		return
	case withoutLandlock:
		if err = refuseLandlock(); err == nil {
			err = syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
		}
	case tracer:
		var of int
		if of, err = pidOf(os.Args[1]); err == nil {
			err = syscall.PtraceAttach(of)
		}
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// refuseLandlock answers the system call that makes its rules as a kernel does that has none.
func refuseLandlock() error {
	const load, equal, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the call
		{Code: equal, Jf: 1, K: unix.SYS_LANDLOCK_CREATE_RULESET},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// unconfined starts a program where no box can be made.
func unconfined(cmd *exec.Cmd) {
	own, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd.Args = append([]string{own, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Env = own, append(cmd.Env, roleVariable+"="+withoutLandlock)
}

// Without a box a command has the rights of the hub: whoever was given tasks that do not ask, and
// nothing else, would read owner.token. So there every command waits for a person, in every
// mode, and the hub says so at its start, in doctor and on the page.
func TestWhereNoBoxCanBeMadeEveryCommandAsksAndTheHubSaysSo(t *testing.T) {
	h := &hub{t: t, Hub: hubtest.Start(t, hubtest.Config{Wrap: unconfined, Env: []string{"PARLEY_MODEL=offline"}})}
	const why = "this kernel has no Landlock"
	if said := h.Output.String(); !strings.Contains(said, why) || !strings.Contains(said, "every command of an agent asks") {
		t.Errorf("at its start the hub said nothing of it:\n%s", said)
	}
	if a := h.Do("GET", "/api/status", ""); !strings.Contains(string(a.Body), `"code":"box"`) || !strings.Contains(string(a.Body), "every command of an agent asks") {
		t.Errorf("what the page shows has no warning: %s", a.Body)
	}
	doctor := hubtest.Command(t, "doctor", "--data", h.Path(""))
	unconfined(doctor)
	if out, _ := doctor.CombinedOutput(); !strings.Contains(string(out), why) || !strings.Contains(string(out), "every command of an agent asks") {
		t.Errorf("doctor says nothing of it:\n%s", out)
	}
	h.thief = h.token("task:submit,task:read,task:unattended")
	for _, mode := range []string{"agent_decides", "always_execute"} {
		task := h.submit(shell("cat ../owner.token"), "--mode", mode)
		h.answer(task, "shell", "owner.token", `{"approved":false}`)
		if out, _ := h.parley(h.thief, "task", "watch", task); strings.Contains(out, h.Owner) || strings.Contains(out, "[masked]") {
			t.Errorf("in mode %s the owner's token was read: %s", mode, out)
		}
	}
}
