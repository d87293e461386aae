package work

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"parley.internal/internal/eventlog"
	"parley.internal/internal/lease"
	"parley.internal/internal/wake"
)

// flight is text on its way to the disk. The task does not wait for it: it hands
// over what was said and goes on, and what is said meanwhile goes with the next
// flight. Everything else a task writes waits until the flight has landed, so that
// the order stays.
type flight struct {
	mu    sync.Mutex
	up    bool // the log has the text and has not answered
	want  bool // there is more: wake the task when it has landed
	fresh bool // an answer that the task has not seen
	first int64
	err   error
	ready wake.Bell // capacity 1: it has landed
}

// takeOff notes that text was handed to the log.
func (f *flight) takeOff() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.up, f.want = true, false
}

// wanted tells whether text is on its way; if so, its landing wakes the task.
func (f *flight) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want = f.want || f.up
	return f.up
}

// touchDown takes the log's answer and tells whether somebody waits for it.
func (f *flight) touchDown(first int64, err error) (wanted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.up, f.fresh, f.first, f.err = false, true, first, err
	f.ready.Ring()
	return f.want || err != nil
}

// answer is the log's answer, once.
func (f *flight) answer() (first int64, err error, fresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first, err, fresh = f.first, f.err, f.fresh
	f.fresh = false
	return first, err, fresh
}

var errNoAnswer = errors.New("the log does not answer")

// wait returns when nothing is on its way.
func (f *flight) wait() error {
	var late *time.Timer
	for {
		f.mu.Lock()
		up := f.up
		f.mu.Unlock()
		if !up {
			return nil
		}
		if late == nil {
			late = time.NewTimer(writeTimeout)
			defer late.Stop()
		}
		select {
		case <-f.ready:
		case <-late.C:
			return errNoAnswer
		}
	}
}

// sendText hands the text that waits to the log.
func (t *task) sendText() {
	data := binary.AppendUvarint(make([]byte, 0, len(t.text)+3), uint64(t.turn))
	data = append(data, t.text...)
	t.text = t.text[:0]
	t.logBytes += eventSize(textKind, data)
	t.flushed = time.Now()
	t.air.takeOff()
	t.w.d.Log.AppendSoon(t.lease, t.stream, t.landed, eventlog.Event{Kind: textKind, Data: data})
}

// onLanded runs on the log's goroutine.
func (t *task) onLanded(first int64, err error) {
	if t.air.touchDown(first, err) {
		t.wake.Ring()
	}
}

// land waits until the text that was handed over is on disk.
func (t *task) land() {
	err := t.air.wait()
	if err != nil {
		t.unwritten(err)
		return
	}
	t.heedLanding()
}

// heedLanding looks what became of the last flight.
func (t *task) heedLanding() {
	first, err, fresh := t.air.answer()
	switch {
	case !fresh:
	case err != nil:
		t.unwritten(err)
	default:
		t.seq = first
	}
}

// unwritten stops a task that cannot write.
func (t *task) unwritten(err error) {
	if t.over {
		return
	}
	if errors.Is(err, lease.ErrLost) {
		t.lose()
		return
	}
	t.broken(err)
}

// eventSize is about what an event takes in the log.
func eventSize(kind string, data []byte) int { return len(data) + len(kind) + 32 }
