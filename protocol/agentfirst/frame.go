package agentfirst

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"
)

// PrefixSize is how many bytes announce the length of a frame.
const PrefixSize = 4

// firstRead bounds what a frame may make us allocate before any of its bytes came.
const firstRead = 64 << 10

// FrameReader reads length-prefixed frames. It reads no byte beyond the frame it
// returns, so it may be given a bufio.Reader or a bare connection.
type FrameReader struct {
	r   io.Reader
	buf []byte
}

// NewFrameReader returns a reader of the frames in r.
func NewFrameReader(r io.Reader) *FrameReader { return &FrameReader{r: r} }

// Next returns the payload of the next frame, valid until the following call.
// It returns io.EOF between frames, io.ErrUnexpectedEOF inside one, and
// ErrFrameTooLarge as soon as a too large length is announced.
func (f *FrameReader) Next() ([]byte, error) {
	// A rare large frame must not keep its memory for the life of a connection.
	if cap(f.buf) > 4*firstRead {
		f.buf = nil
	}
	payload, err := ReadFrame(f.r, f.buf)
	if payload != nil {
		f.buf = payload[:0]
	}
	return payload, err
}

// ReadFrame reads one frame from r into buf's spare capacity, growing it only as
// bytes arrive, and returns the payload (not nil, even when empty).
func ReadFrame(r io.Reader, buf []byte) ([]byte, error) {
	var prefix [PrefixSize]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(prefix[:]))
	if n > MaxPayload {
		return nil, ErrFrameTooLarge
	}
	return readPayload(r, buf, int(n))
}

func readPayload(r io.Reader, buf []byte, n int) ([]byte, error) {
	if buf == nil {
		buf = make([]byte, 0, min(n, firstRead))
	}
	buf = buf[:0]
	for len(buf) < n {
		if len(buf) == cap(buf) {
			// Doubling: what is allocated stays in proportion to what was received.
			grown := make([]byte, len(buf), min(n, max(firstRead, 2*len(buf))))
			copy(grown, buf)
			buf = grown
		}
		part := buf[len(buf):min(n, cap(buf))]
		if _, err := io.ReadFull(r, part); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		buf = buf[:len(buf)+len(part)]
	}
	return buf, nil
}

// AppendFrame appends m as one frame, prefix and payload, to dst.
func AppendFrame(dst []byte, m proto.Message) ([]byte, error) {
	start := len(dst)
	out, err := proto.MarshalOptions{}.MarshalAppend(append(dst, 0, 0, 0, 0), m)
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	n := len(out) - start - PrefixSize
	if n > MaxPayload {
		return dst, ErrFrameTooLarge
	}
	binary.BigEndian.PutUint32(out[start:], uint32(n))
	return out, nil
}

// WriteFrame writes m as one frame in a single Write.
func WriteFrame(w io.Writer, m proto.Message) error {
	frame, err := AppendFrame(nil, m)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}
