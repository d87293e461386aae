package sandbox

import (
	"bytes"
	"strings"
	"sync"
)

// Tail keeps the end of what a program writes to its error output: when it fails, that is
// usually why. The zero value is ready.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

const keepTail = 2 << 10

// Write takes more of it.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*keepTail {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keepTail:]...)
	}
	return len(p), nil
}

// String is the end so far.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf
	if len(b) > keepTail {
		b = b[len(b)-keepTail:]
	}
	return strings.ToValidUTF8(string(bytes.TrimSpace(b)), "\uFFFD")
}
