package mcpbridge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStreamIsReadEventByEvent(t *testing.T) {
	for stream, want := range map[string][]string{
		"":                                       nil,
		"data: {\"a\":1}\n\n":                    {`{"a":1}`},
		"event: message\nid: 1\ndata: x\n\n":     {"x"},
		"data: x\ndata: y\n\n":                   {"x\ny"},
		"data:x\r\n\r\ndata: y\r\n\r\n":          {"x", "y"},
		": a comment\nretry: 5\n\ndata: last":    {"last"},
		"event: prime\nid: 0\n\ndata: one\n\n\n": {"one"},
	} {
		var got []string
		if err := events(strings.NewReader(stream), func(raw []byte) { got = append(got, string(raw)) }); err != nil {
			t.Errorf("%q: %v; want no error", stream, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s; want no difference", stream, diff)
		}
	}
}

func TestHeadersCarryAnyName(t *testing.T) {
	for name, want := range map[string]string{"fs_list": "fs_list", "größe": "=?base64?Z3LDtsOfZQ==?=", "a\r\nX-Evil: 1": "=?base64?YQ0KWC1FdmlsOiAx?="} {
		if got := headerText(name); got != want {
			t.Errorf("%q: %q; want %v", name, got, want)
		}
	}
}

// Whatever a client writes, a carrier may look into it.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":null,"result":{}}`, `{"jsonrpc":"2.0","params":[1]}`, `[]`, `{`, `{"jsonrpc":"2.0","id":{"a":1},"method":"x","params":{"name":7}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := read(raw)
		if err != nil {
			return
		}
		if m.isRequest() {
			answer, err := read(failure(m, "no"))
			if err != nil || !answer.answers(m) && m.ID[0] != '{' && m.ID[0] != '[' {
				t.Errorf("%s is answered by %s", raw, failure(m, "no"))
			}
		}
		if strings.ContainsAny(headerText(m.target()), "\r\n") {
			t.Errorf("%q goes into a header", m.target())
		}
	})
}

func FuzzEvents(f *testing.F) {
	f.Add("data: x\n\n")
	f.Add("data\ndata:\n\n:\r\n")
	f.Fuzz(func(t *testing.T, stream string) {
		total := 0
		if err := events(strings.NewReader(stream), func(raw []byte) { total += len(raw) }); err != nil || total > len(stream) {
			t.Errorf("%d of %d bytes, %v", total, len(stream), err)
		}
	})
}
