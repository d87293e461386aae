package owner

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// MaxBody is the largest question or answer: a machine's largest result, and room
	// for what it is wrapped in.
	MaxBody = 64 << 20
	// headRoom is what a message keeps free for its head: names and an error's text.
	headRoom = 8 << 10
	// keepFor is how long a large answer waits to be fetched.
	keepFor = time.Minute
)

// kept are bodies too large for one message. Whoever receives the beginning fetches
// the rest, piece by piece.
type kept struct {
	mu   sync.Mutex
	open map[string][]byte
}

// keep holds a body under a name until drop.
func (k *kept) keep(name string, body []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil {
		k.open = map[string][]byte{}
	}
	k.open[name] = body
}

func (k *kept) drop(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, name)
}

// piece is the part of a body that begins there; nil if there is none. The last one
// ends the body's stay.
func (k *kept) piece(name string, from int64, size int) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	body := k.open[name]
	if from >= int64(len(body)) {
		return nil
	}
	if from+int64(size) >= int64(len(body)) {
		delete(k.open, name)
		return body[from:]
	}
	return body[from : from+int64(size)]
}

// pieceSize is how much of a body fits one message.
func (p *post) pieceSize() int {
	most := p.d.Bus.MaxPayload()
	return most - min(headRoom, most/2)
}

// offer makes a message of a body of any size. The rest of a large one is kept under
// the question's name.
func (p *post) offer(h head, name string, body []byte) (msg []byte, large bool, err error) {
	if len(body) > MaxBody {
		return nil, false, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(body))
	}
	first := body
	if large = len(body) > p.pieceSize(); large {
		p.kept.keep(name, body)
		h.Size, first = len(body), body[:p.pieceSize()]
	}
	msg, err = h.message(first)
	return msg, large, err
}

// whole is the body of a message, after the rest was fetched from whoever sent it.
func (p *post) whole(ctx context.Context, from, name string, h head, body []byte) ([]byte, error) {
	if h.Size <= len(body) {
		return body, nil
	}
	all := append(make([]byte, 0, h.Size), body...)
	for len(all) < h.Size {
		msg, err := head{Op: opMore, From: p.hub, Ask: name, At: int64(len(all))}.message(nil)
		if err != nil {
			return nil, err
		}
		raw, err := p.d.Bus.Request(ctx, p.subject(from), msg)
		if err != nil {
			return nil, err
		}
		_, piece, err := parse(raw)
		if err != nil {
			return nil, err
		}
		if len(piece) == 0 || len(all)+len(piece) > h.Size {
			return nil, fmt.Errorf("%w: its words are not there any more", ErrSilent)
		}
		all = append(all, piece...)
	}
	return all, nil
}
