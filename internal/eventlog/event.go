package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/store"
)

// Event is one entry of a stream. Seq and At are set by the log.
type Event struct {
	Seq  int64
	At   time.Time
	Kind string
	Data []byte
	// From is set by Condense: the event stands for all from this number to Seq.
	// 0 is an event as it was appended.
	From int64
}

// first is the number of the first event that this one stands for.
func (e *Event) first() int64 {
	if e.From > 0 {
		return e.From
	}
	return e.Seq
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

// maxSeq is a number no stream reaches. Beyond it counting on from a number that somebody made up
// could leave the range of integers.
const maxSeq = 1 << 62

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
	c := cursor{}
	if err := c.begin(run); err != nil {
		return 0, 0, err
	}
	first = c.seq
	for c.more() {
		if _, err := c.next(); err != nil {
			return 0, 0, err
		}
	}
	if c.seq == first {
		return 0, 0, errTorn
	}
	return first, c.seq - 1, nil
}

// decode reads a run. The events share b's memory.
func decode(b []byte) ([]Event, error) {
	c := cursor{}
	if err := c.begin(b); err != nil {
		return nil, err
	}
	var events []Event
	for c.more() {
		ev, err := c.next()
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// cursor walks through runs. It remembers the last kind, since most events of a
// stream are of one: a text for each would be most of the memory a reader needs.
type cursor struct {
	b    []byte
	seq  int64 // of the next event
	kind string
}

func (c *cursor) begin(run []byte) error {
	seq, n := binary.Uvarint(run)
	if n <= 0 || seq > maxSeq {
		return errTorn
	}
	c.seq, c.b = int64(seq), run[n:]
	return nil
}

func (c *cursor) more() bool { return len(c.b) > 0 }

func (c *cursor) next() (ev Event, err error) {
	at, n := binary.Varint(c.b)
	if n <= 0 {
		return ev, errTorn
	}
	kind, rest, ok := cut(c.b[n:])
	if !ok {
		return ev, errTorn
	}
	data, rest, ok := cut(rest)
	if !ok {
		return ev, errTorn
	}
	if string(kind) != c.kind {
		c.kind = string(kind)
	}
	ev = Event{Seq: c.seq, At: store.Time(at), Kind: c.kind, Data: data}
	if covers, plain, ok := cutCover(c.kind); ok {
		ev.From, ev.Seq, ev.Kind = c.seq, c.seq+covers-1, plain
	}
	c.seq, c.b = ev.Seq+1, rest
	return ev, nil
}

// coverMark begins the stored kind of an event that stands for several: the mark,
// how many, the mark, its kind.
const coverMark = "~"

// storedKind is the kind as it is written.
func storedKind(e *Event) string {
	if e.From <= 0 {
		return e.Kind
	}
	return coverMark + strconv.FormatInt(e.Seq-e.From+1, 10) + coverMark + e.Kind
}

func cutCover(kind string) (covers int64, plain string, ok bool) {
	rest, ok := strings.CutPrefix(kind, coverMark)
	if !ok {
		return 0, kind, false
	}
	count, plain, ok := strings.Cut(rest, coverMark)
	covers, err := strconv.ParseInt(count, 10, 40)
	if !ok || err != nil || covers < 1 {
		return 0, kind, false
	}
	return covers, plain, true
}

func cut(b []byte) (field, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}
