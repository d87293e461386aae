package eventlog

import (
	"context"
	"iter"
	"time"

	"parley/internal/bus"
)

// Follow yields every event after the given number: those that are kept, then
// those that come, until ctx ends or the caller stops. The error is final; it is
// *TrimmedError when the start is no longer kept and ctx.Err() at the end of ctx.
func (l *Log) Follow(ctx context.Context, stream string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{log: l, stream: stream, last: after, news: make(chan []Event, 64), stale: make(chan struct{}, 1)}
		// Subscribe first: what is appended between the replay and now is news.
		sub, err := l.bus.Subscribe(subject(stream), f.hear)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer sub.Close()
		if err := f.run(ctx, sub, yield); err != nil {
			yield(Event{}, err)
		}
	}
}

// follower is one reader's place in a stream.
type follower struct {
	log    *Log
	stream string
	last   int64
	news   chan []Event
	// stale says that news was missed and the store must be asked.
	stale   chan struct{}
	stopped bool
}

// hear runs on the bus's goroutine and never waits for the reader.
func (f *follower) hear(m bus.Msg) {
	events, err := decode(m.Data)
	if err != nil || len(events) == 0 {
		f.missed()
		return
	}
	select {
	case f.news <- events:
	default:
		f.missed()
	}
}

func (f *follower) missed() {
	select {
	case f.stale <- struct{}{}:
	default:
	}
}

// run returns nil when the caller stopped.
func (f *follower) run(ctx context.Context, sub bus.Subscription, yield func(Event, error) bool) error {
	if err := f.replay(ctx, yield); err != nil || f.stopped {
		return err
	}
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	quiet := true
	for !f.stopped {
		var err error
		select {
		case events := <-f.news:
			quiet = false
			err = f.take(ctx, events, yield)
		case <-f.stale:
			err = f.replay(ctx, yield)
		case <-sub.Lagged():
			err = f.replay(ctx, yield)
		case <-tick.C:
			// A reader that hears news need not ask whether there is any.
			if quiet {
				err = f.replay(ctx, yield)
			}
			quiet = true
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take yields news that continues where the reader is and ignores what it has;
// anything else is read from the store.
func (f *follower) take(ctx context.Context, events []Event, yield func(Event, error) bool) error {
	if events[0].Seq > f.last+1 {
		return f.replay(ctx, yield)
	}
	for _, ev := range events {
		if ev.Seq != f.last+1 {
			continue
		}
		if !f.give(ev, yield) {
			return nil
		}
	}
	return nil
}

// replay yields what the store has after the reader's place.
func (f *follower) replay(ctx context.Context, yield func(Event, error) bool) error {
	for {
		events, err := f.log.Read(ctx, f.stream, f.last, page)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if !f.give(ev, yield) {
				return nil
			}
		}
		if len(events) < page {
			return nil
		}
	}
}

func (f *follower) give(ev Event, yield func(Event, error) bool) bool {
	f.last = ev.Seq
	if !yield(ev, nil) {
		f.stopped = true
	}
	return !f.stopped
}
