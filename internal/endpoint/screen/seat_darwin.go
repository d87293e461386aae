package screen

import (
	"os"
	"strconv"
	"syscall"
)

// Seat is a desktop to take pictures of.
type Seat struct {
	// Env is what a program needs to find it.
	Env []string
	// Wrap is put before a command to enter the session of its user.
	Wrap []string
}

// Attr makes a process the desktop's user; macOS lets the system's own
// program see the screen as it is.
func (s Seat) Attr() *syscall.SysProcAttr { return nil }

// Find reports whether somebody is at the console: its device belongs to root
// while nobody is.
func Find() (Seat, bool) {
	info, err := os.Stat("/dev/console")
	if err != nil {
		return Seat{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return Seat{}, false
	}
	if os.Geteuid() != 0 {
		return Seat{}, true
	}
	return Seat{Wrap: []string{"/bin/launchctl", "asuser", strconv.FormatUint(uint64(st.Uid), 10)}}, true
}
