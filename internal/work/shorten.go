package work

import (
	"context"

	"parley.internal/internal/eventlog"
)

// A log that has grown too large is shortened: all but its newest quarter has its
// text deltas merged, and if more than half of what is allowed is left, the oldest
// go. So it takes long until it is too large again.
const (
	asIs    = 4
	perText = 256 // parts of a log that one merged delta may take
)

// shorten makes the log small again if it is too large. It runs after a commit, when
// no text waits.
func (t *task) shorten() {
	limit := t.w.d.Limits.LogBytes
	if t.over || t.logBytes <= limit {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if err := t.shortenTo(ctx, limit); err != nil {
		t.w.d.Logger.Warn("cannot shorten the log of a task", "task", t.id, "error", err)
		t.logBytes /= 2 // do not try again at once
	}
}

func (t *task) shortenTo(ctx context.Context, limit int) error {
	s, err := t.readLog(ctx, limit)
	if err != nil {
		return err
	}
	if s.merged {
		if err := t.w.d.Log.Condense(ctx, t.lease, t.stream, s.events[:s.old]); err != nil {
			return err
		}
	}
	keep := s.drop(limit / 2)
	t.logBytes = s.size
	// Snapshots need nothing of what goes: the row has the text.
	if err := t.transact(ctx, &write{row: true}, nil); err != nil || keep == 0 {
		return err
	}
	return t.w.d.Log.Trim(ctx, t.lease, t.stream, keep)
}

// shortening is a log as it will be.
type shortening struct {
	most   int // of one merged delta
	events []eventlog.Event
	old    int // how many of them are of the older part
	size   int
	merged bool
	open   texts // what is being merged
	single eventlog.Event
}

// readLog reads the whole log and merges the older part of it in memory.
func (t *task) readLog(ctx context.Context, limit int) (*shortening, error) {
	bounds, err := t.w.d.Log.Bounds(ctx, t.stream)
	if err != nil {
		return nil, err
	}
	s := &shortening{most: min(max(limit/perText, 1<<10), maxDelta)}
	left := t.logBytes // about what follows
	older := true
	for after := bounds.Oldest - 1; after < bounds.Last; {
		page, err := t.w.d.Log.Read(ctx, t.stream, after, eventPage)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			left -= eventSize(e.Kind, e.Data)
			if older && left < limit/asIs {
				older = false
				s.close()
				s.old = len(s.events)
			}
			if err := s.merge(e, after, older); err != nil {
				return nil, err
			}
			after = e.Seq
		}
	}
	if older {
		s.close()
		s.old = len(s.events)
	}
	return s, nil
}

// merge adds an event, merged with the text before it if it is of the older part.
func (s *shortening) merge(e eventlog.Event, after int64, older bool) error {
	x, isText, err := readTexts(e, after)
	if err != nil {
		return err
	}
	if !older || !isText {
		s.close()
		s.add(e)
		return nil
	}
	if len(s.open.pieces) > 0 && s.open.join(&x, s.most) {
		s.merged = true
		s.single.At = e.At
		return nil
	}
	s.close()
	s.open, s.single = x.own(), e
	return nil
}

// close ends a merged delta.
func (s *shortening) close() {
	if len(s.open.pieces) == 0 {
		return
	}
	e := s.single
	if e.Kind != textKind || len(s.open.pieces) > 1 {
		e = s.open.event()
		e.At = s.single.At
	}
	s.open = texts{}
	s.add(e)
}

func (s *shortening) add(e eventlog.Event) {
	s.events = append(s.events, e)
	s.size += eventSize(e.Kind, e.Data)
}

// drop lets go of the oldest until the rest is small enough, and tells the first
// number that stays; 0 is all of it.
func (s *shortening) drop(most int) (keep int64) {
	for len(s.events) > 1 && s.size > most {
		s.size -= eventSize(s.events[0].Kind, s.events[0].Data)
		keep = s.events[0].Seq + 1
		s.events = s.events[1:]
	}
	return keep
}
