package agentfirst_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	af "parley.internal/protocol/agentfirst"
)

func frame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func TestFramesArriveInAnyPieces(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 300<<10)
	stream := bytes.Join([][]byte{frame([]byte("one")), frame(nil), frame(big), frame([]byte("four"))}, nil)
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(stream), "byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"halves": iotest.HalfReader(bytes.NewReader(stream)), "data with EOF": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			fr := af.NewFrameReader(r)
			for _, want := range [][]byte{[]byte("one"), {}, big, []byte("four")} {
				got, err := fr.Next()
				if err != nil || !bytes.Equal(got, want) || got == nil {
					t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(want))
				}
			}
			if _, err := fr.Next(); !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("at the end: %v", err)
			}
		})
	}
}

func TestTruncatedFramesAreAnUnexpectedEnd(t *testing.T) {
	whole := frame([]byte("hello"))
	for n := 1; n < len(whole); n++ {
		if _, err := af.NewFrameReader(bytes.NewReader(whole[:n])).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestATooLargeFrameIsRefusedBeforeItsBytesCome(t *testing.T) {
	prefix := binary.BigEndian.AppendUint32(nil, af.MaxPayload+1)
	after := iotest.ErrReader(errors.New("the payload was read"))
	_, err := af.NewFrameReader(io.MultiReader(bytes.NewReader(prefix), after)).Next()
	if !errors.Is(err, af.ErrFrameTooLarge) {
		t.Fatal(err)
	}
}

func TestTheLargestFrameIsLegal(t *testing.T) {
	payload := make([]byte, af.MaxPayload)
	got, err := af.NewFrameReader(bytes.NewReader(frame(payload))).Next()
	if err != nil || len(got) != len(payload) {
		t.Fatal(len(got), err)
	}
}

func TestAnAnnouncedLengthAloneAllocatesLittle(t *testing.T) {
	prefix := binary.BigEndian.AppendUint32(nil, af.MaxPayload)
	got := allocated(func() {
		if _, err := af.ReadFrame(bytes.NewReader(prefix), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
	if got > 1<<20 {
		t.Errorf("%d bytes for a prefix", got)
	}
}

func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAppendFrameAndReadFrameAgree(t *testing.T) {
	var stream []byte
	var err error
	for _, g := range allGolden() {
		if stream, err = af.AppendFrame(stream, g.msg); err != nil {
			t.Fatal(err)
		}
	}
	fr := af.NewFrameReader(bytes.NewReader(stream))
	for _, g := range allGolden() {
		got, err := fr.Next()
		if err != nil || !bytes.Equal(got, g.hand) {
			t.Fatalf("%s: %x, %v; want no error, bytes.Equal(got, g.hand)", g.name, got, err)
		}
	}
}

func TestTooLargeMessagesAreNotEncoded(t *testing.T) {
	m := &af.ServerMessage{Message: &af.ServerMessage_Jsonl{Jsonl: &af.Jsonl{Data: make([]byte, af.MaxPayload)}}}
	if _, err := af.AppendFrame(nil, m); !errors.Is(err, af.ErrFrameTooLarge) {
		t.Error(err)
	}
	if _, err := af.Marshal(m); !errors.Is(err, af.ErrFrameTooLarge) {
		t.Error(err)
	}
	if err := af.WriteFrame(io.Discard, m); !errors.Is(err, af.ErrFrameTooLarge) {
		t.Error(err)
	}
}

func TestEmptyAndUnknownVariantsDecodeAndNameTheirNumber(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes hand
		num   int
		known bool
	}{
		{"empty", nil, 0, false},
		{"a later version's", msg(57, str(1, "x")), 57, false},
		{"unknown with a request id", cat(num(250, 3), msg(999)), 999, false},
		{"only a request id", num(250, 3), 0, false},
		{"known", msg(30), 30, true},
		{"known with an unknown field", cat(msg(30), num(90, 1)), 30, true},
	} {
		m, err := af.UnmarshalClient(tc.bytes)
		if err != nil {
			t.Errorf("%s: %v; want no error", tc.name, err)
		}
		if n, known := af.ClientVariant(m); n != tc.num || known != tc.known {
			t.Errorf("%s: %d %v, want %d %v", tc.name, n, known, tc.num, tc.known)
		}
	}
}

func TestGarbageIsABadMessage(t *testing.T) {
	for _, b := range []string{"\xff", "\x0a\x05abc", "\x0a\x03\x0a\x01\xff", "\x00"} {
		if _, err := af.UnmarshalClient([]byte(b)); !errors.Is(err, af.ErrBadMessage) {
			t.Errorf("%x: %v; want af.ErrBadMessage", b, err)
		}
	}
}

// Two bytes on the wire become a few hundred in memory, so sixteen MiB of empty
// list elements would become gigabytes.
func TestAListOfNothingCannotExhaustMemory(t *testing.T) {
	body := bytes.Repeat([]byte{0x0a, 0x00}, 7<<20)
	payload := protowire.AppendBytes(protowire.AppendTag(nil, 14, protowire.BytesType), body)
	got := allocated(func() {
		if _, err := af.UnmarshalClient(payload); !errors.Is(err, af.ErrTooManyElements) {
			t.Error(err)
		}
	})
	if got > 1<<20 {
		t.Errorf("refusing allocated %d bytes", got)
	}
	args := msg(14, msg(1, hand(bytes.Repeat([]byte{0x1a, 0x00}, 1<<20))))
	if _, err := af.UnmarshalClient(args); !errors.Is(err, af.ErrTooManyElements) {
		t.Error(err)
	}
	payload = protowire.AppendBytes(protowire.AppendTag(nil, 24, protowire.BytesType), body)
	if _, err := af.UnmarshalServer(payload); !errors.Is(err, af.ErrTooManyElements) {
		t.Error(err)
	}
}

func TestALongHistoryDecodes(t *testing.T) {
	h := &af.ConversationHistory{}
	for range 200_000 {
		h.Messages = append(h.Messages, &af.HistoryMessage{Role: "user", Content: "hi"})
	}
	b, err := af.Marshal(&af.ServerMessage{Message: &af.ServerMessage_ConversationHistory{ConversationHistory: h}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := af.UnmarshalServer(b)
	if err != nil || len(m.GetConversationHistory().GetMessages()) != 200_000 {
		t.Fatal(err)
	}
}

func FuzzFrameReader(f *testing.F) {
	f.Add(frame([]byte("hello")))
	f.Add(append(frame(nil), frame([]byte("x"))...))
	f.Add([]byte{0, 0, 0})
	f.Add([]byte{1, 0, 0, 1, 0})
	f.Add([]byte{1, 0, 0, 0, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := af.NewFrameReader(bytes.NewReader(data))
		pieces := af.NewFrameReader(iotest.OneByteReader(bytes.NewReader(data)))
		for {
			a, errA := whole.Next()
			b, errB := pieces.Next()
			if !bytes.Equal(a, b) || !errors.Is(errB, errA) {
				t.Fatalf("whole %x %v, pieces %x %v", a, errA, b, errB)
			}
			if errA != nil {
				return
			}
			if cap(a) > 4*(len(data)+64<<10) {
				t.Fatalf("%d bytes held for %d received", cap(a), len(data))
			}
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	for _, b := range readGolden(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := af.UnmarshalClient(data); err == nil {
			af.ClientVariant(c)
			sameAgain(t, c)
		}
		if s, err := af.UnmarshalServer(data); err == nil {
			af.ForPlain(s)
			sameAgain(t, s)
		}
	})
}

func sameAgain(t *testing.T, m proto.Message) {
	b, err := af.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(back)
	first, err2 := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil || err2 != nil || !bytes.Equal(again, first) {
		t.Fatalf("%v became %v", m, back)
	}
}
