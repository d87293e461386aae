package wsconn

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

const (
	// readBuffer holds most control and request messages whole; larger ones are read straight to where
	// they are assembled. Every idle connection keeps one, so it is small.
	readBuffer = 1 << 10
	// oversizeHead is how much of a skipped message the handler is shown.
	oversizeHead = 1 << 10
)

// errRefused ends the library's read loop; stream.refused says why.
var errRefused = errors.New("wsconn: refused")

// stream stands between the socket and gws, as the net.Conn gws believes it has.
//
// Inbound it follows the frame headers, one frame at a time: gws never sees bytes of a frame before it has dealt with
// the one before, so limits are those of the moment. A message above the limit is shown to gws shortened
// (header rewritten, rest skipped), or ends the stream. Lengths that gws would take for negative numbers, and
// payloads it would store only to refuse, never get to it.
//
// Outbound, after the handshake, gws only wants to send close frames and hang up, at moments and in ways that
// do not respect the queue or a stuck peer. Both are noted and not done; Conn does its own.
type stream struct {
	raw  net.Conn
	conn *Conn

	established bool
	closeNote   []byte // the payload of the close frame gws wanted to send
	refused     *Close // why Read returned errRefused
	readErr     error  // why gws stopped reading

	buf  []byte
	r, w int

	header    [14]byte // the current frame's, as gws shall see it
	hr, hw    int
	left      int64 // payload of the current frame that gws shall see
	skip      int64 // payload of the current frame after that
	size      int64 // payload of the current message so far
	fragment  bool  // between the frames of a message
	skipping  bool  // the rest of the message is skipped
	oversized bool  // the message gws will deliver next is only the head of one
}

// Read hands gws bytes of at most one frame.
func (s *stream) Read(p []byte) (int, error) {
	for {
		switch {
		case s.hr < s.hw:
			n := copy(p, s.header[s.hr:s.hw])
			s.hr += n
			return n, nil
		case s.left > 0:
			return s.readPayload(p)
		case s.skip > 0:
			if err := s.skipSome(); err != nil {
				return 0, err
			}
		default:
			if err := s.nextFrame(); err != nil {
				return 0, err
			}
		}
	}
}

func (s *stream) readPayload(p []byte) (n int, err error) {
	p = p[:min(int64(len(p)), s.left)]
	switch {
	case s.r < s.w:
		n = copy(p, s.buf[s.r:s.w])
		s.r += n
	case len(p) >= len(s.buf):
		n, err = s.receive(p)
	default:
		if err = s.fill(); err == nil {
			n = copy(p, s.buf[s.r:s.w])
			s.r += n
		}
	}
	s.left -= int64(n)
	return n, err
}

func (s *stream) skipSome() error {
	if s.r == s.w {
		big := scratch.Get().(*[scratchSize]byte)
		defer scratch.Put(big)
		n, err := s.receive(big[:min(s.skip, scratchSize)])
		s.skip -= int64(n)
		return err
	}
	n := int(min(s.skip, int64(s.w-s.r)))
	s.r += n
	s.skip -= int64(n)
	return nil
}

// nextFrame reads a header and decides what gws shall see of its frame.
func (s *stream) nextFrame() error {
	h, err := s.readHeader()
	if err != nil {
		return err
	}
	switch {
	case h.length < 0 || !h.masked:
		return s.refuse(Close{CodeProtocol, "bad frame"})
	case h.opcode >= opClose:
		s.show(h, h.length)
		return nil
	case (h.opcode == 0) != s.fragment:
		return s.refuse(Close{CodeProtocol, "bad fragment"})
	}
	return s.dataFrame(h)
}

func (s *stream) dataFrame(h frameHeader) error {
	if h.opcode != 0 {
		s.size = 0
		s.conn.begun.Store(0)
	}
	s.fragment = !h.fin
	before := s.size
	s.size += h.length
	limit := s.conn.limit.Load()
	switch {
	case s.skipping && s.size <= limit.Discard:
		s.skip = h.length
	case s.size <= limit.Message:
		s.show(h, h.length)
	case s.skipping || s.size > limit.Discard || s.size < 0:
		s.conn.group.options.Metrics.Oversized.Add(1)
		return s.refuse(limit.Close)
	default:
		s.conn.group.options.Metrics.Oversized.Add(1)
		s.oversized = true
		s.showHead(h, min(h.length, oversizeHead, limit.Message-before))
	}
	s.skipping = s.fragment && (s.skipping || s.oversized)
	return nil
}

