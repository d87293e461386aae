package agentfirst

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers on the way from a message to a piece of a run's text.
const (
	streamField  = 4 // ServerMessage.stream
	chunkField   = 2 // StreamEvent.chunk
	contentField = 1 // StreamChunk.content
	requestField = 250
	requestTag   = 2 // bytes of its tag
)

// ChunkPayload is Marshal of a ServerMessage that streams one piece of a run's text:
// the same bytes, in one allocation. A model says fifty of them a second to everybody
// who listens. It returns false for what is no text, and for too much of it.
func ChunkPayload(request uint64, text string) ([]byte, bool) {
	if len(text) > MaxPayload/2 || !utf8.ValidString(text) {
		return nil, false
	}
	chunk := 0
	if text != "" {
		chunk = 1 + protowire.SizeBytes(len(text))
	}
	event := 1 + protowire.SizeBytes(chunk)
	b := make([]byte, 0, 1+protowire.SizeBytes(event)+requestTag+protowire.SizeVarint(request))
	if request != 0 {
		b = protowire.AppendTag(b, requestField, protowire.VarintType)
		b = protowire.AppendVarint(b, request)
	}
	b = protowire.AppendTag(b, streamField, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(event))
	b = protowire.AppendTag(b, chunkField, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(chunk))
	if text != "" {
		b = protowire.AppendTag(b, contentField, protowire.BytesType)
		b = protowire.AppendString(b, text)
	}
	return b, true
}
