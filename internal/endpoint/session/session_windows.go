package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ErrNobody means that nobody is logged in.
var ErrNobody = errors.New("nobody is logged in")

// maxOutput bounds what a helper may hand back.
const maxOutput = 16 << 20

// noSession is what Windows says when the console has none.
const noSession = 0xFFFFFFFF

// Interactive reports whether this process itself is on a desktop: services
// live in session 0.
func Interactive() bool {
	var id uint32
	err := windows.ProcessIdToSessionId(windows.GetCurrentProcessId(), &id)
	return err == nil && id != 0
}

// Present reports whether somebody is logged in at the console.
func Present() bool {
	if Interactive() {
		return true
	}
	token, err := userToken()
	if err != nil {
		return false
	}
	return token.Close() == nil
}

// userToken is the token of whoever is at the console.
func userToken() (windows.Token, error) {
	id := windows.WTSGetActiveConsoleSessionId()
	if id == noSession {
		return 0, ErrNobody
	}
	var token windows.Token
	if err := windows.WTSQueryUserToken(id, &token); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	return token, nil
}

// Start starts a program on the person's desktop and does not wait for it.
func Start(args []string) error {
	p, err := start(args, 0)
	if err != nil {
		return err
	}
	return windows.CloseHandle(p)
}

// Run runs a program on the person's desktop, copies what it prints, and gives
// its exit status. It is ended when ctx is.
func Run(ctx context.Context, args []string, out io.Writer) (status int, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if err := windows.SetHandleInformation(windows.Handle(w.Fd()), windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
		_ = w.Close()
		return 0, err
	}
	p, err := start(args, windows.Handle(w.Fd()))
	_ = w.Close() // the child has its own
	if err != nil {
		return 0, err
	}
	defer func() { _ = windows.CloseHandle(p) }()
	stop := context.AfterFunc(ctx, func() { _ = windows.TerminateProcess(p, 1) })
	defer stop()
	if _, err := io.Copy(out, io.LimitReader(r, maxOutput)); err != nil {
		return 0, err
	}
	if _, err := windows.WaitForSingleObject(p, windows.INFINITE); err != nil {
		return 0, err
	}
	var code uint32
	if err := windows.GetExitCodeProcess(p, &code); err != nil {
		return 0, err
	}
	return int(code), ctx.Err()
}

// start creates the process as the user, on the visible desktop.
func start(args []string, stdout windows.Handle) (windows.Handle, error) {
	token := windows.Token(0)
	if !Interactive() {
		t, err := userToken()
		if err != nil {
			return 0, err
		}
		defer t.Close()
		token = t
	}
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(args))
	if err != nil {
		return 0, err
	}
	desktop, err := windows.UTF16PtrFromString(`winsta0\default`)
	if err != nil {
		return 0, err
	}
	si := &windows.StartupInfo{Desktop: desktop}
	si.Cb = uint32(unsafe.Sizeof(*si))
	if stdout != 0 {
		si.Flags, si.StdOutput = windows.STARTF_USESTDHANDLES, stdout
	}
	env, err := environment(token)
	if err != nil {
		return 0, err
	}
	defer func() { _ = windows.DestroyEnvironmentBlock(env) }()
	var pi windows.ProcessInformation
	const flags = windows.CREATE_UNICODE_ENVIRONMENT | windows.CREATE_NO_WINDOW
	if err := windows.CreateProcessAsUser(token, nil, line, nil, nil, stdout != 0, flags, env, nil, si, &pi); err != nil {
		return 0, fmt.Errorf("start in the user's session: %w", err)
	}
	_ = windows.CloseHandle(pi.Thread)
	return pi.Process, nil
}

// environment is the user's own, without anything of ours.
func environment(token windows.Token) (*uint16, error) {
	var block *uint16
	err := windows.CreateEnvironmentBlock(&block, token, false)
	return block, err
}