// showHead presents the first n bytes as the end of the message.
func (s *stream) showHead(h frameHeader, n int64) {
	s.skip = h.length - n
	h.fin = true
	s.show(h, n)
}

// show makes the header gws shall see, with n bytes of payload behind it.
func (s *stream) show(h frameHeader, n int64) {
	b := append(s.header[:0], h.flags|h.opcode)
	if h.fin {
		b[0] |= finBit
	}
	switch {
	case n <= 125:
		b = append(b, 0x80|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, h.key[:]...)
	s.hr, s.hw, s.left = 0, len(b), n
}

func (s *stream) refuse(why Close) error {
	s.refused = &why
	return errRefused
}

type frameHeader struct {
	flags, opcode byte // flags are the reserved bits, for gws to refuse
	fin, masked   bool
	length        int64
	key           [4]byte
}

func (s *stream) readHeader() (h frameHeader, err error) {
	b, err := s.peek(2)
	if err != nil {
		return h, err
	}
	h = frameHeader{fin: b[0]&finBit != 0, flags: b[0] & 0x70, opcode: b[0] & 0x0f, masked: b[1]&0x80 != 0}
	n, code := 2, b[1]&0x7f
	switch code {
	case 126:
		n = 4
	case 127:
		n = 10
	}
	if h.masked {
		n += 4
	}
	if b, err = s.peek(n); err != nil {
		return h, err
	}
	switch code {
	case 126:
		h.length = int64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		h.length = int64(binary.BigEndian.Uint64(b[2:])) // negative when the first bit is set, which none may
	default:
		h.length = int64(code)
	}
	if h.masked {
		copy(h.key[:], b[n-4:n])
	}
	s.r += n
	return h, nil
}

// peek makes n bytes, at most a header's, available in the buffer.
func (s *stream) peek(n int) ([]byte, error) {
	for s.w-s.r < n {
		if err := s.fill(); err != nil {
			if errors.Is(err, io.EOF) && s.w > s.r {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return s.buf[s.r:s.w], nil
}

// fill reads more into the buffer.
func (s *stream) fill() error {
	if s.r > 0 {
		s.w = copy(s.buf, s.buf[s.r:s.w])
		s.r = 0
	}
	n, err := s.receive(s.buf[s.w:])
	s.w += n
	return err
}

// receive is the only place that waits for the peer.
func (s *stream) receive(p []byte) (int, error) {
	if midway := s.left > 0 || s.skip > 0 || s.fragment || s.w > s.r; midway != (s.conn.begun.Load() != 0) {
		s.noteBegun(midway)
	}
	n, err := s.raw.Read(p)
	if n > 0 {
		s.conn.heard.Store(s.conn.group.now())
		return n, nil
	}
	return n, err
}

// noteBegun keeps the time at which the arriving message began, for the wheel to see.
func (s *stream) noteBegun(midway bool) {
	if midway {
		s.conn.begun.Store(s.conn.group.now())
	} else {
		s.conn.begun.Store(0)
	}
}

// Write is gws answering the handshake; later, noted.
func (s *stream) Write(p []byte) (int, error) {
	if !s.established {
		return s.raw.Write(p)
	}
	if s.closeNote == nil && len(p) > 2 {
		s.closeNote = append([]byte{}, p[2:]...)
	}
	return len(p), nil
}

// Close does nothing once the connection is established: Conn hangs up.
func (s *stream) Close() error {
	if s.established {
		return nil
	}
	return s.raw.Close()
}

// The rest of net.Conn is the socket's.

func (s *stream) LocalAddr() net.Addr                { return s.raw.LocalAddr() }
func (s *stream) RemoteAddr() net.Addr               { return s.raw.RemoteAddr() }
func (s *stream) SetDeadline(t time.Time) error      { return s.raw.SetDeadline(t) }
func (s *stream) SetReadDeadline(t time.Time) error  { return s.raw.SetReadDeadline(t) }
func (s *stream) SetWriteDeadline(t time.Time) error { return s.raw.SetWriteDeadline(t) }
