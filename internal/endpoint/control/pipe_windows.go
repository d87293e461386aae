package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"parley.internal/internal/endpoint/command"
)

// pipeAccess lets every local user talk to the switch, nobody from the network.
const pipeAccess = "D:P(D;;GA;;;NU)(A;;GA;;;SY)(A;;GA;;;BA)(A;;GRGW;;;AU)(A;;GA;;;OW)"

// pipeName is derived from the folder, so that several endpoints get along.
func pipeName(folder string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(filepath.Clean(folder))))
	return `\\.\pipe\parley-endpoint-` + hex.EncodeToString(sum[:8])
}

// pipeListener is a named pipe as a net.Listener: one instance waits at a time.
type pipeListener struct {
	name string
	mu   sync.Mutex
	next windows.Handle
	over bool
}

func listen(folder string) (net.Listener, error) {
	l := &pipeListener{name: pipeName(folder)}
	h, err := l.instance(windows.FILE_FLAG_FIRST_PIPE_INSTANCE)
	if err != nil {
		return nil, err
	}
	l.next = h
	return l, nil
}

func (l *pipeListener) instance(flags uint32) (windows.Handle, error) {
	sd, err := windows.SecurityDescriptorFromString(pipeAccess)
	if err != nil {
		return 0, err
	}
	sa := &windows.SecurityAttributes{SecurityDescriptor: sd}
	sa.Length = uint32(unsafe.Sizeof(*sa))
	name, err := windows.UTF16PtrFromString(l.name)
	if err != nil {
		return 0, err
	}
	const mode = windows.PIPE_TYPE_BYTE | windows.PIPE_READMODE_BYTE | windows.PIPE_WAIT | windows.PIPE_REJECT_REMOTE_CLIENTS
	return windows.CreateNamedPipe(name, windows.PIPE_ACCESS_DUPLEX|flags, mode,
		windows.PIPE_UNLIMITED_INSTANCES, maxLine, maxLine, 0, sa)
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	h, over := l.next, l.over
	l.mu.Unlock()
	if over {
		return nil, net.ErrClosed
	}
	if err := windows.ConnectNamedPipe(h, nil); err != nil && !errors.Is(err, windows.ERROR_PIPE_CONNECTED) {
		if l.closed() {
			return nil, net.ErrClosed
		}
		_ = windows.DisconnectNamedPipe(h)
		return nil, err
	}
	if l.closed() {
		_ = windows.CloseHandle(h)
		return nil, net.ErrClosed
	}
	next, err := l.instance(0)
	l.mu.Lock()
	l.next = next
	l.mu.Unlock()
	if err != nil {
		_ = windows.CloseHandle(h)
		return nil, err
	}
	return newPipeConn(h, l.name), nil
}

func (l *pipeListener) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Close implements net.Listener. The accept that waits is woken by a visit of
// our own.
func (l *pipeListener) Close() error {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	if f, err := os.OpenFile(l.name, os.O_RDWR, 0); err == nil {
		_ = f.Close()
	}
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr(l.name) }

type pipeAddr string

// Network implements net.Addr.
func (pipeAddr) Network() string { return "pipe" }

// String implements net.Addr.
func (a pipeAddr) String() string { return string(a) }

// pipeConn is one end of a pipe. A synchronous pipe has no deadlines: a timer
// closes it instead, which ends whatever waits.
type pipeConn struct {
	*os.File
	handle windows.Handle
	server bool
	mu     sync.Mutex
	timer  *time.Timer
}

func newPipeConn(h windows.Handle, name string) *pipeConn {
	return &pipeConn{File: os.NewFile(uintptr(h), name), handle: h, server: true}
}

// LocalAddr implements net.Conn.
func (p *pipeConn) LocalAddr() net.Addr { return pipeAddr(p.Name()) }

// RemoteAddr implements net.Conn.
func (p *pipeConn) RemoteAddr() net.Addr { return pipeAddr(p.Name()) }

// SetDeadline implements net.Conn.
func (p *pipeConn) SetDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(time.Until(t), func() { _ = windows.CancelIoEx(p.handle, nil) })
	return nil
}

// Close implements net.Conn; the last words are flushed first.
func (p *pipeConn) Close() error {
	p.mu.Lock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	if p.server {
		_ = windows.FlushFileBuffers(p.handle)
		_ = windows.DisconnectNamedPipe(p.handle)
	}
	return p.File.Close()
}

func dial(_ context.Context, folder string) (net.Conn, error) {
	name := pipeName(folder)
	for deadline := time.Now().Add(talkWait); ; {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err == nil {
			return &pipeConn{File: f, handle: windows.Handle(f.Fd())}, nil
		}
		if !errors.Is(err, windows.ERROR_PIPE_BUSY) || time.Now().After(deadline) {
			return nil, err
		}
		time.Sleep(20 * time.Millisecond) // another caller is being served
	}
}

var (
	advapi32                   = windows.NewLazySystemDLL("advapi32.dll")
	impersonateNamedPipeClient = advapi32.NewProc("ImpersonateNamedPipeClient")
)

// identify becomes the client for a moment and reads the token it then has.
func identify(conn net.Conn) (Caller, error) {
	p, ok := conn.(*pipeConn)
	if !ok {
		return Caller{}, errors.New("not a local pipe")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if ok, _, err := impersonateNamedPipeClient.Call(uintptr(p.handle)); ok == 0 {
		return Caller{}, fmt.Errorf("impersonate: %w", err)
	}
	var token windows.Token
	err := windows.OpenThreadToken(windows.CurrentThread(), windows.TOKEN_QUERY, true, &token)
	if reverted := windows.RevertToSelf(); reverted != nil {
		return Caller{}, fmt.Errorf("revert: %w", reverted)
	}
	if err != nil {
		return Caller{}, fmt.Errorf("token: %w", err)
	}
	defer token.Close()
	who, err := callerOf(token)
	var pid uint32
	if err == nil {
		err = windows.GetNamedPipeClientProcessId(p.handle, &pid)
	}
	who.Script = err == nil && command.Belongs(int(pid))
	return who, err
}

func callerOf(token windows.Token) (Caller, error) {
	u, err := token.GetTokenUser()
	if err != nil {
		return Caller{}, err
	}
	c := Caller{ID: u.User.Sid.String()}
	c.Name = c.ID
	if account, domain, _, err := u.User.Sid.LookupAccount(""); err == nil {
		c.Name = domain + `\` + account
	}
	admins, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return Caller{}, err
	}
	member, err := token.IsMember(admins)
	if err != nil {
		return Caller{}, err
	}
	own, err := windows.GetCurrentProcessToken().GetTokenUser()
	c.Admin = member || err == nil && own.User.Sid.Equals(u.User.Sid)
	return c, nil
}

// Me is the caller behind this process, for when no endpoint runs.
func Me() (Caller, error) {
	own, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return Caller{}, err
	}
	c := Caller{ID: own.User.Sid.String(), Admin: windows.GetCurrentProcessToken().IsElevated()}
	c.Name = c.ID
	return c, nil
}
