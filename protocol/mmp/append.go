package mmp

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The answers of the relay are asked for all the time: they write themselves, in
// the very bytes that Encode makes of all others.

// appender is an answer that writes itself.
type appender interface {
	appendJSON(b []byte) []byte
}

// text is one member; ids and stamps need no escapes, and whatever does gets them.
func appendText(b []byte, before, value string) []byte {
	b, _ = jsontext.AppendQuote(append(b, before...), value) // the error only repeats that something was replaced
	return b
}

func appendTime(b []byte, before string, t Time) []byte {
	b = append(b, before...)
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = t.UTC().AppendFormat(append(b, '"'), stampLayout)
	return append(b, '"')
}

func appendBool(b []byte, before string, v bool) []byte {
	return strconv.AppendBool(append(b, before...), v)
}

func (a SendAnswer) appendJSON(b []byte) []byte {
	b = appendText(b, `{"relay_id":`, a.RelayID)
	b = appendText(b, `,"status":`, a.Status)
	b = appendTime(b, `,"expires_at":`, a.ExpiresAt)
	if a.Dropped != nil {
		b = appendText(b, `,"dropped":{"relay_id":`, a.Dropped.RelayID)
		b = append(appendText(b, `,"reason":`, a.Dropped.Reason), '}')
	}
	if a.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	return append(b, '}')
}

func (m *RelayMessage) appendJSON(b []byte) []byte {
	b = appendText(b, `{"id":`, m.ID)
	b = appendText(b, `,"from":`, m.From)
	b = appendText(b, `,"to":`, m.To)
	b = appendText(b, `,"message_type":`, m.MessageType)
	b = appendText(b, `,"encrypted_blob":`, m.Blob)
	b = appendText(b, `,"blob_hash":`, m.BlobHash)
	b = appendTime(b, `,"created_at":`, m.CreatedAt)
	b = appendTime(b, `,"expires_at":`, m.ExpiresAt)
	b = appendBool(b, `,"sender_proven":`, m.SenderProven)
	if m.Attempt != 0 {
		b = strconv.AppendInt(append(b, `,"attempt":`...), int64(m.Attempt), 10)
	}
	if !m.LeasedUntil.IsZero() {
		b = appendTime(b, `,"leased_until":`, m.LeasedUntil)
	}
	return append(b, '}')
}

func (a ReceiveAnswer) appendJSON(b []byte) []byte {
	size := 64
	for i := range a.Messages {
		size += len(a.Messages[i].Blob) + 768
	}
	b = append(slices.Grow(b, size), `{"messages":[`...)
	for i := range a.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.Messages[i].appendJSON(b)
	}
	b = strconv.AppendInt(append(b, `],"count":`...), int64(a.Count), 10)
	return append(appendBool(b, `,"more":`, a.More), '}')
}

func (a RegisterAnswer) appendJSON(b []byte) []byte {
	b = appendText(b, `{"agent_id":`, a.AgentID)
	b = appendText(b, `,"status":`, a.Status)
	b = appendTime(b, `,"registered_at":`, a.RegisteredAt)
	b = appendTime(b, `,"expires_at":`, a.ExpiresAt)
	b = appendBool(b, `,"identity_verified":`, a.IdentityVerified)
	b = appendBool(b, `,"updated":`, a.Updated)
	b = appendText(b, `,"place_id":`, a.PlaceID)
	if a.SessionToken != "" {
		b = appendText(b, `,"session_token":`, a.SessionToken)
	}
	if !a.SessionExpiresAt.IsZero() {
		b = appendTime(b, `,"session_expires_at":`, a.SessionExpiresAt)
	}
	if a.Fingerprint != "" {
		b = appendText(b, `,"fingerprint":`, a.Fingerprint)
	}
	if a.KeyID != "" {
		b = appendText(b, `,"key_id":`, a.KeyID)
	}
	return append(b, '}')
}
