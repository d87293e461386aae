package mmp_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley/protocol/mmp"
	"parley/protocol/mmp/board"
	"parley/protocol/mmp/relay"
)

// TestAnswersThatWriteThemselvesAreThoseOfTheEncoder holds the hand-written ones to
// the bytes that every other answer is made of.
func TestAnswersThatWriteThemselvesAreThoseOfTheEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return rapid.String().Draw(t, name) }
		at := func(name string) mmp.Time {
			s := rapid.Int64Range(0, 4e9).Draw(t, name)
			if s == 0 {
				return mmp.Time{}
			}
			return mmp.At(time.Unix(s, 5))
		}
		yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
		send := relay.SendAnswer{RelayID: text("id"), Status: text("status"), ExpiresAt: at("expires"), Duplicate: yes("duplicate")}
		if yes("dropped") {
			send.Dropped = &relay.Dropped{RelayID: text("dropped id"), Reason: text("reason")}
		}
		register := board.RegisterAnswer{
			AgentID: text("agent"), Status: text("status"), RegisteredAt: at("registered"), ExpiresAt: at("expires"), IdentityVerified: yes("verified"),
			Updated: yes("updated"), PlaceID: text("place"), SessionToken: text("token"), SessionExpiresAt: at("session"), Fingerprint: text("print"), KeyID: text("key"),
		}
		receive := relay.ReceiveAnswer{Messages: []relay.Message{}, Count: rapid.Int().Draw(t, "count"), More: yes("more")}
		for range rapid.IntRange(0, 3).Draw(t, "messages") {
			receive.Messages = append(receive.Messages, relay.Message{
				ID: text("id"), From: text("from"), To: text("to"), MessageType: text("type"), Blob: text("blob"), BlobHash: text("hash"),
				CreatedAt: at("created"), ExpiresAt: at("expires"), SenderProven: yes("proven"), Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"), LeasedUntil: at("leased"),
			})
		}
		for _, v := range []any{send, register, receive} {
			got, err := mmp.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := mmp.EncodePlainly(v); err != nil || string(got) != string(want) {
				t.Fatalf("%s\nwant %s (%v)", got, want, err)
			}
		}
	})
}
