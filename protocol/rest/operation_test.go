package rest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/rest"
)

func TestARequestGoesWhereItsTagsSay(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	file := strings.NewReader("lines")
	for name, c := range map[string]struct{ got, want rest.Request }{
		"a request that is a body": {
			rest.CreateToken.Request(rest.TokenRequest{Name: "ci"}),
			rest.Request{Method: "POST", Path: "/api/tokens", Body: rest.TokenRequest{Name: "ci"}},
		},
		"a name that would be another path": {
			rest.GetAgent.Request(rest.ByName{Name: "../tokens?x"}),
			rest.Request{Method: "GET", Path: "/api/agents/..%2Ftokens%3Fx"},
		},
		"the rest of a path keeps its slashes": {
			rest.TaskArtifact.Request(rest.ArtifactName{ID: "a/b", Name: "out dir/a.txt"}),
			rest.Request{Method: "GET", Path: "/api/tasks/a%2Fb/artifacts/out%20dir/a.txt"},
		},
		"a query without what is empty": {
			rest.ListCalls.Request(rest.CallQuery{States: []string{"queued", "sent"}, Since: at}),
			rest.Request{Method: "GET", Path: "/api/fleet/calls", Query: url.Values{"state": {"queued,sent"}, "since": {"2026-05-01T12:00:00Z"}}},
		},
		"embedded fields": {
			rest.WitnessedOf.Request(rest.WitnessedQuery{Key: "ab", CheckpointQuery: rest.CheckpointQuery{After: 7}}),
			rest.Request{Method: "GET", Path: "/api/audit/witnessed/ab", Query: url.Values{"after": {"7"}}},
		},
		"an embedded field that has its type's name": {
			rest.SetGrant.Request(rest.GrantChange{Participant: rest.Participant{Room: "r", Participant: "p1"}, Body: []byte("{}")}),
			rest.Request{Method: "PUT", Path: "/api/rooms/r/grants/p1", Body: json.RawMessage("{}")},
		},
		"a header, and a body beside a path": {
			rest.SetRoomPolicy.Request(rest.PolicyChange{Room: "r", IfMatch: `"3"`, Body: []byte("{}")}),
			rest.Request{Method: "PUT", Path: "/api/rooms/r/policy", Header: map[string]string{"If-Match": `"3"`}, Body: json.RawMessage("{}")},
		},
		"a body that may be left out": {
			rest.RotateToken.Request(rest.Rotation{ID: "t"}),
			rest.Request{Method: "POST", Path: "/api/tokens/t/rotate"},
		},
		"a stream": {
			rest.ImportConversation.Request(rest.ConversationImport{DryRun: true, Body: file}),
			rest.Request{Method: "POST", Path: "/api/conversations/import", Query: url.Values{"dry_run": {"true"}}, Stream: file},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.got
			if len(got.Query) == 0 {
				got.Query = nil
			}
			if len(got.Header) == 0 {
				got.Header = nil
			}
			same := cmp.Comparer(func(a, b io.Reader) bool { return a == b })
			if diff := cmp.Diff(c.want, got, same); diff != "" {
				t.Errorf("the request is not what it should be (-want +got):\n%s", diff)
			}
		})
	}
}

// values is the address of a request, as the face finds it.
func values(q url.Values) func(where, name string) string {
	return func(where, name string) string { return q.Get(where + ":" + name) }
}

func TestWhatIsSentIsRead(t *testing.T) {
	sent := rest.MachineCallQuery{ID: "pc", CallQuery: rest.CallQuery{Tool: "fs_list", States: []string{"done"}, Limit: 7, Since: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	address := url.Values{"path:id": {sent.ID}}
	for name, v := range rest.ListMachineCalls.Request(sent).Query {
		address["query:"+name] = v
	}
	var got rest.MachineCallQuery
	if body, err := rest.Decode(&got, values(address)); err != nil || body != nil {
		t.Fatalf("reading what was sent gives body %v and error %v, want neither", body, err)
	}
	if diff := cmp.Diff(sent, got); diff != "" {
		t.Errorf("what was read is not what was sent (-sent +read):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "1", "-1", "true", "2026-05-01T12:00:00Z", "a,b", "99999999999999999999", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		get := func(string, string) string { return text }
		for _, in := range []any{&rest.MachineCallQuery{}, &rest.ConversationImport{}, &rest.RoomAuditQuery{}, &rest.TaskMessage{}} {
			if _, err := rest.Decode(in, get); err != nil {
				if _, ok := errors.AsType[*rest.BadFieldError](err); !ok {
					t.Errorf("%T and %q: %v, want a field that is named", in, text, err)
				}
			}
		}
	})
}
