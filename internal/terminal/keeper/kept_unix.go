//go:build unix

package keeper

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/localsocket"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/wake"
	"parley.internal/protocol/viber"
)

// Kept is a terminal as the hub sees it through its keeper. Read, Write and Wait are
// called by one goroutine each, until Close or Leave; the rest from anywhere.
type Kept struct {
	// Found is where it stood.
	Found  Found
	conn   *net.UnixConn
	folder string
	secret string
	cmd    *exec.Cmd // of a keeper that this hub started

	mu    sync.Mutex
	queue []message // to be said; bounded by what the keeper waits for
	wake  wake.Bell
	typed chan struct{}
	ended chan viber.TerminalExit
	left  chan struct{}
	once  sync.Once

	spoken sync.WaitGroup
	exit   sandbox.Exit // with way, by which its listener comes
	way    *net.UnixConn
	served sync.WaitGroup
}

func newKept(conn *net.UnixConn, folder, secret string, found Found) *Kept {
	k := &Kept{
		Found: found, conn: conn, folder: folder, secret: secret,
		wake: wake.New(), typed: make(chan struct{}, 1), ended: make(chan viber.TerminalExit, 1), left: make(chan struct{}),
	}
	k.spoken.Go(k.speak)
	return k
}

// say queues a message: whoever calls never waits for a keeper.
func (k *Kept) say(m message) {
	k.mu.Lock()
	k.queue = append(k.queue, m)
	k.mu.Unlock()
	k.wake.Ring()
}

// speak says what is queued, and when the hub leaves, the rest of it.
func (k *Kept) speak() {
	for {
		k.mu.Lock()
		queue := k.queue
		k.queue = nil
		k.mu.Unlock()
		for _, m := range queue {
			if write(k.conn, m) != nil || m.Kind == forget {
				return // the reader tells
			}
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-k.wake:
		case <-k.left:
			return
		}
	}
}

// Read gives output until the program has ended, its keeper has, or the hub leaves.
func (k *Kept) Read(out chan<- []byte) {
	defer close(out)
	defer k.over(lost) // if nothing better was said
	for from := bufio.NewReaderSize(k.conn, 2*piece); ; {
		m, err := read(from, maxBody)
		if err != nil {
			return
		}
		switch m.Kind {
		case output:
			select {
			case out <- m.body:
			case <-k.left:
				return
			}
		case typed:
			k.typed <- struct{}{}
		case ended:
			if m.Exit != nil {
				k.over(*m.Exit)
			}
			return
		}
	}
}

// over tells how the program ended; the first word counts.
func (k *Kept) over(e viber.TerminalExit) {
	select {
	case k.ended <- e:
	default:
	}
}

// lost is how a program ends whose keeper was killed: its terminal is gone.
var lost = viber.TerminalExit{ExitCode: 129, Signal: "SIGHUP"}

// Write types, one piece at a time: the next when the program has the last.
func (k *Kept) Write(in <-chan []byte) {
	for data := range in {
		k.say(message{Kind: input, body: data})
		select {
		case <-k.typed:
		case <-k.left:
		}
	}
}

// Wait returns how the program ended.
func (k *Kept) Wait() viber.TerminalExit {
	select {
	case e := <-k.ended:
		return e
	case <-k.left:
		return lost
	}
}

// Acknowledge tells the keeper what is safe.
func (k *Kept) Acknowledge(a Ack) {
	k.say(message{Kind: ack, At: a.At, Notes: a.Notes, body: a.Shown})
}

// Resize tells the program the size of its window.
func (k *Kept) Resize(s viber.Size) error {
	k.say(message{Kind: resize, Size: s})
	return nil
}

// HangUp asks the program to end.
func (k *Kept) HangUp() { k.say(message{Kind: hangUp}) }

// Kill ends the program and all it started.
func (k *Kept) Kill() { k.say(message{Kind: kill}) }

// Close tells the keeper that the program's end was read, and waits until it has ended.
func (k *Kept) Close() {
	k.once.Do(func() {
		_ = k.conn.SetWriteDeadline(time.Now().Add(shakeTime)) // one that hangs holds nobody up
		k.say(message{Kind: forget})
		k.spoken.Wait()
		k.leave()
		if k.cmd != nil {
			hangs := time.AfterFunc(shakeTime, func() { _ = k.cmd.Process.Kill() })
			_ = k.cmd.Wait() // it ends now
			hangs.Stop()
		}
	})
}

// Leave lets the terminal live without this hub.
func (k *Kept) Leave() { k.once.Do(k.leave) }

func (k *Kept) leave() {
	close(k.left)
	_ = k.conn.Close()
	k.spoken.Wait()
	if k.exit != nil {
		k.exit.Close()
		_ = k.way.Close()
		k.served.Wait()
	}
}

// Serve has exit be the way out of the program's box. It is closed with the terminal.
func (k *Kept) Serve(exit sandbox.Exit) error {
	way, err := call(k.folder, message{Kind: hello, Version: Version, Secret: k.secret, Network: true})
	if err == nil {
		err = way.SetDeadline(time.Time{})
	}
	if err != nil {
		return err
	}
	k.exit, k.way = exit, way
	k.served.Go(func() {
		// It comes when the box is made.
		if l, password, err := localsocket.ReceiveListener(way); err == nil {
			exit.Serve(l, strings.TrimSpace(password))
		}
	})
	return nil
}
