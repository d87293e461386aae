package screen

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Seat is a desktop to take pictures of.
type Seat struct {
	// Env is what a program needs to find it.
	Env []string
	// Wrap is put before a command to enter the session of its user.
	Wrap     []string
	uid, gid uint32
	other    bool // somebody else's
}

// Attr makes a process the desktop's user.
func (s Seat) Attr() *syscall.SysProcAttr {
	if !s.other {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.uid, Gid: s.gid}}
}

// firstUser is the lowest id of a person's account; below are system accounts,
// the log-in screen's among them.
const firstUser = 1000

// Find gives the desktop of this process, else, for a service, that of a
// person who is logged in.
func Find() (Seat, bool) {
	if env := seatEnv(os.Environ()); env != nil {
		return Seat{Env: env}, true
	}
	if os.Geteuid() != 0 {
		return Seat{}, false
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return Seat{}, false
	}
	for _, dir := range dirs {
		if seat, ok := seatOf(dir); ok {
			return seat, true
		}
	}
	return Seat{}, false
}

func seatOf(dir string) (Seat, bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return Seat{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid < firstUser {
		return Seat{}, false
	}
	data, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return Seat{}, false
	}
	env := seatEnv(strings.Split(string(data), "\x00"))
	if env == nil {
		return Seat{}, false
	}
	env = append(env, "HOME="+homeOf(st.Uid))
	return Seat{Env: env, uid: st.Uid, gid: st.Gid, other: true}, true
}

// homeOf reads the account's home folder; programs look for settings there.
func homeOf(uid uint32) string {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "/"
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) >= 6 && f[2] == strconv.FormatUint(uint64(uid), 10) {
			return f[5]
		}
	}
	return "/"
}

// seatEnv picks the variables that lead to a desktop; nil if none does.
func seatEnv(env []string) []string {
	var out []string
	found := false
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "DISPLAY", "WAYLAND_DISPLAY":
			found = found || value != ""
			out = append(out, kv)
		case "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS":
			out = append(out, kv)
		}
	}
	if !found {
		return nil
	}
	return out
}
