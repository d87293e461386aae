package board

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/google/uuid"
)

// frameIDs are the ids of a connection's frames: UUIDs that differ in a counter.
// They need to be unique on their connection only, and a fresh one for each frame
// would cost more than the frame.
type frameIDs struct {
	base uuid.UUID
	last *atomic.Uint64
}

func newFrameIDs() frameIDs { return frameIDs{base: uuid.New(), last: new(atomic.Uint64)} }

// next is another id. The counter takes the place of the last six bytes.
func (f frameIDs) next() string {
	id := f.base
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], f.last.Add(1))
	copy(id[10:], n[2:])
	return id.String()
}
