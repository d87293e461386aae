package redo

import (
	"encoding/binary"
	"hash/crc32"
)

// headSize is what a record takes besides its body.
const headSize = 4 + 4 + 8 + 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Record is one append. Num is greater than zero and grows strictly from append to
// append; At is the caller's own, a time usually.
type Record struct {
	Num, At int64
	Body    []byte
}

func (r Record) size() int64 { return headSize + int64(len(r.Body)) }

// appendTo encodes the record.
func (r Record) appendTo(b []byte, salt uint32) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.Body)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Num))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.At))
	b = append(b, r.Body...)
	binary.LittleEndian.PutUint32(b[start+4:], checksum(b[start:], salt))
	return b
}

// checksum covers a whole record but for the checksum itself. It starts from the
// salt: nobody who does not know that can make bytes that pass for a record.
func checksum(record []byte, salt uint32) uint32 {
	return crc32.Update(crc32.Update(salt, castagnoli, record[:4]), castagnoli, record[8:])
}

// decodeRecord takes the first record off b. It refuses one that is torn.
func decodeRecord(b []byte, salt uint32) (r Record, rest []byte, ok bool) {
	if len(b) < headSize {
		return Record{}, nil, false
	}
	length := int64(binary.LittleEndian.Uint32(b))
	if length > int64(len(b)-headSize) {
		return Record{}, nil, false
	}
	end := headSize + int(length)
	if binary.LittleEndian.Uint32(b[4:]) != checksum(b[:end], salt) {
		return Record{}, nil, false
	}
	return Record{
		Num:  int64(binary.LittleEndian.Uint64(b[8:])),
		At:   int64(binary.LittleEndian.Uint64(b[16:])),
		Body: b[headSize:end:end],
	}, b[end:], true
}
