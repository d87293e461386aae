//go:build unix

package keeper

import (
	"encoding/json"
	"os"
	"time"

	"parley.internal/internal/pause"
	"parley.internal/internal/terminal/pty"
	"parley.internal/protocol/viber"
)

// keeper is one terminal without a hub. Its goroutine owns everything below over.
type keeper struct {
	orders  Orders
	process *pty.Process
	exit    *door // nil without a network
	door    chan struct{}
	arrived chan *visitor
	over    chan struct{} // closed when it ends

	hub    *visitor // nil while there is none
	told   bool     // the hub knows where we stand
	raw    []byte   // printed, not acknowledged
	at     int64    // where raw begins
	sent   int      // how much of raw the hub has
	screen *viber.Scrollback
	notes  json.RawMessage
	size   viber.Size
	typing []byte // waits for the program
	echo   bool   // the hub is to be told that it was typed
	ended  *viber.TerminalExit
	last   bool // the hub knows how it ended
}

// run keeps the terminal until its end was read, or nobody wants to.
func (k *keeper) run(asked <-chan os.Signal) {
	printed, typing, wrote, waited := make(chan []byte), make(chan []byte), make(chan struct{}), make(chan viber.TerminalExit, 1)
	go k.process.Read(printed)
	go func() {
		for data := range typing {
			k.process.Type(data)
			wrote <- struct{}{}
		}
	}()
	go func() { waited <- k.process.Wait() }()
	alone, late, rest := &pause.Alarm{}, &pause.Alarm{}, &pause.Alarm{}
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	alone.Reset(k.orders.Alone)
	var status *viber.TerminalExit
	reading, busy, leaving := true, false, false
	for {
		from, to := printed, (chan<- []byte)(nil)
		if len(k.raw) >= most {
			from = nil // the program has to wait
		}
		if len(k.typing) > 0 && !busy {
			to = typing
		}
		next, out := k.next()
		in, gone := k.lines()
		select {
		case data, more := <-from:
			if !more {
				printed, reading = nil, false
				break
			}
			k.raw = append(k.raw, data...)
			if status != nil {
				rest.Reset(drain) // what is left behind still prints
			}
		case to <- k.typing:
			k.typing, busy = nil, true
		case <-wrote:
			busy, k.echo = false, true
		case out <- next:
			k.wasSent(next)
		case v := <-k.arrived:
			k.replaceHub(v)
			alone.Clear()
		case <-gone:
			k.replaceHub(nil)
			alone.Reset(k.orders.Alone)
		case m := <-in:
			if m.Kind == forget || !k.take(m) {
				_ = k.hub.conn.Close()
			}
			if m.Kind == forget {
				leaving = true
			}
			if m.Kind == hangUp {
				late.Reset(grace)
			}
		case e := <-waited:
			status = &e
			rest.Reset(drain)
		case <-rest.C:
			rest.Clear()
			if from != nil || !reading {
				k.process.Close() // somebody else holds it; reading ends now
			} else {
				rest.Reset(drain) // it is we who do not read
			}
		case <-late.C:
			late.Clear()
			k.process.Kill()
		case <-asked:
			leaving = true
		case <-alone.C:
			leaving = true
		case <-ticks.C:
			_, err := os.Stat(socketName)
			leaving = leaving || k.hub == nil && err != nil // the data folder has gone
		}
		if status != nil && !reading && k.ended == nil {
			k.ended = status
		}
		if leaving {
			k.finish(status, waited)
			return
		}
	}
}

// finish ends the program, if it runs.
func (k *keeper) finish(status *viber.TerminalExit, waited <-chan viber.TerminalExit) {
	close(k.over)
	if status == nil {
		k.process.HangUp()
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-waited:
		case <-timer.C:
			k.process.Kill()
			<-waited
		}
	}
	k.process.Close()
}

// lines are what the hub says, and that it has gone; nil without one.
func (k *keeper) lines() (<-chan message, <-chan struct{}) {
	if k.hub == nil {
		return nil, nil
	}
	return k.hub.in, k.hub.gone
}

// replaceHub has the newest hub be the one: the older can only be dead or dying.
func (k *keeper) replaceHub(v *visitor) {
	if k.hub != nil {
		_ = k.hub.conn.Close()
		close(k.hub.left)
	}
	k.hub, k.told, k.sent, k.last = v, false, 0, false
	if v != nil {
		v.serve()
	} else if k.exit != nil {
		k.exit.lend(false)
	}
}

// piece is how much output goes into one message.
const piece = 64 << 10

// next is what the hub is to hear, and where; a nil channel when there is nothing.
func (k *keeper) next() (message, chan<- message) {
	switch {
	case k.hub == nil:
		return message{}, nil
	case !k.told:
		state, shown := k.screen.State()
		return message{Kind: welcome, Version: Version, At: k.at, Size: k.size, Screen: state, Notes: k.notes, body: shown}, k.hub.out
	case k.echo:
		return message{Kind: typed}, k.hub.out
	case k.sent < len(k.raw):
		// What is in raw never changes, so whoever writes it needs no copy.
		return message{Kind: output, At: k.at + int64(k.sent), body: k.raw[k.sent:min(len(k.raw), k.sent+piece)]}, k.hub.out
	case k.ended != nil && !k.last:
		return message{Kind: ended, Exit: k.ended}, k.hub.out
	}
	return message{}, nil
}

func (k *keeper) wasSent(m message) {
	switch m.Kind {
	case welcome:
		k.told = true
	case typed:
		k.echo = false
	case output:
		k.sent += len(m.body)
	case ended:
		k.last = true
	}
}

// take does what the hub says; false for what it may not say.
func (k *keeper) take(m message) bool {
	switch m.Kind {
	case ack:
		n := m.At - k.at
		if n < 0 || n > int64(k.sent) {
			return false
		}
		k.raw, k.at, k.sent = k.raw[n:], m.At, k.sent-int(n)
		k.screen.Append(m.body)
		k.notes = m.Notes
	case input:
		k.typing = append(k.typing, m.body...)
		if len(k.typing) > maxBody {
			return false
		}
	case resize:
		if !m.Size.Valid() {
			return false
		}
		k.size = m.Size
		_ = k.process.Resize(m.Size) // one that has ended has no window
	case hangUp:
		k.process.HangUp()
	case kill:
		k.process.Kill()
	default:
		return false
	}
	return true
}
