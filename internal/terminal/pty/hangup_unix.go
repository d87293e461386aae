//go:build unix

package pty

import (
	"os"
	"os/signal"
	"syscall"
)

// MindHangUps lets programs be hung up on though the hub itself is not: what a hub
// that was started with nohup ignores, its programs would ignore too, and closing
// their terminals would not end them. A signal that is caught instead is an ordinary
// one for programs, and the hub lives on all the same. It stays so: once it is given
// back, Go no longer tells that it was ignored.
func MindHangUps() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // nobody looks: being caught is enough
	}
}
