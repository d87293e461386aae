package mmp_test

import (
	"net/url"
	"testing"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"id":"a","from":"a","to":"b","type":"announcement","tags":["x"],"ttl_hours":1,"encrypted_blob":"x","blob_hash":"y"}`))
	f.Add([]byte(`{"needs":[{"name":"x"}],"proof":{"nonce":"n"},"content":"c","skill_id":"s"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := board.DecodeRegister(body); err == nil && !mmp.ValidID(r.ID) {
			t.Fatalf("%q", r.ID)
		}
		if r, err := relay.DecodeSend(body, "", ""); err == nil && (len(r.Blob) == 0 || !mmp.HashFits(r.BlobHash, r.Blob)) {
			t.Fatalf("%+v", r)
		}
		for _, err := range []error{
			second(board.DecodePost(body, "")), second(board.DecodeNeeds(body, "")), second(mmp.DecodeKey(body, "")), second(relay.DecodeAck(body, "")),
			second(board.DecodeDeposit(body, "")), second(board.DecodeAttest(body)), second(meeting.DecodeReply(body)), second(meeting.DecodeSkillRef(body, true)),
		} {
			if err != nil && len(refusal(err)) > 8 && refusal(err)[:8] == "untyped:" {
				t.Fatal(err)
			}
		}
		if v, err := url.ParseQuery(string(body)); err == nil {
			_, _ = relay.ParseReceiveQuery(v, "")
			_, _ = board.ParseBrowseQuery(v)
			_, _ = board.ParseAuditQuery(v)
		}
	})
}

func second[T any](_ T, err error) error { return err }
