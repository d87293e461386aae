package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"parley/internal/store"
)

// Event is one entry of a stream. Seq and At are set by the log.
type Event struct {
	Seq  int64
	At   time.Time
	Kind string
	Data []byte
}

// Guard fences an append: it fails unless the writer still owns the thing.
// A *lease.Lease is one.
type Guard interface {
	Check(tx *store.Tx) error
}

// TrimmedError says that the events asked for are no longer kept.
type TrimmedError struct {
	Stream string
	Oldest int64
}

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("%s: events before %d are no longer kept", e.Stream, e.Oldest)
}

// ErrBadCursor says that a reader asked to go on after an event that never was.
var ErrBadCursor = errors.New("the stream has not come that far")

var errTorn = errors.New("eventlog: torn batch on the bus")

// encode packs consecutive events for the bus: number of the first, then each
// event's time, kind and data.
func encode(events []Event) []byte {
	size := 10
	for _, ev := range events {
		size += 20 + len(ev.Kind) + len(ev.Data)
	}
	b := binary.AppendUvarint(make([]byte, 0, size), uint64(events[0].Seq))
	for _, ev := range events {
		b = binary.AppendVarint(b, ev.At.UnixMicro())
		b = append(binary.AppendUvarint(b, uint64(len(ev.Kind))), ev.Kind...)
		b = append(binary.AppendUvarint(b, uint64(len(ev.Data))), ev.Data...)
	}
	return b
}

// decode reads what encode wrote. The events share b's memory.
func decode(b []byte) ([]Event, error) {
	seq, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errTorn
	}
	b = b[n:]
	var events []Event
	for len(b) > 0 {
		at, n := binary.Varint(b)
		if n <= 0 {
			return nil, errTorn
		}
		kind, rest, ok := cut(b[n:])
		if !ok {
			return nil, errTorn
		}
		data, rest, ok := cut(rest)
		if !ok {
			return nil, errTorn
		}
		events = append(events, Event{Seq: int64(seq), At: store.Time(at), Kind: string(kind), Data: data})
		seq++
		b = rest
	}
	return events, nil
}

func cut(b []byte) (field, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}
