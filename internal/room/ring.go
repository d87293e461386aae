package room

import "strconv"

// The bounds of what a room replays to whoever comes back. A link must take that much at
// once, beside what is said meanwhile.
const (
	ReplayItems = 1000
	ReplayBytes = 8 << 20
)

// item is one accepted message: what goes out live and, marked as retained, to
// those who come later.
type item struct {
	seq      uint64
	from, to string
	c        []byte
	ts       int64
	now      bool // see Out.Now
	live     *Out
	kept     *Out
}

// out is the frame for a live reader or a replay.
func (it *item) out() *Out {
	if it.live == nil {
		it.live = &Out{Data: it.encode(false), Now: it.now, seq: it.seq}
	}
	return it.live
}

// retained is the frame for somebody who was not there.
func (it *item) retained() *Out {
	if it.kept == nil {
		it.kept = &Out{Data: it.encode(true)}
	}
	return it.kept
}

// encode writes the from frame around content that is known to be good JSON;
// ids hold nothing that needs escaping.
func (it *item) encode(retained bool) []byte {
	b := make([]byte, 0, len(it.c)+128)
	b = append(b, `{"t":"from","seq":`...)
	b = strconv.AppendUint(b, it.seq, 10)
	b = append(b, `,"ts":`...)
	b = strconv.AppendInt(b, it.ts, 10)
	b = append(b, `,"from":"`...)
	b = append(b, it.from...)
	if it.to != "" {
		b = append(b, `","to":"`...)
		b = append(b, it.to...)
	}
	b = append(b, `","c":`...)
	b = append(b, it.c...)
	if retained {
		b = append(b, `,"retained":true`...)
	}
	return append(b, '}')
}

// ring is the newest messages of a room, for those who come back.
type ring struct {
	items []*item
	bytes int
	// floor is the highest number that is no longer there.
	floor uint64
}

func (r *ring) add(it *item) {
	r.items = append(r.items, it)
	r.bytes += len(it.c)
	for len(r.items) > ReplayItems || r.bytes > ReplayBytes && len(r.items) > 1 {
		r.floor = r.items[0].seq
		r.bytes -= len(r.items[0].c)
		r.items[0] = nil
		r.items = r.items[1:]
	}
}

// empty forgets everything up to a number.
func (r *ring) empty(upTo uint64) { *r = ring{floor: upTo} }

// after gives the messages above a number, oldest first.
func (r *ring) after(since uint64) []*item {
	for i, it := range r.items {
		if it.seq > since {
			return r.items[i:]
		}
	}
	return nil
}
