package eventlog

import (
	"context"
	"iter"
	"sync"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/wake"
)

// What may wait for a reader before it has to ask the store: more than a reader
// that keeps up ever has, and little memory for one that does not.
const (
	maxNews      = 64
	maxNewsBytes = 1 << 20
)

// Follow yields every event after the given number: those that are kept, then
// those that come, until ctx ends or the caller stops. The error is final; it is
// *TrimmedError when the start is no longer kept and ctx.Err() at the end of ctx.
//
// An event that Condense has made may begin before the reader's place: it stands
// for events the reader has and for others it has not.
func (l *Log) Follow(ctx context.Context, stream string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{log: l, stream: stream, last: after, yield: yield, wake: wake.New()}
		// Subscribe first: what is appended between the replay and now is news.
		sub, err := l.bus.Subscribe(subject(stream), f.hear)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer sub.Close()
		if err := f.run(ctx, sub); err != nil {
			yield(Event{}, err)
		}
	}
}

// follower is one reader's place in a stream.
type follower struct {
	log     *Log
	stream  string
	last    int64
	at      cursor
	yield   func(Event, error) bool
	stopped bool
	wake    wake.Bell

	mu    sync.Mutex
	news  [][]byte // runs that were not read yet
	bytes int
	// missed says that the store must be asked.
	missed bool
	heard  bool // since the last recheck
	closed bool
	check  *time.Timer

	spare [][]byte // the reader's: what it took last
}

// hear keeps news for the reader and never waits for it.
func (f *follower) hear(m bus.Msg) {
	f.mu.Lock()
	f.heard = true
	if len(f.news) >= maxNews || f.bytes > maxNewsBytes {
		f.missed = true
		clear(f.news)
		f.news, f.bytes = f.news[:0], 0
	}
	f.news, f.bytes = append(f.news, m.Data), f.bytes+len(m.Data)
	f.mu.Unlock()
	f.wake.Ring()
}

// recheck is called by the timer: a reader that hears news need not ask whether
// there is any.
func (f *follower) recheck() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if !f.heard {
		f.missed = true
		f.wake.Ring()
	}
	f.heard = false
	f.check.Reset(recheck)
}

func (f *follower) startChecks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.check = time.AfterFunc(recheck, f.recheck)
}

func (f *follower) stopChecks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.check.Stop()
}

// drain gives the news there is, valid until the next drain.
func (f *follower) drain() (news [][]byte, missed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.spare)
	news, missed = f.news, f.missed
	f.news, f.spare, f.bytes, f.missed = f.spare[:0], news, 0, false
	return news, missed
}

// run returns nil when the caller stopped.
func (f *follower) run(ctx context.Context, sub bus.Subscription) error {
	if err := f.replay(ctx); err != nil {
		return err
	}
	f.startChecks()
	defer f.stopChecks()
	if sub.Lagged() == nil {
		return f.listen(ctx)
	}
	for !f.stopped {
		var err error
		select {
		case <-f.wake:
			err = f.hearAll(ctx)
		case <-sub.Lagged():
			err = f.replay(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listen is the loop for a bus that loses nothing: everything wakes the reader the
// same way, since waiting for one thing is much cheaper than for three.
func (f *follower) listen(ctx context.Context) error {
	stop := context.AfterFunc(ctx, f.wake.Ring)
	defer stop()
	for !f.stopped {
		<-f.wake
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.hearAll(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) hearAll(ctx context.Context) error {
	news, missed := f.drain()
	if missed {
		if err := f.replay(ctx); err != nil {
			return err
		}
	}
	for _, run := range news {
		if err := f.tell(ctx, run); err != nil || f.stopped {
			return err
		}
	}
	return nil
}

// tell yields news that continues where the reader is and ignores what it has;
// anything else, and what cannot be read, is asked from the store.
func (f *follower) tell(ctx context.Context, run []byte) error {
	if f.at.begin(run) != nil || !f.at.more() || f.at.seq > f.last+1 {
		return f.replay(ctx)
	}
	for f.at.more() && !f.stopped {
		ev, err := f.at.next()
		if err != nil {
			return f.replay(ctx)
		}
		f.give(ev)
	}
	return nil
}

// replay yields what the store has after the reader's place.
func (f *follower) replay(ctx context.Context) error {
	for !f.stopped {
		events, err := f.log.Read(ctx, f.stream, f.last, page)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return nil
		}
		full := events[len(events)-1].Seq-f.last >= page
		for _, ev := range events {
			f.give(ev)
		}
		if !full {
			return nil
		}
	}
	return nil
}

// give yields an event unless the reader has it already.
func (f *follower) give(ev Event) {
	if f.stopped || ev.Seq <= f.last {
		return
	}
	f.last = ev.Seq
	f.stopped = !f.yield(ev, nil)
}
