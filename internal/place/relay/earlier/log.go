package earlier

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The files of the log, written one after the other.
var logFiles = [2]string{"relay-a.redo", "relay-b.redo"}

const (
	headerSize = 4096
	recordHead = 4 + 4 + 8 + 8
	magic      = "prlyredo"
	saltAt     = len(magic) + 4
	ownerAt    = saltAt + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ReadLog reads the parcels in a folder's log that are newer than those the database
// has. owner names the database: files of another are not read.
func ReadLog(dir, owner string, after int64) (found []Parcel, err error) {
	for _, name := range logFiles {
		b, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // in the data folder
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, decodeLog(b, owner)...)
	}
	found = slices.DeleteFunc(found, func(p Parcel) bool { return p.Num <= after })
	slices.SortStableFunc(found, func(a, b Parcel) int { return cmp.Compare(a.Num, b.Num) })
	return found, nil
}

// RemoveLog removes the files once the database has what is in them.
func RemoveLog(dir string) error {
	var errs []error
	for _, name := range logFiles {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// decodeLog returns the records of a file: none if the header is not one of this
// owner's, and none behind the first that is torn or a leftover.
func decodeLog(b []byte, owner string) (found []Parcel) {
	if owner == "" || len(b) < headerSize || !bytes.Equal(b[:headerSize], header(owner, b[saltAt:saltAt+4])) {
		return nil
	}
	salt, last := binary.LittleEndian.Uint32(b[saltAt:]), int64(0)
	for b = b[headerSize:]; len(b) >= recordHead; {
		end := recordHead + int64(binary.LittleEndian.Uint32(b))
		if end > int64(len(b)) {
			break
		}
		sum := crc32.Update(crc32.Update(salt, castagnoli, b[:4]), castagnoli, b[8:end])
		num := int64(binary.LittleEndian.Uint64(b[8:])) //nolint:gosec // it was made from one
		if binary.LittleEndian.Uint32(b[4:]) != sum || num <= last {
			break
		}
		at := int64(binary.LittleEndian.Uint64(b[16:])) //nolint:gosec // as above
		found, last, b = append(found, Parcel{Num: num, At: at, Body: b[recordHead:end], Logged: true}), num, b[end:]
	}
	return found
}

func header(owner string, salt []byte) []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	b[len(magic)] = 1 // the version
	copy(b[saltAt:], salt)
	binary.LittleEndian.PutUint32(b[saltAt+4:], uint32(len(owner))) //nolint:gosec // a short name
	copy(b[ownerAt:headerSize-4], owner)
	binary.LittleEndian.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	return b
}
