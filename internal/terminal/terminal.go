package terminal

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/mask"
	"parley.internal/internal/pause"
	"parley.internal/internal/terminal/keeper"
	"parley.internal/protocol/viber"
)

const (
	// kept is how long a terminal stays in the list after its process has ended.
	kept = 5 * time.Minute
	// grace lies between the hang-up and the kill.
	grace = 3 * time.Second
	// drain is how long what a process left behind may hold up the news of its exit.
	drain = time.Second
	// hesitate is how long a few bytes that may become a secret wait before they are shown.
	hesitate = 100 * time.Millisecond
	// maxTyped is how much input may wait for a process that does not read.
	maxTyped = 1 << 20
)

// program is what runs on a terminal: a process of the hub, or one that a keeper has.
type program interface {
	// Read gives output until there will be no more; Write types until in is closed.
	Read(out chan<- []byte)
	Write(in <-chan []byte)
	// Wait returns how it ended.
	Wait() viber.TerminalExit
	Resize(size viber.Size) error
	HangUp()
	Kill()
	// Close gives everything back, once it has ended.
	Close()
}

// terminal is one process with its screen. Its goroutine owns everything below
// mail; the rest of the world sends it functions to run.
type terminal struct {
	set     *Terminals
	owner   string // principal
	creator identity.Actor
	task    string
	boxed   bool // an agent's
	log     *slog.Logger
	mail    chan func()
	gone    chan struct{} // closed when it has left the list
	over    atomic.Bool   // the process has ended

	info    viber.Terminal // without what changes
	process program
	kept    *keeper.Kept // the same, of a terminal that outlives the hub
	read    int64        // how much of its output has come
	news    []byte       // what was shown and its keeper does not know yet
	unsaid  bool         // its keeper does not know all
	screen  *viber.Scrollback
	mask    *mask.Stream
	sizes   sizes
	views   map[*view]struct{}
	lent    map[string]*view // those that other hubs look through, by their names for them
	typed   map[string]bool  // sessions whose first input is on record
	typing  [][]byte         // waits for the process
	waits   int              // bytes of it
	exit    *viber.TerminalExit
	closing bool
	record  *recording
	began   time.Time
}

// do runs fn on the terminal's goroutine and waits for it.
func (t *terminal) do(ctx context.Context, fn func()) error {
	done := make(chan struct{})
	select {
	case t.mail <- func() { fn(); close(done) }:
		<-done
		return nil
	case <-t.gone:
		return ErrNotFound
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the terminal's goroutine.
func (t *terminal) run() {
	var workers sync.WaitGroup
	printed, typed, waited := make(chan []byte), make(chan []byte), make(chan viber.TerminalExit, 1)
	workers.Go(func() { t.process.Read(printed) })
	workers.Go(func() { t.process.Write(typed) })
	workers.Go(func() { waited <- t.process.Wait() })
	out, in := printed, typed // nil once they are over
	quiet, over, late := &pause.Alarm{}, &pause.Alarm{}, &pause.Alarm{}
	defer func() {
		quiet.Clear()
		over.Clear()
		late.Clear()
		workers.Wait()
		t.leave()
	}()
	reading, status := true, (*viber.TerminalExit)(nil)
	stop := t.set.stopping
	for {
		head, next := t.nextInput(in)
		select {
		case fn := <-t.mail:
			fn()
			if t.closing && t.exit == nil {
				late.Set(grace) // only the first call counts
			}
		case next <- head:
			t.typing = t.typing[1:]
			t.waits -= len(head)
		case data, more := <-out:
			if reading = more; !more {
				out = nil
				break
			}
			t.read, t.unsaid = t.read+int64(len(data)), true
			t.print(t.mask.Push(data))
			if t.mask.Waiting() {
				quiet.Set(hesitate)
			}
		case <-quiet.C:
			quiet.Clear()
			t.print(t.mask.Relent())
		case e := <-waited:
			status = &e
			over.Set(drain)
		case <-over.C:
			over.Clear()
			if t.exit == nil {
				t.process.Close() // somebody else holds it; reading ends now
				break
			}
			return // listed long enough
		case <-late.C:
			late.Clear()
			t.process.Kill()
		case <-stop:
			stop = nil
			if t.kept != nil && t.exit == nil {
				t.detach()
				close(in)
				return
			}
			t.hangUp()
			late.Reset(t.set.grace)
		}
		if status != nil && !reading && t.exit == nil {
			t.print(t.mask.End())
			t.finish(*status)
			close(in)
			in = nil
			over.Reset(kept)
			late.Clear()
		}
		if t.unsaid {
			t.acknowledge()
		}
		if t.exit != nil && t.set.isStopping() {
			return
		}
	}
}

// nextInput is what to type next and where; a nil channel while there is nothing.
func (t *terminal) nextInput(in chan []byte) ([]byte, chan<- []byte) {
	if len(t.typing) == 0 || in == nil {
		return nil, nil
	}
	return t.typing[0], in
}

// print shows output to everybody.
func (t *terminal) print(data []byte) {
	if len(data) == 0 {
		return
	}
	t.screen.Append(data)
	if t.kept != nil {
		t.news, t.unsaid = append(t.news, data...), true
	}
	t.record.output(data)
	t.wake()
}

func (t *terminal) wake() {
	for v := range t.views {
		v.wake.Ring()
	}
}

// hangUp asks the process to end; a second time does nothing.
func (t *terminal) hangUp() {
	if t.exit == nil && !t.closing {
		t.closing = true
		t.process.HangUp()
	}
}

// finish is the end of the process, after its last output.
func (t *terminal) finish(e viber.TerminalExit) {
	e.TerminalID = t.info.ID
	t.exit = &e
	t.over.Store(true)
	t.typing, t.waits = nil, 0
	t.record.close()
	t.set.exited(t)
	t.process.Close()
	t.unsaid = false
	t.wake()
}

// leave takes the terminal out of the list.
func (t *terminal) leave() {
	t.set.remove(t)
	close(t.gone)
}

// resize makes the terminal the size its viewers need.
func (t *terminal) resize() {
	var windows []viber.Size
	for v := range t.views {
		if v.opts.Writer && v.window != nil {
			windows = append(windows, *v.window)
		}
	}
	if !t.sizes.recompute(windows) {
		return
	}
	if t.exit == nil {
		if err := t.process.Resize(t.sizes.current); err != nil {
			t.log.Warn("a terminal cannot be resized", "terminal", t.info.ID, "error", err)
		}
		t.record.resize(t.sizes.current)
		t.unsaid = true
	}
	for v := range t.views {
		v.resized = true
		v.wake.Ring()
	}
}

// input queues what somebody types.
func (t *terminal) input(who identity.Actor, data []byte) error {
	switch {
	case t.exit != nil:
		return ErrExited
	case t.waits+len(data) > maxTyped:
		return ErrLimit
	}
	if key := who.String() + " " + who.Connection; !t.typed[key] {
		t.typed[key] = true
		t.set.note(who, audit.TerminalInput, t, "ok", 0, nil)
	}
	if len(data) > 0 {
		t.typing = append(t.typing, append([]byte(nil), data...))
		t.waits += len(data)
	}
	return nil
}

// describe is the terminal as listings show it.
func (t *terminal) describe() viber.Terminal {
	info := t.info
	info.Size, info.Status = t.sizes.current, viber.TerminalRunning
	for v := range t.views {
		if !v.opts.ExitOnly {
			info.Viewers++
		}
	}
	if t.exit != nil {
		info.Status = viber.TerminalExited
		info.ExitCode = &t.exit.ExitCode
	}
	return info
}
