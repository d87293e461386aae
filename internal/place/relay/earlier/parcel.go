package earlier

import (
	"encoding/binary"
	"errors"
)

// Kind is what a record of a parcel says.
type Kind byte

// The kinds.
const (
	Came  Kind = 1 // a message entered its queue
	Gone  Kind = 2 // one was handed out
	Moved Kind = 3 // one has a row of its own since
	Noted Kind = 4 // the audit is told something else
	Fated Kind = 5 // one was handed out that can be asked for
)

const (
	parcelVersion = 1
	bundleVersion = 2
)

// ErrUnreadable says that something is no parcel.
var ErrUnreadable = errors.New("relay: a parcel of an earlier release cannot be read")

// Parcel is what one turn of an earlier release did. Logged says that only the log has
// it.
type Parcel struct {
	Num, At int64
	Body    []byte
	Logged  bool
}

// Record is one thing that happened. Times are microseconds; a message that is gone has
// no blob, one that moved only its number. Of what was noted there are the action, the
// two agents, the id, and a detail instead of a key.
type Record struct {
	Kind                               Kind
	Num, Size, Created, Expires        int64
	Proven, Tracked                    bool
	Sender, Recipient, Type, Hash, Key string
	Blob                               []byte
	Action, ID, Detail                 string
}

// Parcels reads a row of place_parcels: one parcel, or several that follow each other.
func Parcels(num, at int64, row []byte) (out []Parcel, err error) {
	if len(row) == 0 {
		return nil, ErrUnreadable
	}
	if row[0] != bundleVersion {
		return []Parcel{{Num: num, At: at, Body: row}}, nil
	}
	r := &reader{rest: row[1:]}
	for len(r.rest) > 0 {
		p := Parcel{Num: r.number(), At: r.number(), Body: r.bytes()}
		if r.bad {
			return nil, ErrUnreadable
		}
		out = append(out, p)
	}
	return out, nil
}

// Records reads a parcel, in the order in which things happened. Blobs are parts of it.
func (p Parcel) Records() (out []Record, err error) {
	if len(p.Body) == 0 || p.Body[0] != parcelVersion {
		return nil, ErrUnreadable
	}
	for r := (&reader{rest: p.Body[1:]}); len(r.rest) > 0; {
		rec := r.record()
		if r.bad {
			return nil, ErrUnreadable
		}
		out = append(out, rec)
	}
	return out, nil
}

type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) record() (m Record) {
	m.Kind, r.rest = Kind(r.rest[0]), r.rest[1:]
	switch m.Kind {
	case Came:
		m.Num = r.number()
		flags := r.number()
		m.Proven, m.Tracked = flags&1 != 0, flags&2 != 0
		m.Created, m.Expires = r.number(), r.number()
		m.Sender, m.Recipient, m.Type, m.Hash, m.Key = r.text(), r.text(), r.text(), r.text(), r.text()
		m.Blob = r.bytes()
		m.Size = int64(len(m.Blob))
	case Gone:
		m.Num, m.Size = r.number(), r.number()
		m.Sender, m.Recipient, m.Type, m.Hash = r.text(), r.text(), r.text(), r.text()
	case Fated:
		m.Num, m.Size, m.Proven, m.Tracked = r.number(), r.number(), r.number() != 0, true
		m.Created, m.Expires = r.number(), r.number()
		m.Sender, m.Recipient, m.Type, m.Hash, m.Key = r.text(), r.text(), r.text(), r.text(), r.text()
	case Moved:
		m.Num = r.number()
	case Noted:
		m.Size = r.number()
		r.text() // always about the relay
		m.Action, m.Sender, m.Recipient, m.ID, m.Type, m.Hash, m.Detail = r.text(), r.text(), r.text(), r.text(), r.text(), r.text(), r.text()
	default:
		r.bad = true
	}
	return m
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) bytes() []byte {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) {
		r.rest, r.bad = nil, true
		return nil
	}
	out := r.rest[size : size+int(n)] //nolint:gosec // not more than there is
	r.rest = r.rest[size+int(n):]     //nolint:gosec // as above
	return out
}
