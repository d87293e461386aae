package work

import (
	"encoding/binary"
	"slices"

	"parley.internal/internal/eventlog"
	"parley.internal/protocol/viber"
)

// textsKind marks text deltas of one turn that were merged in the log: their data is
// the turn, how many there were, how long each was, and their text. The lengths are
// what makes it possible to go on after any of them.
const textsKind = "texts"

// texts are neighbouring text deltas of one turn.
type texts struct {
	turn   uint64
	first  int64 // the number of the first
	pieces []int
	text   []byte
}

// readTexts reads a logged text delta, or a merged one, without what the reader has
// already: the deltas up to the number after. ok is false for every other event.
func readTexts(e eventlog.Event, after int64) (x texts, ok bool, err error) {
	switch e.Kind {
	case textKind:
		turn, n := binary.Uvarint(e.Data)
		if n <= 0 || turn > 1<<31 {
			return x, true, errTorn
		}
		return texts{turn: turn, first: e.Seq, pieces: []int{len(e.Data) - n}, text: e.Data[n:]}, true, nil
	case textsKind:
		x, err = splitTexts(e)
		x.skip(after)
		return x, true, err
	}
	return x, false, nil
}

func splitTexts(e eventlog.Event) (x texts, err error) {
	rest := e.Data
	number := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > 1<<31 {
			err, rest = errTorn, nil
			return 0
		}
		rest = rest[n:]
		return v
	}
	x.turn, x.first = number(), e.From
	count := number()
	if err != nil || e.From <= 0 || int64(count) != e.Seq-e.From+1 || count > uint64(len(rest)) {
		return x, errTorn
	}
	x.pieces = make([]int, count)
	total := 0
	for i := range x.pieces {
		x.pieces[i] = int(number())
		total += x.pieces[i]
	}
	if err != nil || total != len(rest) {
		return texts{}, errTorn
	}
	x.text = rest
	return x, nil
}

// skip forgets the deltas up to a number.
func (x *texts) skip(after int64) {
	n, size := 0, 0
	for ; n < len(x.pieces) && x.first+int64(n) <= after; n++ {
		size += x.pieces[n]
	}
	x.first, x.pieces, x.text = x.first+int64(n), x.pieces[n:], x.text[size:]
}

// last is the number of the last delta.
func (x *texts) last() int64 { return x.first + int64(len(x.pieces)) - 1 }

// join adds, to texts of one's own, the deltas that follow, unless they are of another turn or too many.
func (x *texts) join(next *texts, most int) bool {
	if x.turn != next.turn || x.last()+1 != next.first || len(x.text)+len(x.pieces)+len(next.text)+len(next.pieces) > most {
		return false
	}
	x.pieces, x.text = append(x.pieces, next.pieces...), append(x.text, next.text...)
	return true
}

// own makes a copy that others can be joined to.
func (x *texts) own() texts {
	return texts{turn: x.turn, first: x.first, pieces: slices.Clone(x.pieces), text: slices.Clone(x.text)}
}

// delta is all of it as clients get it.
func (x *texts) delta() *viber.TaskDelta {
	d := &viber.TaskDelta{TaskRef: viber.TaskRef{Seq: x.last(), Turn: int(x.turn)}, DeltaType: viber.DeltaText, Text: string(x.text)}
	if len(x.pieces) > 1 {
		d.FromSeq = x.first
	}
	return d
}

// event is the logged form of merged deltas.
func (x *texts) event() eventlog.Event {
	data := binary.AppendUvarint(make([]byte, 0, len(x.text)+2*len(x.pieces)+8), x.turn)
	data = binary.AppendUvarint(data, uint64(len(x.pieces)))
	for _, n := range x.pieces {
		data = binary.AppendUvarint(data, uint64(n))
	}
	return eventlog.Event{Seq: x.last(), From: x.first, Kind: textsKind, Data: append(data, x.text...)}
}
