package room

import (
	"bytes"
	"sync"

	"parley.internal/protocol/kibitz"
)

// unanswered are the numbered messages a connection sent to the hub that has the
// room, and that were not answered yet. If another hub has the room next, nobody
// knows whether they were heard: then the connection ends, as it would have with
// the hub, and its client resumes and sends them again under their ids.
type unanswered struct {
	mu      sync.Mutex
	numbers map[int64]struct{}
}

// sent notes a frame that will be answered.
func (u *unanswered) sent(in *inbound) {
	n := in.frame.Number()
	if in.m == nil || n == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.numbers == nil {
		u.numbers = map[int64]struct{}{}
	}
	u.numbers[n] = struct{}{}
}

// heard strikes out what a frame of the room answers.
func (u *unanswered) heard(data []byte) {
	if !bytes.HasPrefix(data, []byte(`{"t":"ack"`)) && !bytes.HasPrefix(data, []byte(`{"t":"nak"`)) {
		return
	}
	f, err := kibitz.DecodeHub(data)
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch f := f.(type) {
	case *kibitz.Ack:
		delete(u.numbers, f.N)
	case *kibitz.Nak:
		delete(u.numbers, f.N)
	}
}

func (u *unanswered) any() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.numbers) > 0
}
