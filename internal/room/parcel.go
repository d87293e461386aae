package room

import (
	"sync"

	"parley.internal/internal/bus"
)

// The roster of a full room is larger than a message of the bus may be. Such a frame
// travels in pieces, one after the other on the same subject, so that they arrive in
// order with the frames before and after it.

const (
	// pieceHead is left free in each piece for what stands before its data.
	pieceHead = 1 << 10
	// mostParcels may be under way to a hub at a time; the oldest gives way.
	mostParcels = 256
)

// piece says which part of which message this is.
type piece struct {
	ID string `json:"id"`
	At int    `json:"at"`
	Of int    `json:"of"`
}

func pieceSize(b bus.Bus) int { return max(b.MaxPayload()-pieceHead, pieceHead) }

// pieces cuts a message for the bus; most are whole.
func pieces(b bus.Bus, msg []byte) [][]byte {
	size := pieceSize(b)
	if len(msg) <= size {
		return [][]byte{msg}
	}
	id, of := shortID("m"), (len(msg)+size-1)/size
	out := make([][]byte, of)
	for at := range of {
		out[at] = head{Piece: &piece{ID: id, At: at, Of: of}}.message(msg[at*size : min((at+1)*size, len(msg))])
	}
	return out
}

// publish sends a message of any size.
func publish(b bus.Bus, subject string, msg []byte) error {
	for _, part := range pieces(b, msg) {
		if err := b.Publish(subject, part); err != nil {
			return err
		}
	}
	return nil
}

// parcels puts messages together that came in pieces.
type parcels struct {
	mu    sync.Mutex
	open  map[string]*parcel
	order []string
}

type parcel struct {
	next int
	data []byte
}

// read reads a message from the bus; ok is false as long as pieces are missing.
func (p *parcels) read(msg []byte) (h head, data []byte, ok bool) {
	h, data, err := readMessage(msg)
	if err != nil {
		return h, nil, false
	}
	if h.Piece == nil {
		return h, data, true
	}
	whole := p.add(h.Piece, data)
	if whole == nil {
		return h, nil, false
	}
	h, data, err = readMessage(whole)
	return h, data, err == nil && h.Piece == nil
}

// add takes a piece and gives the whole message with the last one. A message that
// lacks one is lost; the bus tells of that by itself.
func (p *parcels) add(at *piece, data []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	it := p.open[at.ID]
	if it == nil {
		if at.At != 0 || at.Of < 2 {
			return nil
		}
		it = &parcel{}
		p.start(at.ID, it)
	}
	if it.next != at.At {
		delete(p.open, at.ID)
		return nil
	}
	it.data = append(it.data, data...)
	it.next++
	if it.next < at.Of {
		return nil
	}
	delete(p.open, at.ID)
	return it.data
}

func (p *parcels) start(id string, it *parcel) {
	if p.open == nil {
		p.open = map[string]*parcel{}
	}
	p.open[id] = it
	p.order = append(p.order, id)
	if len(p.order) > mostParcels {
		delete(p.open, p.order[0])
		p.order = p.order[1:]
	}
}
