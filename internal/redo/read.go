package redo

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// The header has a block of its own, so that it is never part of a write that tears.
const (
	headerSize = 4096
	magic      = "prlyredo"
	version    = 1
	saltAt     = len(magic) + 4
	ownerAt    = saltAt + 4 + 4
	maxOwner   = headerSize - ownerAt - 4
)

var errOwner = fmt.Errorf("redo: an owner's name has at most %d bytes", maxOwner)

// encodeHeader needs an owner of at most maxOwner bytes.
func encodeHeader(owner string, salt uint32) []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[len(magic):], version)
	binary.LittleEndian.PutUint32(b[saltAt:], salt)
	binary.LittleEndian.PutUint32(b[saltAt+4:], uint32(len(owner)))
	copy(b[ownerAt:], owner)
	binary.LittleEndian.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	return b
}

// decode returns the records of a file: none if the header is not one of this
// owner's, and none behind the first that is torn or a leftover. The bodies are
// parts of b.
func decode(b []byte, owner string) (found []Record) {
	if len(b) < headerSize {
		return nil
	}
	salt := binary.LittleEndian.Uint32(b[saltAt:])
	if !bytes.Equal(b[:headerSize], encodeHeader(owner, salt)) {
		return nil
	}
	last := int64(0)
	for b = b[headerSize:]; ; {
		r, rest, ok := decodeRecord(b, salt)
		if !ok || r.Num <= last {
			return found
		}
		found, last, b = append(found, r), r.Num, rest
	}
}

// read returns what a file holds, and its size. What lies behind the limit was not
// written by this package.
func read(d disk, limit int64) ([]byte, int64, error) {
	size, err := d.Size()
	if err != nil {
		return nil, 0, err
	}
	size = min(size, limit)
	b := make([]byte, size)
	if n, err := d.ReadAt(b, 0); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, 0, err
	}
	return b, size, nil
}

// merge puts the records of both files into one order.
func merge(a, b []Record) []Record {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Record) int { return cmp.Compare(x.Num, y.Num) })
	return all
}
