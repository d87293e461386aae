package wine_test

import (
	"bytes"
	"encoding/binary"
)

// A Go program takes its first random bytes from ProcessPrng in bcryptprimitives.dll, which Wine has had only
// since version 9. Older ones get a library that has this one name and hands it on to the function that does the
// same in all of them.
const (
	prngLibrary = "bcryptprimitives.dll"
	prngName    = "ProcessPrng"
	prngTarget  = "advapi32.SystemFunction036"
)

// Sizes and addresses of the file: headers, then one section.
const (
	fileAlign    = 0x200
	sectionAlign = 0x1000
	sectionRVA   = sectionAlign
	imageBase    = 0x6f0000000
)

// forwarder is a Windows library with one exported name that stands for a function of another library.
func forwarder(library, name, target string) []byte {
	section := exports(library, name, target)
	headers := peHeaders(uint32(len(section)))
	file := make([]byte, fileAlign, fileAlign+len(section))
	copy(file, headers)
	file = append(file, section...)
	return append(file, make([]byte, fileAlign-len(file)%fileAlign)...)
}

// exports is the directory of exported names. An address inside the directory itself is no code but the text of
// where the function really is.
func exports(library, name, target string) []byte {
	const directory = 40 // bytes of the directory's head
	functions := uint32(sectionRVA + directory)
	names, ordinals := functions+4, functions+8
	texts := functions + 10
	libraryAt := texts
	nameAt := libraryAt + uint32(len(library)) + 1
	targetAt := nameAt + uint32(len(name)) + 1
	var b bytes.Buffer
	le(&b, uint32(0), uint32(0), uint32(0), libraryAt, uint32(1), uint32(1), uint32(1), functions, names, ordinals)
	le(&b, targetAt, nameAt, uint16(0))
	b.WriteString(library + "\x00" + name + "\x00" + target + "\x00")
	return b.Bytes()
}

// peHeaders are the headers of a 64-bit library with one read-only section of this size and no code.
func peHeaders(size uint32) []byte {
	var b bytes.Buffer
	b.WriteString("MZ")
	b.Write(make([]byte, 58))
	le(&b, uint32(64)) // where the new header starts
	b.WriteString("PE\x00\x00")
	const optional = 112 + 16*8
	le(&b, uint16(0x8664), uint16(1), uint32(0), uint32(0), uint32(0), uint16(optional), uint16(0x2022)) // amd64, one section; library, large addresses
	raw := (size + fileAlign - 1) / fileAlign * fileAlign
	le(&b, uint16(0x20b), uint16(0), uint32(0), raw, uint32(0), uint32(0), uint32(sectionRVA)) // no code, no entry
	le(&b, uint64(imageBase), uint32(sectionAlign), uint32(fileAlign))
	le(&b, uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0), uint32(0))       // for any system of the last twenty years
	le(&b, uint32(2*sectionAlign), uint32(fileAlign), uint32(0), uint16(2), uint16(0x100))    // sizes; a plain library
	le(&b, uint64(1<<20), uint64(1<<12), uint64(1<<20), uint64(1<<12), uint32(0), uint32(16)) // stack, heap, directories
	le(&b, uint32(sectionRVA), size)                                                          // exports
	b.Write(make([]byte, 15*8))                                                               // no other directory
	b.WriteString(".edata\x00\x00")                                                           // the section
	le(&b, size, uint32(sectionRVA), raw, uint32(fileAlign), uint32(0), uint32(0), uint16(0), uint16(0), uint32(0x40000040))
	return b.Bytes()
}

func le(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes everything
	}
}
