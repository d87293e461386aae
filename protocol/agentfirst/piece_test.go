package agentfirst

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAPieceOfTextIsTheSameBytesAsItsMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		request := rapid.Uint64().Draw(t, "request")
		text := rapid.OneOf(rapid.String(), rapid.Just(""), rapid.Just(strings.Repeat("long ", 9000))).Draw(t, "text")
		want, err := Marshal(&ServerMessage{
			RequestId: request,
			Message:   &ServerMessage_Stream{Stream: &StreamEvent{Event: &StreamEvent_Chunk{Chunk: &StreamChunk{Content: text}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, ok := ChunkPayload(request, text)
		if !ok || !bytes.Equal(got, want) {
			t.Fatalf("ChunkPayload(%d, %q) = %x, %v; want %x", request, text, got, ok, want)
		}
		if cap(got) > len(got)+8 {
			t.Fatalf("%d bytes in room for %d", len(got), cap(got))
		}
	})
}

func TestWhatIsNoTextIsNoPiece(t *testing.T) {
	if _, ok := ChunkPayload(1, "\xff"); ok {
		t.Error("bytes that are no text were encoded")
	}
	if _, ok := ChunkPayload(1, strings.Repeat("x", MaxPayload)); ok {
		t.Error("more than a frame holds was encoded")
	}
}
