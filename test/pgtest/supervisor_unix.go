//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// supervisorScript runs the server and waits for its own standard input to end, which
// happens when the process that started it closes the pipe or dies. Its own process
// group keeps a Ctrl-C on the terminal from reaching it.
//
//	$1 the server's folder, $2… the server's command line
//
// postmaster.pid is trusted only while "exited" is absent: the number in it
// cannot then belong to anyone else.
const supervisorScript = `
dir=$1; shift
trap '' INT TERM HUP
( "$@" >>"$dir/log" 2>&1; : >"$dir/exited" ) &
keep=no
while read -r word; do [ "$word" = keep ] && keep=yes; done
while [ ! -e "$dir/exited" ]; do
	pid=$(head -n 1 "$dir/data/postmaster.pid" 2>/dev/null)
	[ -n "$pid" ] && kill -QUIT "$pid" 2>/dev/null
	sleep 0.05
done
wait
[ "$keep" = yes ] || { cd / && rm -rf "$dir"; }
`

type folderFate bool

const (
	keepFolder   folderFate = true
	removeFolder folderFate = false
)

// supervisor is one life of a server process, from start to exit.
type supervisor struct {
	dir   string
	cmd   *exec.Cmd
	leash *os.File // writing end of the script's standard input
}

func supervise(dir string, command ...string) (*supervisor, error) {
	if err := os.Remove(filepath.Join(dir, "exited")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", supervisorScript, "pgtest", dir}, command...)...)
	cmd.Dir = dir
	cmd.Stdin = r
	// Standard output stays /dev/null: a test binary's output must not be held
	// open by a process that outlives it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: owner()}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start supervisor: %w", err), w.Close())
	}
	return &supervisor{dir: dir, cmd: cmd, leash: w}, nil
}

// end stops the server if it still runs, and waits until it is gone.
func (v *supervisor) end(fate folderFate) error {
	var err error
	if fate == keepFolder {
		_, err = v.leash.WriteString("keep\n")
	}
	return errors.Join(err, v.leash.Close(), v.cmd.Wait())
}

func (v *supervisor) serverExited() bool {
	_, err := os.Stat(filepath.Join(v.dir, "exited"))
	return err == nil
}

func (v *supervisor) logTail() string {
	const lines = 15
	log, err := os.ReadFile(filepath.Join(v.dir, "log"))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// kill ends the server's main process and the given ones of its children by
// SIGKILL and waits until the main one is gone.
func (v *supervisor) kill(children []int) error {
	line, err := os.ReadFile(filepath.Join(v.dir, "data", "postmaster.pid"))
	if err != nil {
		return fmt.Errorf("find the server's process: %w", err)
	}
	first, _, _ := strings.Cut(string(line), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("find the server's process: %w", err)
	}
	// The main process first: it would restart children that die before it.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	for _, child := range children {
		_ = syscall.Kill(child, syscall.SIGKILL) // it may have ended by itself
	}
	return v.awaitExit()
}

func (v *supervisor) awaitExit() error {
	deadline := time.After(startPatience)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !v.serverExited() {
		select {
		case <-deadline:
			return errors.New("the killed server does not go away")
		case <-tick.C:
		}
	}
	return nil
}

// owner is the account the server runs as when we are root, because PostgreSQL
// refuses root; nil otherwise.
func owner() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

// room is what the server's folder may grow to.
const room = 4 << 30

// makeDir makes the server's folder, owned by its account, in memory if there is
// room. As root it goes below /tmp else, because the other account may not be able
// to enter root's TMPDIR.
func makeDir() (string, error) {
	base := Memory(room)
	if base == "" && owner() != nil {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "parley-pg-")
	if err != nil {
		return "", err
	}
	return dir, giveAway(dir)
}

func writeOwned(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return giveAway(path)
}

func giveAway(path string) error {
	if o := owner(); o != nil {
		return os.Chown(path, int(o.Uid), int(o.Gid))
	}
	return nil
}

func runAsOwner(dir, program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner()}
	return cmd.CombinedOutput()
}
