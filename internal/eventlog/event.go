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

// A run is consecutive events as the bus and the journal carry them: number of
// the first, then each event's time, kind and data.
const runHead = binary.MaxVarintLen64

func beginRun(b []byte, first int64) []byte { return binary.AppendUvarint(b, uint64(first)) }

// appendRun adds events that were appended at the same time.
func appendRun(b []byte, at time.Time, events []Event) []byte {
	micros := at.UnixMicro()
	for i := range events {
		ev := &events[i]
		b = binary.AppendVarint(b, micros)
		b = append(binary.AppendUvarint(b, uint64(len(ev.Kind))), ev.Kind...)
		b = append(binary.AppendUvarint(b, uint64(len(ev.Data))), ev.Data...)
	}
	return b
}

func sizeOf(events []Event) (size int) {
	for i := range events {
		size += 3*binary.MaxVarintLen32 + len(events[i].Kind) + len(events[i].Data)
	}
	return size
}

// encode packs events that were appended together.
func encode(events []Event) []byte {
	b := beginRun(make([]byte, 0, runHead+sizeOf(events)), events[0].Seq)
	return appendRun(b, events[0].At, events)
}

// afterHead is a run without the number of its first event.
func afterHead(run []byte) []byte {
	_, n := binary.Uvarint(run)
	return run[max(n, 0):]
}

// boundsOf tells the numbers of the first and the last event of a run.
func boundsOf(run []byte) (first, last int64, err error) {
	events, err := decode(run)
	if err != nil || len(events) == 0 {
		return 0, 0, errTorn
	}
	return events[0].Seq, events[len(events)-1].Seq, nil
}

// decode reads a run. The events share b's memory.
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
