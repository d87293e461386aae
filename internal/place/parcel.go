package place

import (
	"encoding/binary"
	"errors"

	"parley/internal/store"
	"parley/protocol/mmp/board"
)

// A parcel is what one turn of the group did, packed into one piece: the less a turn
// writes, the sooner it is on the disk. Its records are in the order in which things
// happened.
const (
	parcelVersion = 1

	recMessage = 1 // a message entered its queue
	recGone    = 2 // one was handed out
	recMoved   = 3 // one has a row of its own from now on
	recNote    = 4 // the audit is told something else
	recFate    = 5 // one was handed out that can be asked for, and has no row yet
)

var errParcel = errors.New("place: a parcel cannot be read")

// record is one of a parcel, and where in it it begins. A message that is gone has no
// blob, one that moved only its number.
type record struct {
	kind byte
	off  int
	m    *message
	note auditRow
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

func appendMessage(to []byte, m *message) []byte {
	to = binary.AppendVarint(append(to, recMessage), m.num)
	to = binary.AppendVarint(to, store.Bool(m.proven)|store.Bool(m.tracked)<<1)
	to = binary.AppendVarint(to, store.Micros(m.created))
	to = binary.AppendVarint(to, store.Micros(m.expires))
	for _, s := range [...]string{m.sender, m.recipient, m.kind, m.hash, m.idem} {
		to = appendText(to, s)
	}
	return append(binary.AppendUvarint(to, uint64(len(m.blob))), m.blob...)
}

// appendGone says what the audit needs to know: the parcel with the message may be
// forgotten before this one.
func appendGone(to []byte, m *message) []byte {
	to = binary.AppendVarint(append(to, recGone), m.num)
	to = binary.AppendVarint(to, m.size)
	for _, s := range [...]string{m.sender, m.recipient, m.kind, m.hash} {
		to = appendText(to, s)
	}
	return to
}

// appendFate is appendGone with what the message's row has to say later.
func appendFate(to []byte, m *message) []byte {
	to = binary.AppendVarint(append(to, recFate), m.num)
	to = binary.AppendVarint(to, m.size)
	to = binary.AppendVarint(to, store.Bool(m.proven))
	to = binary.AppendVarint(to, store.Micros(m.created))
	to = binary.AppendVarint(to, store.Micros(m.expires))
	for _, s := range [...]string{m.sender, m.recipient, m.kind, m.hash, m.idem} {
		to = appendText(to, s)
	}
	return to
}

func appendMoved(to []byte, m *message) []byte {
	return binary.AppendVarint(append(to, recMoved), m.num)
}

func appendNote(to []byte, e *auditRow) []byte {
	to = binary.AppendVarint(append(to, recNote), e.size)
	for _, s := range [...]string{e.event, e.action, e.agent, e.other, e.ref, e.kind, e.hash, e.detailRaw} {
		to = appendText(to, s)
	}
	return to
}

// eachRecord reads a parcel. Blobs are parts of it, not copies.
func eachRecord(body []byte, do func(record) error) error {
	if len(body) == 0 || body[0] != parcelVersion {
		return errParcel
	}
	r := &parcelReader{rest: body[1:]}
	for len(r.rest) > 0 && !r.bad {
		off := len(body) - len(r.rest)
		rec := r.record()
		rec.off = off
		if r.bad {
			break
		}
		if err := do(rec); err != nil {
			return err
		}
	}
	if r.bad {
		return errParcel
	}
	return nil
}

// eachFresh reads only where messages are, and the numbers of those that left: at a
// start there may be many.
func eachFresh(body []byte, do func(num int64, m *fresh)) error {
	if len(body) == 0 || body[0] != parcelVersion {
		return errParcel
	}
	r := &parcelReader{rest: body[1:]}
	for len(r.rest) > 0 && !r.bad {
		if r.rest[0] == recMessage {
			off := len(body) - len(r.rest)
			r.rest = r.rest[1:]
			if m := r.fresh(off); !r.bad {
				do(m.num, m)
			}
		} else if rec := r.record(); !r.bad && rec.m != nil {
			do(rec.m.num, nil)
		}
	}
	if r.bad {
		return errParcel
	}
	return nil
}

// messageAt reads one message of a parcel.
func messageAt(body []byte, off uint32) (*message, error) {
	if uint64(off) >= uint64(len(body)) {
		return nil, errParcel
	}
	r := &parcelReader{rest: body[off:]}
	rec := r.record()
	if r.bad || rec.kind != recMessage {
		return nil, errParcel
	}
	return rec.m, nil
}

type parcelReader struct {
	rest []byte
	bad  bool
}

func (r *parcelReader) record() record {
	rec := record{kind: r.rest[0]}
	r.rest = r.rest[1:]
	switch rec.kind {
	case recMessage:
		rec.m = r.message()
	case recGone:
		rec.m = &message{num: r.number(), size: r.number(), sender: r.text(), recipient: r.text(), kind: r.text(), hash: r.text()}
	case recFate:
		rec.m = r.fate()
	case recMoved:
		rec.m = &message{num: r.number()}
	case recNote:
		rec.note = auditRow{
			size: r.number(), event: r.text(), action: r.text(), agent: r.text(), other: r.text(), ref: r.text(), kind: r.text(),
			hash: r.text(), detailRaw: r.text(),
		}
	default:
		r.bad = true
	}
	if rec.m != nil {
		rec.m.id = idOf(uint64(rec.m.num)) //nolint:gosec // it was made from one
	}
	return rec
}

func (r *parcelReader) message() *message {
	m := &message{num: r.number()}
	flags := r.number()
	m.proven, m.tracked = flags&1 != 0, flags&2 != 0
	m.created, m.expires = store.Time(r.number()), store.Time(r.number())
	m.changed = m.created
	m.sender, m.recipient, m.kind, m.hash, m.idem = r.text(), r.text(), r.text(), r.text(), r.text()
	m.blob = r.bytes()
	m.size = int64(len(m.blob))
	return m
}

// fresh is message for those who only want to find it.
func (r *parcelReader) fresh(off int) *fresh {
	m := &fresh{num: r.number(), off: uint32(off)} //nolint:gosec // parcels are small
	tracked := r.number()&2 != 0
	r.number() // when it was made
	m.expires = r.number()
	sender := r.bytes()
	m.recipient = r.text()
	r.bytes() // kind
	r.bytes() // hash
	idem := r.bytes()
	m.size = uint32(len(r.bytes())) //nolint:gosec // as above
	if tracked {
		m.named = &[2]string{string(sender), string(idem)}
	}
	return m
}

func (r *parcelReader) fate() *message {
	m := &message{num: r.number(), size: r.number(), tracked: true}
	m.proven = r.number() != 0
	m.created, m.expires = store.Time(r.number()), store.Time(r.number())
	m.sender, m.recipient, m.kind, m.hash, m.idem = r.text(), r.text(), r.text(), r.text(), r.text()
	return m
}

func (r *parcelReader) number() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *parcelReader) text() string { return string(r.bytes()) }

func (r *parcelReader) bytes() []byte {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) {
		r.rest, r.bad = nil, true
		return nil
	}
	out := r.rest[size : size+int(n)] //nolint:gosec // not more than there is
	r.rest = r.rest[size+int(n):]     //nolint:gosec // as above
	return out
}

// entry is what the audit says of a record, if anything.
func (r *record) entry(at int64) (auditRow, bool) {
	switch r.kind {
	case recMessage, recGone, recFate:
		action := actDequeue
		if r.kind == recMessage {
			action = actEnqueue
		}
		m := r.m
		return auditRow{
			at: at, event: board.AuditRelay, action: action, agent: m.sender, other: m.recipient, ref: m.id, kind: m.kind, size: m.size, hash: m.hash,
		}, true
	case recNote:
		r.note.at = at
		return r.note, true
	}
	return auditRow{}, false
}
