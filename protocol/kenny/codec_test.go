package kenny

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// frameFiles gives the text of every valid sample.
func frameFiles(t testing.TB) map[string][]byte {
	t.Helper()
	return readDir(t, os.DirFS("testdata/frames"))
}

func readDir(t testing.TB, dir fs.FS) map[string][]byte {
	t.Helper()
	names, err := fs.Glob(dir, "*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	out := make(map[string][]byte)
	for _, n := range names {
		if out[n], err = fs.ReadFile(dir, n); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// value reads JSON so that numbers compare by their digits.
func value(t testing.TB, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func roundTrip(t *testing.T, data []byte) Frame {
	t.Helper()
	frame, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(frame)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(value(t, data), value(t, again)); d != "" {
		t.Errorf("decode then encode changed the frame:\n%s", d)
	}
	return frame
}

func TestEveryFrameRoundTrips(t *testing.T) {
	seen := map[Type]bool{}
	for name, data := range frameFiles(t) {
		t.Run(name, func(t *testing.T) { seen[roundTrip(t, data).Type()] = true })
	}
	if len(seen) != 10 {
		t.Errorf("samples cover %d of 10 frame types", len(seen))
	}
}

func TestDecodedFrameOwnsItsMemory(t *testing.T) {
	for name, data := range frameFiles(t) {
		want, err := Decode(bytes.Clone(data))
		if err != nil {
			t.Fatal(err)
		}
		buf := bytes.Clone(data)
		got, err := Decode(buf)
		if err != nil {
			t.Fatal(err)
		}
		for i := range buf {
			buf[i] = 'x'
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s changed with its buffer:\n%s", name, d)
		}
	}
}

type invalidFrame struct{ Name, Kind, Text string }

func invalidFrames(t testing.TB) []invalidFrame {
	t.Helper()
	data, err := os.ReadFile("testdata/invalid.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []invalidFrame
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBadFramesAreRefusedByKind(t *testing.T) {
	kinds := map[string]error{"not JSON": ErrNotJSON, "invalid": ErrInvalidFrame, "unknown type": ErrUnknownType}
	for _, c := range invalidFrames(t) {
		t.Run(c.Name, func(t *testing.T) {
			frame, err := Decode([]byte(c.Text))
			var fe *FrameError
			if frame != nil || !errors.As(err, &fe) || !errors.Is(err, kinds[c.Kind]) {
				t.Fatalf("got %v, %v; want kind %q", frame, err, c.Kind)
			}
			if prefix, _, ok := strings.Cut(c.Name, ": "); ok && string(fe.Type) != prefix && errors.Is(err, ErrInvalidFrame) {
				t.Errorf("type %q, want %q", fe.Type, prefix)
			}
		})
	}
}

func TestBadUTF8IsRefused(t *testing.T) {
	_, err := Decode([]byte("{\"type\":\"ping\xff\"}"))
	if !errors.Is(err, ErrNotJSON) {
		t.Fatal(err)
	}
}

func TestEachTypeHasItsSizeLimit(t *testing.T) {
	pad := func(head, tail string, size int) []byte {
		return []byte(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
	}
	cases := []struct {
		name, head, tail string
		limit            int
	}{
		{"request", `{"type":"request","id":"1","tool":"t","args":{"a":"`, `"}}`, MaxRequest},
		{"response", `{"type":"response","id":"1","ok":true,"result":{"a":"`, `"}}`, MaxResponse},
		{"policy", `{"type":"policy","rules":[{"id":"a","applies_to":"path","reason":"","pattern":"`, `"}]}`, MaxPolicy},
		{"telemetry", `{"type":"telemetry","agent_id":"m","collected_at":"2026-01-01T00:00:00Z","snapshot":{"a":{"status":"ok","summary":"`, `"}}}`, MaxTelemetry},
		{"log", `{"type":"log","agent_id":"m","at":"2026-01-01T00:00:00Z","level":"info","target":"","message":"`, `"}`, MaxLog},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			frame, err := Decode(pad(c.head, c.tail, c.limit))
			if err != nil {
				t.Fatalf("at the limit: %v", err)
			}
			if _, err := Encode(frame); err != nil {
				t.Fatalf("encode at the limit: %v", err)
			}
			if _, err := Decode(pad(c.head, c.tail, c.limit+1)); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("above the limit: %v", err)
			}
		})
	}
}

func TestSessionFramesKeepTheirDirection(t *testing.T) {
	fromMachine := map[Type]bool{TypeResponse: true, TypeTelemetry: true, TypeLog: true, TypePing: true, TypePong: true}
	fromHub := map[Type]bool{TypeRequest: true, TypePolicy: true, TypePing: true, TypePong: true}
	for name, data := range frameFiles(t) {
		frame, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		for side, c := range map[string]struct {
			decode  func([]byte) (Frame, error)
			allowed map[Type]bool
		}{"machine": {DecodeFromMachine, fromMachine}, "hub": {DecodeFromHub, fromHub}} {
			_, err := c.decode(data)
			if ok := err == nil; ok != c.allowed[frame.Type()] || (!ok && !errors.Is(err, ErrInvalidFrame)) {
				t.Errorf("%s from %s: %v", name, side, err)
			}
		}
	}
}

func TestEncodeRefusesWhatDecodeWouldRefuse(t *testing.T) {
	ok := jsontext.Value("{}")
	for name, f := range map[string]Frame{
		"id":             &Register{AgentID: "no good", Meta: Meta{OS: Linux}},
		"os":             &Register{AgentID: "m", Meta: Meta{OS: "plan9"}},
		"big meta":       &Register{AgentID: "m", Meta: Meta{OS: Linux, Extra: map[string]jsontext.Value{"x": quote(strings.Repeat("x", MaxMeta))}}},
		"nonce":          &Challenge{ServerNonce: []byte("short"), ServerSig: make([]byte, 64)},
		"no args":        &Request{ID: "1", Tool: "t"},
		"broken args":    &Request{ID: "1", Tool: "t", Args: jsontext.Value(`{"a":`)},
		"duplicate args": &Request{ID: "1", Tool: "t", Args: jsontext.Value(`{"a":1,"a":2}`)},
		"ok and error":   &Response{ID: "1", OK: true, Error: &Error{Code: CodeInternal}},
		"not ok, result": &Response{ID: "1", Result: ok},
		"bad UTF-8":      &Response{ID: "1", Error: &Error{Code: CodeInternal, Message: "\xff"}},
		"list result":    &Response{ID: "1", OK: true, Result: jsontext.Value("[]")},
		"no snapshot":    &Telemetry{AgentID: "m", CollectedAt: "2026-01-01T00:00:00Z"},
		"level":          &Log{AgentID: "m", At: "2026-01-01T00:00:00Z", Level: "loud"},
		"kind of rule":   &Policy{Rules: []Rule{{ID: "a", AppliesTo: "shell"}}},
	} {
		if data, err := Encode(f); err == nil {
			t.Errorf("%s: encoded %s", name, data)
		}
	}
	if _, err := Encode(&Log{AgentID: "m", At: "2026-01-01T00:00:00Z", Level: LevelInfo, Message: strings.Repeat("m", MaxLog)}); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestResponseOutcomeAppliesDefaults(t *testing.T) {
	cases := []struct {
		name   string
		in     Response
		result string
		code   Code
	}{
		{"ok without result is empty", Response{OK: true}, "{}", ""},
		{"result passes", Response{OK: true, Result: jsontext.Value(`{"a":1}`)}, `{"a":1}`, ""},
		{"failure without error is internal", Response{}, "", CodeInternal},
		{"known code", Response{Error: &Error{Code: CodeBlocked}}, "", CodeBlocked},
		{"unknown code passes", Response{Error: &Error{Code: "on_fire"}}, "", "on_fire"},
		{"capitals do not", Response{Error: &Error{Code: "OnFire"}}, "", CodeInternal},
		{"33 characters do not", Response{Error: &Error{Code: Code(strings.Repeat("a", 33))}}, "", CodeInternal},
		{"empty does not", Response{Error: &Error{}}, "", CodeInternal},
	}
	for _, c := range cases {
		result, e := c.in.Outcome()
		var code Code
		if e != nil {
			code = e.Code
		}
		if string(result) != c.result || code != c.code {
			t.Errorf("%s: %s, %s; want string(result) to be %v, code to be %v", c.name, result, code, c.result, c.code)
		}
	}
}

func TestPeekResponseReadsTheHeadOfAnOversizedMessage(t *testing.T) {
	whole, err := Encode(&Response{ID: "call-7", OK: true, Result: jsontext.Value(`{"x":"` + strings.Repeat("y", 2<<10) + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, head, id string
		ok             bool
	}{
		{"ours", string(whole[:1<<10]), "call-7", true},
		{"other order", `{ "ok":true, "id":"a","type":"response","result":{"x`, "a", true},
		{"telemetry", `{"type":"telemetry","id":"a","snapshot":{`, "", false},
		{"id cut", `{"type":"response","id":"a`, "", false},
		{"id behind the cut", `{"type":"response","result":{"x":"yyyyyy`, "", false},
		{"no text", ``, "", false},
		{"no object", `["type"`, "", false},
		{"id is a number", `{"type":"response","id":1,"ok":true`, "", false},
		{"ends without id", `{"type":"response"}`, "", false},
	}
	for _, c := range cases {
		id, ok := PeekResponse([]byte(c.head))
		if ok != c.ok || (ok && id != c.id) {
			t.Errorf("%s: %q, %v", c.name, id, ok)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range frameFiles(f) {
		f.Add(data)
	}
	for _, c := range invalidFrames(f) {
		f.Add([]byte(c.Text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		PeekResponse(data)
		frame, err := Decode(data)
		if err != nil {
			if _, ok := errors.AsType[*FrameError](err); !ok {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := Encode(frame)
		if err != nil {
			t.Fatalf("decoded, but does not encode: %v", err)
		}
		if d := cmp.Diff(value(t, data), value(t, again)); d != "" {
			t.Fatalf("changed:\n%s", d)
		}
	})
}
