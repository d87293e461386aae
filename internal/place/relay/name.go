package relay

import (
	"encoding/hex"
	"time"

	"parley.internal/internal/store"
)

// numBits leave room for a thousand messages a microsecond, until the year 2255.
const numBits = 10

// Numbers below this one were not made from the clock: they are of another database.
const firstClocked = int64(1) << 40

// name gives a message its number and its id. In SQLite the number comes from the
// clock, and the id says it: that saves an index. PostgreSQL counts for all hubs.
func (r *Relay) name(m *Message, now time.Time) {
	if r.d.DB.Dialect() != store.SQLite {
		m.ID = r.sharedID(now)
		return
	}
	r.last = max(r.last+1, store.Micros(now)<<numBits)
	m.Num, m.ID = r.last, idOf(uint64(r.last)) //nolint:gosec // not before 1970
}

// sharedID is a name that sorts by time, so that the newest are neighbours on disk:
// milliseconds, and a count that began at random, since other hubs count too.
func (r *Relay) sharedID(now time.Time) string {
	const bits = 22
	return idOf(uint64(now.UnixMilli())<<bits | r.named.Add(1)&(1<<bits-1)) //nolint:gosec // not before 1970
}

const idPrefix = "relay_"

func idOf(n uint64) string {
	raw := [8]byte{byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	text := make([]byte, 0, len(idPrefix)+2*len(raw))
	return string(hex.AppendEncode(append(text, idPrefix...), raw[:]))
}

// numOf is the number an id says; 0 when it says none.
func numOf(id string) int64 {
	if len(id) != len(idPrefix)+16 || id[:len(idPrefix)] != idPrefix {
		return 0
	}
	n := int64(0)
	for _, c := range []byte(id[len(idPrefix):]) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | int64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | int64(c-'a'+10)
		default:
			return 0
		}
	}
	return n
}
