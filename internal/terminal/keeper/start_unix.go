//go:build unix

package keeper

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parley.internal/internal/localsocket"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/terminal/pty"
	"parley.internal/protocol/viber"
)

// Possible says why there can be no keepers with folders in dir; nil if there can.
func Possible(dir string) error {
	const name = 36 // of a folder
	if runtime.GOOS != "linux" && len(dir)+name+len(socketName)+2 >= localsocket.MaxPath {
		return errors.New("the path of the data folder is too long for sockets in it")
	}
	return nil
}

// Start runs a new keeper in a folder that is there and the hub's alone. program is how
// our own program is told to be one.
func Start(program []string, folder string, o Orders) (*Kept, error) {
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir, cmd.Env = folder, sandbox.WithoutSecrets(os.Environ())
	cmd.Args[0] = os.Args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends the hub does not end it
	if err := launch(cmd, folder, o); err != nil {
		return nil, err
	}
	k, err := Attach(folder, o.Secret)
	if err != nil {
		_ = cmd.Process.Kill() // its terminal is hung up on
		_ = cmd.Wait()
		return nil, err
	}
	k.cmd = cmd
	return k, nil
}

// launch starts the keeper and waits until its program runs.
func launch(cmd *exec.Cmd, folder string, o Orders) error {
	log, err := os.OpenFile(filepath.Join(folder, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd.Stderr = log
	if err := os.WriteFile(filepath.Join(folder, versionName), []byte(strconv.Itoa(Version)), 0o600); err != nil {
		return err
	}
	orders, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	answer, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = errors.Join(json.NewEncoder(orders).Encode(o), orders.Close())
	if err == nil {
		err = heard(answer)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return err
}

// heard reads a keeper's answer.
func heard(from io.Reader) error {
	line, err := bufio.NewReader(io.LimitReader(from, maxHead)).ReadString('\n')
	switch line = strings.TrimSpace(line); {
	case line == ready:
		return nil
	case line != "":
		return fmt.Errorf("%w: %s", pty.ErrSpawn, strings.TrimPrefix(line, pty.ErrSpawn.Error()+": "))
	}
	return fmt.Errorf("%w: its keeper ended at once: %w", pty.ErrSpawn, err)
}

// Attach connects to a keeper and learns where its terminal stands.
func Attach(folder, secret string) (*Kept, error) {
	conn, err := call(folder, message{Kind: hello, Version: Version, Secret: secret})
	if err != nil {
		return nil, err
	}
	m, err := read(conn, maxBody)
	if err == nil && m.Kind != welcome {
		err = fmt.Errorf("%w: %s", ErrRefused, m.Why)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return newKept(conn, folder, secret, Found{At: m.At, Size: m.Size, Notes: m.Notes, Screen: viber.ScrollbackAt(viber.MaxScrollback, m.Screen, m.body)}), nil
}

// call connects and says hello. The keeper has to be the hub's own user's.
func call(folder string, m message) (*net.UnixConn, error) {
	conn, err := localsocket.Dial(folder, socketName)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err = sameUser(conn); err == nil {
		err = conn.SetDeadline(time.Now().Add(shakeTime))
	}
	if err == nil {
		err = write(conn, m)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// Living lists the folders in dir whose keepers live.
func Living(dir string) []string {
	var living []string
	sockets, _ := filepath.Glob(filepath.Join(dir, "*", socketName))
	for _, at := range sockets {
		folder := filepath.Dir(at)
		conn, err := localsocket.Dial(folder, socketName)
		if err != nil {
			continue // the next hub removes what it left
		}
		_ = conn.Close()
		living = append(living, folder)
	}
	return living
}

// Current tells that a keeper speaks as this program does.
func Current(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, versionName))
	return err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(Version)
}

// Free ends a keeper of any version, and its terminal, and waits for it. Who it is, is the
// kernel's word.
func Free(folder string) {
	conn, err := localsocket.Dial(folder, socketName)
	if err != nil {
		_ = os.RemoveAll(folder)
		return
	}
	defer func() { _ = conn.Close() }()
	_, pid, err := localsocket.Peer(conn)
	if err != nil || sameUser(conn) != nil || pid <= 1 {
		return
	}
	if syscall.Kill(pid, syscall.SIGTERM) == nil {
		_ = conn.SetDeadline(time.Now().Add(shakeTime))
		_, _ = io.Copy(io.Discard, conn) // until it has ended
	}
}

// FreeAll ends all keepers in dir and tells how many.
func FreeAll(dir string) int {
	living := Living(dir)
	for _, folder := range living {
		Free(folder)
	}
	return len(living)
}
