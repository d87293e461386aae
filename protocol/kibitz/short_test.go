package kibitz

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What is written or read by hand is what the library would write and read.

func TestAckWrittenByHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Ptr(rapid.IntRange(0, 1<<20), true)
		a := &Ack{
			N: rapid.Int64Range(1, MaxN).Draw(t, "n"), Seq: rapid.Uint64().Draw(t, "seq"), Dup: rapid.Bool().Draw(t, "dup"),
			To: count.Draw(t, "to"), Withheld: count.Draw(t, "withheld"),
		}
		got, err := Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		body, err := marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"t":"ack",` + string(body[1:]); string(got) != want {
			t.Fatalf("%s is not %s", got, want)
		}
	})
}

func TestChatWrittenByHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := chatContent{rapid.String().Draw(t, "text"), rapid.Bool().Draw(t, "dm")}
		want, err := marshal(struct {
			K    ContentKind `json:"k"`
			Text string      `json:"text"`
			DM   bool        `json:"dm,omitzero"`
		}{ContentChat, w.text, w.dm})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.append(nil); string(got) != string(want) {
			t.Fatalf("%s is not %s", got, want)
		}
	})
}

func TestAppWrittenByHand(t *testing.T) {
	for _, data := range []string{`1`, `null`, `"a\u00e4\/"`, `{"b":1,"a":[1e400,"\ud800"]}`} {
		want, err := marshal(struct {
			K    ContentKind `json:"k"`
			Data Raw         `json:"data"`
		}{ContentApp, Raw(data)})
		if err != nil {
			t.Fatal(err)
		}
		if got := (appContent{Raw(data)}).append(nil); string(got) != string(want) {
			t.Errorf("%s is not %s", got, want)
		}
	}
}

// FuzzSendReadByHand compares the short way of a message with the usual one.
func FuzzSendReadByHand(f *testing.F) {
	for _, s := range []string{
		`{"t":"send","n":1,"to":"p","id":"x","c":{"k":"app", "data" : {"a": [1, 2e5]}}}`, `{"t":"send","to":null,"c":{}}`,
		`{"t":"send","to":1,"c":{}}`, `{"t":"send","id":{},"c":{}}`, `{"t":"send"}`, `{"t":"send","c":null}`, `{"t":"send","id":"\ud800","c":{"x":"\ud800\/"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, head, err := readHead(object{}, data, MaxFrame)
		if err != nil || head.Type != "send" || !utf8.Valid(data) {
			return
		}
		var short, usual Send
		shortErr := fillClient(&short, o, head.N)
		delete(o, "n")
		usualErr := fill(&usual, o, head.N)
		if (shortErr != nil) != (usualErr != nil) {
			t.Fatalf("%v is not %v", shortErr, usualErr)
		}
		if d := cmp.Diff(usual, short); usualErr == nil && d != "" {
			t.Fatal(d)
		}
	})
}

func BenchmarkSend(b *testing.B) {
	data := []byte(`{"t":"send","n":12,"c":{"k":"chat","text":"what everybody hears"}}`)
	b.ReportAllocs()
	for b.Loop() {
		f, err := DecodeClient(data)
		if err != nil {
			b.Fatal(err)
		}
		c, err := OpenContent(f.(*Send).C)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Check(false, false); err != nil {
			b.Fatal(err)
		}
		if _, err := Encode(&Ack{N: 12, Seq: 90}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestWhiteSpaceIsFoundOutsideStringsOnly(t *testing.T) {
	for text, want := range map[string]bool{
		`1`: true, `"a b"`: true, `"\" "`: true, `"\\"`: true, `{"a b":"\\\" c","d":[1,2]}`: true,
		`[1, 2]`: false, "{\"a\":\t1}": false, `{"\\" :1}`: false, "[\n]": false,
	} {
		if got := isCompact(Raw(text)); got != want {
			t.Errorf("%s: %v; want %v", text, got, want)
		}
		byLibrary := Raw(text).Clone()
		if err := byLibrary.Compact(); err != nil {
			t.Fatal(err)
		}
		if c, err := compact(Raw(text)); err != nil || string(c) != string(byLibrary) {
			t.Errorf("%s: %s, %v", text, c, err)
		}
	}
}
