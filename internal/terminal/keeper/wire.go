package keeper

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"parley.internal/protocol/viber"
)

// Version is what hub and keeper speak. A keeper stays as old as its terminal, so a hub
// may meet older ones than itself; hello and refused are the same in all versions.
const Version = 1

// kind is what a message is.
type kind string

const (
	hello   kind = "hello"   // hub: who I am; or, with Network, give me the box's way out
	refused kind = "refused" // keeper: no, and why
	welcome kind = "welcome" // keeper: where we stand; the body is what was shown
	output  kind = "output"  // keeper: printed, from At on
	typed   kind = "typed"   // keeper: the last input is with the program
	ended   kind = "ended"   // keeper: how the program ended, after the last output
	input   kind = "input"   // hub: to be typed
	ack     kind = "ack"     // hub: safe up to At; the body is what was shown of it
	resize  kind = "resize"  // hub: the window
	hangUp  kind = "hangup"  // hub: end the program
	kill    kind = "kill"    // hub: at once
	forget  kind = "forget"  // hub: the end was read
)

// message is one of them: a head as JSON, and bytes.
type message struct {
	Kind    kind                `json:"kind"`
	Version int                 `json:"version,omitzero"`
	Secret  string              `json:"secret,omitzero"`
	Network bool                `json:"network,omitzero"`
	Why     string              `json:"why,omitzero"`
	At      int64               `json:"at,omitzero"`
	Size    viber.Size          `json:"size,omitzero"`
	Exit    *viber.TerminalExit `json:"exit,omitzero"`
	Screen  viber.ScreenState   `json:"screen,omitzero"`
	Notes   json.RawMessage     `json:"notes,omitzero"`
	body    []byte
}

// Bounds of a message. Whoever has not said hello yet gets less.
const (
	maxHead  = 64 << 10
	maxBody  = 2 << 20
	maxHello = 4 << 10
)

var errTooLong = errors.New("a message between hub and keeper is too long")

// write sends a message: the lengths of head and body, head, body.
func write(w io.Writer, m message) error {
	head, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(head) > maxHead || len(m.body) > maxBody {
		return errTooLong
	}
	buf := make([]byte, 8, 8+len(head)+len(m.body))
	binary.BigEndian.PutUint32(buf, uint32(len(head)))
	binary.BigEndian.PutUint32(buf[4:], uint32(len(m.body)))
	buf = append(append(buf, head...), m.body...)
	_, err = w.Write(buf)
	return err
}

// read takes the next message, of at most most bytes.
func read(r io.Reader, most uint32) (m message, err error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return m, err
	}
	head, body := binary.BigEndian.Uint32(lengths[:]), binary.BigEndian.Uint32(lengths[4:])
	if head > min(maxHead, most) || body > min(maxBody, most) {
		return m, errTooLong
	}
	buf := make([]byte, head+body)
	if _, err := io.ReadFull(r, buf); err != nil {
		return m, err
	}
	if err := json.Unmarshal(buf[:head], &m); err != nil {
		return m, fmt.Errorf("a message between hub and keeper cannot be read: %w", err)
	}
	m.body = buf[head:]
	return m, nil
}
