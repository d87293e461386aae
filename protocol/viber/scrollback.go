package viber

import (
	"bytes"
	"unicode/utf8"
)

// Scrollback keeps the last bytes a terminal printed, for viewers that come
// later. It never begins inside an escape sequence or a character, and begins at
// a line where there is one, so that what is replayed looks as it did.
type Scrollback struct {
	limit int
	buf   []byte
	end   int64
	// lost says that output before buf was dropped.
	lost bool
	// inside is the state after a sequence so long that its beginning had to go:
	// the rest of it is dropped as well.
	inside escape
}

// NewScrollback keeps up to limit bytes.
func NewScrollback(limit int) *Scrollback { return &Scrollback{limit: limit} }

// Append adds raw output.
func (s *Scrollback) Append(raw []byte) {
	s.end += int64(len(raw))
	if s.inside != ground {
		raw = s.skipRest(raw)
	}
	s.buf = append(s.buf, raw...)
	// Not at once: finding a safe place reads all that is kept.
	if len(s.buf) > s.limit+s.limit/4 {
		s.trim()
	}
}

// Bytes returns what is kept, at most limit bytes. They are valid until the next call.
func (s *Scrollback) Bytes() []byte {
	s.trim()
	return s.buf
}

// Since returns what came after a raw byte position, and where it begins: later
// than asked when some of it is gone. More than limit bytes may be there. They
// are valid until the next call.
func (s *Scrollback) Since(offset int64) (raw []byte, from int64) {
	from = min(max(offset, s.Start()), s.end)
	return s.buf[from-s.Start():], from
}

// Start is the raw byte position of the first byte kept, End that after the last.
func (s *Scrollback) Start() int64 { return s.end - int64(len(s.buf)) }

// End is the raw byte position after the last byte.
func (s *Scrollback) End() int64 { return s.end }

// Truncated reports whether earlier output is gone.
func (s *Scrollback) Truncated() bool { return s.lost }

// ScreenState is what a scrollback remembers besides its bytes.
type ScreenState struct {
	End    int64 `json:"end,omitzero"`
	Lost   bool  `json:"lost,omitzero"`
	Inside int   `json:"inside,omitzero"`
}

// State is the whole of it, for [ScrollbackAt]. The bytes are the caller's.
func (s *Scrollback) State() (ScreenState, []byte) {
	return ScreenState{End: s.end, Lost: s.lost, Inside: int(s.inside)}, bytes.Clone(s.buf)
}

// ScrollbackAt goes on where another stood.
func ScrollbackAt(limit int, at ScreenState, kept []byte) *Scrollback {
	inside := escape(at.Inside)
	if inside < ground || inside > textEscaped {
		inside = ground
	}
	return &Scrollback{limit: limit, buf: kept, end: at.End, lost: at.Lost, inside: inside}
}

func (s *Scrollback) skipRest(raw []byte) []byte {
	for i, b := range raw {
		if s.inside = s.inside.next(b); s.inside == ground {
			return raw[i+1:]
		}
	}
	return nil
}

func (s *Scrollback) trim() {
	cut, state := trimPoint(s.buf, s.limit)
	if cut == 0 {
		return
	}
	s.lost = true
	s.inside = state
	s.buf = append(s.buf[:0], s.buf[cut:]...)
}

// TrimPoint returns where to cut buf so that at most keep bytes remain: at the
// first line start that leaves few enough, else between two characters, and never
// inside an escape sequence. buf itself begins outside one. When nothing else is
// left, all of buf goes.
func TrimPoint(buf []byte, keep int) int {
	cut, _ := trimPoint(buf, keep)
	return cut
}

// trimPoint also returns the state in which a buf that is cut off whole ends.
func trimPoint(buf []byte, keep int) (int, escape) {
	earliest := len(buf) - keep
	if earliest <= 0 {
		return 0, ground
	}
	state, between := ground, -1
	for i, b := range buf {
		if i >= earliest && state == ground {
			if i > 0 && buf[i-1] == '\n' {
				return i, ground
			}
			if between < 0 && utf8.RuneStart(b) {
				between = i
			}
		}
		state = state.next(b)
	}
	if between >= 0 {
		return between, ground
	}
	return len(buf), state
}

// escape is where a terminal's parser is: outside of any sequence or in one.
type escape int

const (
	ground escape = iota
	// escaped: after ESC, perhaps with intermediate bytes.
	escaped
	// csi: in a control sequence, up to its final byte.
	csi
	// osc: in a command that BEL or ST ends, such as a title or a link.
	osc
	// text: in a string that only ST ends, such as an image.
	text
	// oscEscaped, textEscaped: after an ESC in one of those.
	oscEscaped
	textEscaped
)

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
)

// next is the state after one more byte.
func (e escape) next(b byte) escape {
	if b == can || b == sub {
		return ground
	}
	switch e {
	case escaped:
		return afterEscape(b)
	case csi:
		return inCSI(b)
	case osc, text:
		return e.inString(b)
	case oscEscaped, textEscaped:
		// ESC \ ends the string; any other sequence breaks it off and begins.
		if b == '\\' {
			return ground
		}
		return afterEscape(b)
	}
	if b == esc {
		return escaped
	}
	return ground
}

func afterEscape(b byte) escape {
	switch {
	case b == '[':
		return csi
	case b == ']':
		return osc
	case bytes.IndexByte([]byte("PX^_"), b) >= 0:
		return text
	case b == esc, b < 0x30: // intermediates, and controls, which are carried out on the way
		return escaped
	}
	return ground
}

func inCSI(b byte) escape {
	switch {
	case b == esc:
		return escaped
	case b >= 0x40 && b != 0x7f:
		return ground
	}
	return csi
}

func (e escape) inString(b byte) escape {
	switch {
	case b == bel && e == osc:
		return ground
	case b == esc && e == osc:
		return oscEscaped
	case b == esc:
		return textEscaped
	}
	return e
}
