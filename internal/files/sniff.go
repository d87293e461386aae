package files

import (
	"bytes"
	"strings"
)

// signature is how the bytes of one type begin.
type signature struct {
	kind string
	at   int
	mark string
	// also stands at 8, for the containers that hold many things.
	also string
}

// signatures are all types that are kept. SVG and HTML are not among them: a browser would run
// what is inside.
var signatures = []signature{
	{kind: "image/png", mark: "\x89PNG\r\n\x1a\n"},
	{kind: "image/jpeg", mark: "\xff\xd8\xff"},
	{kind: "image/gif", mark: "GIF87a"},
	{kind: "image/gif", mark: "GIF89a"},
	{kind: "image/webp", mark: "RIFF", also: "WEBP"},
	{kind: "application/pdf", mark: "%PDF-"},
	{kind: "audio/wav", mark: "RIFF", also: "WAVE"},
	{kind: "audio/mpeg", mark: "ID3"},
	{kind: "audio/ogg", mark: "OggS"},
	{kind: "audio/flac", mark: "fLaC"},
	{kind: "audio/mp4", at: 4, mark: "ftyp", also: "M4A "},
}

// Sniff says what a file is, by its bytes; "" for what is not kept.
func Sniff(data []byte) string {
	for _, s := range signatures {
		if s.fits(data) {
			return s.kind
		}
	}
	if mpegFrame(data) {
		return "audio/mpeg"
	}
	return ""
}

func (s signature) fits(data []byte) bool {
	if len(data) < s.at || !bytes.HasPrefix(data[s.at:], []byte(s.mark)) {
		return false
	}
	return s.also == "" || len(data) >= 8 && bytes.HasPrefix(data[8:], []byte(s.also))
}

// mpegFrame tells a voice note without a title: the header of a frame of layer III with a bit
// rate and a sampling rate that exist.
func mpegFrame(data []byte) bool {
	return len(data) > 3 && data[0] == 0xff && data[1]&0xe6 == 0xe2 && data[2]&0xf0 != 0xf0 && data[2]&0xf0 != 0 && data[2]&0x0c != 0x0c
}

// IsPicture reports whether a browser may show the type in place.
func IsPicture(kind string) bool { return strings.HasPrefix(kind, "image/") }
