package acp

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// Every line that can be read is a message that is written as one line and read again as the same.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","kind":"read","content":[]}}}`,
		`{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no","data":{"x":1}}}`,
		`{"id":null,"result":{}}`, `{"id":[]}`, `{}`, `[]`, "\xff", `{"id":1,"id":2,"method":"x"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Decode(line)
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		_, _ = Read[SessionUpdate](m.Params)
		_, _ = Read[PermissionRequest](m.Params)
		_, _ = Read[PromptResponse](m.Result)
		written, err := Encode(m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if strings.Count(string(written), "\n") != 1 {
			t.Fatalf("it is written in several lines: %q", written)
		}
		again, err := Decode(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v: %q", err, written)
		}
		m.Version = "2.0"
		if m.Request() != again.Request() || m.Answer() != again.Answer() || m.Method != again.Method {
			t.Fatalf("read again it is another message: %+v, was %+v", again, m)
		}
	})
}

func TestMessagesOfLaterVersionsAreRead(t *testing.T) {
	m, err := Decode([]byte(`{"jsonrpc":"2.0","method":"session/update","more":1,"params":{"sessionId":"s","_meta":{},"update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":null,"rawInput":{"a":[1]},"new":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read[SessionUpdate](m.Params)
	if err != nil {
		t.Fatal(err)
	}
	want := SessionUpdate{Session: "s", Update: Change{Kind: ToolCallUpdate, ToolCall: ToolCall{ID: "t", Input: jsontext.Value(`{"a":[1]}`)}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the update was read wrongly (-want +got):\n%s", diff)
	}
}
