//go:build unix

package keeper

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"parley.internal/internal/sandbox"
	"parley.internal/internal/terminal/pty"
	"parley.internal/protocol/viber"
)

// ready is what a keeper answers once its program runs; anything else is why it does not.
const ready = "ready"

// Main is the keeper's process. It starts in its folder, which goes with it.
func Main(orders io.Reader, answer io.WriteCloser) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	k, l, err := begin(orders)
	if err != nil {
		_, _ = fmt.Fprintln(answer, err)
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	_, _ = fmt.Fprintln(answer, ready)
	_ = answer.Close()
	go k.admit(l)
	k.run(asked)
	_ = l.Close()
	return os.RemoveAll(folder)
}

// begin starts the program and opens the keeper's socket.
func begin(from io.Reader) (*keeper, net.Listener, error) {
	var o Orders
	if err := json.NewDecoder(from).Decode(&o); err != nil {
		return nil, nil, fmt.Errorf("the keeper's orders: %w", err)
	}
	pty.MindHangUps()
	l, err := net.Listen("unix", socketName)
	if err != nil {
		return nil, nil, err
	}
	if err := os.Chmod(socketName, 0o600); err != nil {
		return nil, nil, err
	}
	k := &keeper{
		orders: o, door: make(chan struct{}, 8), arrived: make(chan *visitor), over: make(chan struct{}),
		screen: viber.NewScrollback(viber.MaxScrollback), size: o.Size,
	}
	p := pty.Program{Command: o.Command, Dir: o.Dir, Size: o.Size, Box: o.Folders}
	if o.Leaves {
		k.exit = newDoor()
		p.Exit = k.exit
	}
	k.process, err = pty.Start(sandbox.New(o.Box), p)
	return k, l, err
}
