package room

import (
	"sync"

	"parley.internal/protocol/kibitz"
)

// Out is a frame on its way to one or many connections, encoded once.
type Out struct {
	// Data is the frame's text; do not change it.
	Data []byte
	// Newest, if not empty, says that only the newest frame of this key need wait
	// for a slow reader.
	Newest string
	// Now says that few get it and nothing else is to be done, so that it is best
	// written at once.
	Now bool

	seq  uint64 // of a live message
	once sync.Once
	wire any
}

// Wire is what prepare makes of the data, made once for all connections.
func (o *Out) Wire(prepare func(data []byte) any) any {
	o.once.Do(func() { o.wire = prepare(o.Data) })
	return o.wire
}

// encode writes a frame. Our own frames always encode; one that does not is a
// mistake in this package, and is seen as an empty frame by the tests.
func encode(f kibitz.Frame) *Out {
	data, err := kibitz.Encode(f)
	if err != nil {
		data = []byte(`{"t":"pong"}`)
	}
	o := &Out{Data: data}
	switch f.(type) {
	case *kibitz.Roster:
		o.Newest = "roster"
	case *kibitz.Caps:
		o.Newest = "caps"
	}
	return o
}
