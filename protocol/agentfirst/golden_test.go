package agentfirst_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	af "parley.internal/protocol/agentfirst"
)

var update = flag.Bool("update", false, "write testdata/golden.txt from the hand encoding")

const goldenFile = "testdata/golden.txt"

func allGolden() []golden { return slices.Concat(clientGolden(), serverGolden(), eventGolden()) }

func readGolden(t testing.TB) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for line := range strings.Lines(string(data)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatalf("%s: %v; want no error", name, err)
		}
		all[name] = b
	}
	return all
}

func TestEveryMessageHasItsGoldenBytes(t *testing.T) {
	if *update {
		var out bytes.Buffer
		for _, g := range allGolden() {
			fmt.Fprintf(&out, "%s %x\n", g.name, []byte(g.hand))
		}
		if err := os.WriteFile(goldenFile, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := readGolden(t)
	if len(file) != len(allGolden()) {
		t.Errorf("the file has %d messages, the table %d", len(file), len(allGolden()))
	}
	for _, g := range allGolden() {
		t.Run(g.name, func(t *testing.T) {
			want := file[g.name]
			if !bytes.Equal(want, g.hand) {
				t.Errorf("by hand %x, file %x", []byte(g.hand), want)
			}
			got, err := af.Marshal(g.msg)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("encoded %x, %v; want %x", got, err, want)
			}
			back := g.msg.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(want, back); err != nil || !proto.Equal(back, g.msg) {
				t.Errorf("decoded %v, %v; want %v", back, err, g.msg)
			}
			if unknown := back.ProtoReflect().GetUnknown(); len(unknown) > 0 {
				t.Errorf("fields left over: %x", unknown)
			}
		})
	}
}

func TestTheGoldenTableCoversEveryVariantAndEveryField(t *testing.T) {
	seen := make(map[protoreflect.FullName]bool)
	for _, g := range allGolden() {
		markSeen(g.msg.ProtoReflect(), seen)
	}
	for _, root := range []proto.Message{&af.ClientMessage{}, &af.ServerMessage{}, &af.StreamEvent{}} {
		checkSeen(t, root.ProtoReflect().Descriptor(), seen, make(map[protoreflect.FullName]bool))
	}
}

func markSeen(m protoreflect.Message, seen map[protoreflect.FullName]bool) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		seen[fd.FullName()] = true
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				markSeen(v.List().Get(i).Message(), seen)
			}
		default:
			markSeen(v.Message(), seen)
		}
		return true
	})
}

func checkSeen(t *testing.T, md protoreflect.MessageDescriptor, seen, done map[protoreflect.FullName]bool) {
	if done[md.FullName()] || md.IsMapEntry() {
		return
	}
	done[md.FullName()] = true
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if !seen[fd.FullName()] {
			t.Errorf("no golden message sets %s", fd.FullName())
		}
		if fd.Message() != nil {
			checkSeen(t, fd.Message(), seen, done)
		}
	}
}

// The numbers of the enums, typed from the tables.
func TestEnumNumbers(t *testing.T) {
	for got, want := range map[protoreflect.Enum]int{
		af.EventTextDelta: 0, af.EventThinkingDelta: 1, af.EventToolStart: 2, af.EventToolResult: 3, af.EventToolsComplete: 4,
		af.EventDone: 5, af.EventUserMessage: 200, af.EventQueued: 201, af.EventAsk: 202, af.EventAskResolved: 203,
		af.EventCompacted: 204, af.EventTitled: 205, af.EventUsage: 206,
		af.ResourceUnknown: 0, af.ResourceProvider: 1, af.ResourceMCP: 2, af.ResourceSkill: 3,
		af.SourceUnknown: 0, af.SourceLocal: 1, af.SourcePackage: 2, af.SourceExternal: 3,
		af.MCPUnknown: 0, af.MCPConnected: 1, af.MCPDisconnected: 2, af.MCPFailed: 3,
		af.ProviderUnknown: 0, af.ProviderOpenAI: 1, af.ProviderAnthropic: 2, af.ProviderGoogle: 3, af.ProviderBedrock: 4,
		af.ProviderOllama: 5, af.ProviderAzure: 6, af.ProviderLlamaCpp: 7,
		af.StopUnset: 0, af.StopDone: 1, af.StopSilent: 2, af.StopIterations: 3, af.StopCancelled: 4, af.StopKilled: 5,
		af.StopModelError: 6, af.StopBudget: 7, af.StopTimeout: 8, af.StopInterrupted: 9,
		af.ModeQueue: 0, af.ModeSteer: 1, af.ModeInterrupt: 2,
	} {
		if int(got.Number()) != want {
			t.Errorf("%T(%v) = %d, want %d", got, got, got.Number(), want)
		}
	}
}

func TestPlainClientsAreSentOnlyTheOriginalVariants(t *testing.T) {
	for _, g := range serverGolden() {
		m := g.msg.(*af.ServerMessage)
		number, _ := af.ServerVariant(m)
		want := number < 200 && m.GetAgentEvent().GetKind() < 200
		if got := af.ForPlain(m); got != want {
			t.Errorf("%s: %v, want %v", g.name, got, want)
		}
	}
	for _, g := range eventGolden() {
		e := g.msg.(*af.StreamEvent)
		number, _ := af.EventVariant(e)
		wrapped := &af.ServerMessage{Message: &af.ServerMessage_Stream{Stream: e}}
		if got, want := af.ForPlain(wrapped), number < 200; got != want {
			t.Errorf("%s: %v, want %v", g.name, got, want)
		}
	}
	if af.ForPlain(&af.ServerMessage{}) || af.EventForPlain(&af.StreamEvent{}) {
		t.Error("an empty message may be sent")
	}
}
