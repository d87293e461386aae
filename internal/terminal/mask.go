package terminal

import (
	"bytes"
	"slices"
)

const (
	// minSecret keeps words that occur everywhere from being taken for secrets.
	minSecret = 8
	// mostShown is how much of what may become a secret is shown when nothing more
	// comes for a while: somebody types, and wants to see it. Beyond it, it is
	// held until it is clear what it is.
	mostShown = 3
)

var masked = []byte("[masked]")

// masker replaces secrets in a stream, however it is cut up.
type masker struct {
	secrets [][]byte // longest first
	// held may be the beginning of a secret; the first shown bytes of it are out already.
	held  []byte
	shown int
}

func newMasker(secrets []string) *masker {
	m := &masker{}
	for _, s := range secrets {
		if len(s) >= minSecret {
			m.secrets = append(m.secrets, []byte(s))
		}
	}
	slices.SortFunc(m.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

// push takes output and returns what may be shown of it.
func (m *masker) push(data []byte) []byte { return m.replace(data, false) }

// end shows what is left: the stream is over, so nothing grows any more.
func (m *masker) end() []byte { return m.replace(nil, true) }

func (m *masker) replace(data []byte, last bool) []byte {
	if len(m.secrets) == 0 {
		return data
	}
	buf := append(m.held, data...)
	var out []byte
	skip := m.shown // bytes at the front of buf that are out already
	emit := func(part []byte) {
		n := min(skip, len(part))
		skip -= n
		out = append(out, part[n:]...)
	}
	for at, n := m.find(buf, last); n > 0; at, n = m.find(buf, last) {
		emit(buf[:at])
		skip = 0
		out = append(out, masked...)
		buf = buf[at+n:]
	}
	keep := 0
	if !last {
		keep = m.begins(buf)
	}
	emit(buf[:len(buf)-keep])
	m.held, m.shown = slices.Clone(buf[len(buf)-keep:]), skip
	return out
}

// find is the first secret in buf, the longest if several begin there. Unless
// nothing more comes, one that may grow into a longer one is left for later.
func (m *masker) find(buf []byte, last bool) (at, n int) {
	at = len(buf)
	for _, s := range m.secrets {
		if i := bytes.Index(buf, s); i >= 0 && i < at {
			at, n = i, len(s)
		}
	}
	if n > 0 && !last && slices.ContainsFunc(m.secrets, func(s []byte) bool {
		return len(s) > len(buf)-at && bytes.HasPrefix(s, buf[at:])
	}) {
		return 0, 0
	}
	return at, n
}

// begins is how many bytes at the end of buf may be the beginning of a secret.
func (m *masker) begins(buf []byte) int {
	longest := 0
	for _, s := range m.secrets {
		for n := min(len(s)-1, len(buf)); n > longest; n-- {
			if bytes.HasPrefix(s, buf[len(buf)-n:]) {
				longest = n
				break
			}
		}
	}
	return longest
}

// waiting reports whether relent would show something.
func (m *masker) waiting() bool { return m.shown < len(m.held) && len(m.held) <= mostShown }

// relent shows a short beginning when nothing more came.
func (m *masker) relent() []byte {
	if !m.waiting() {
		return nil
	}
	out := m.held[m.shown:]
	m.shown = len(m.held)
	return out
}

// whole masks a text that is complete.
func (m *masker) whole(text string) string { return string(append(m.push([]byte(text)), m.end()...)) }
