package relay

import (
	"slices"
	"strconv"

	"parley/protocol/mmp"
)

// AppendJSON writes the answer as the encoder would.
func (a SendAnswer) AppendJSON(b []byte) []byte {
	b = mmp.AppendText(b, `{"relay_id":`, a.RelayID)
	b = mmp.AppendText(b, `,"status":`, a.Status)
	b = mmp.AppendTime(b, `,"expires_at":`, a.ExpiresAt)
	if a.Dropped != nil {
		b = mmp.AppendText(b, `,"dropped":{"relay_id":`, a.Dropped.RelayID)
		b = append(mmp.AppendText(b, `,"reason":`, a.Dropped.Reason), '}')
	}
	if a.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	return append(b, '}')
}

// AppendJSON writes the message as the encoder would.
func (m *Message) AppendJSON(b []byte) []byte {
	b = mmp.AppendText(b, `{"id":`, m.ID)
	b = mmp.AppendText(b, `,"from":`, m.From)
	b = mmp.AppendText(b, `,"to":`, m.To)
	b = mmp.AppendText(b, `,"message_type":`, m.MessageType)
	b = mmp.AppendText(b, `,"encrypted_blob":`, m.Blob)
	b = mmp.AppendText(b, `,"blob_hash":`, m.BlobHash)
	b = mmp.AppendTime(b, `,"created_at":`, m.CreatedAt)
	b = mmp.AppendTime(b, `,"expires_at":`, m.ExpiresAt)
	b = mmp.AppendBool(b, `,"sender_proven":`, m.SenderProven)
	if m.Attempt != 0 {
		b = strconv.AppendInt(append(b, `,"attempt":`...), int64(m.Attempt), 10)
	}
	if !m.LeasedUntil.IsZero() {
		b = mmp.AppendTime(b, `,"leased_until":`, m.LeasedUntil)
	}
	return append(b, '}')
}

// AppendJSON writes the answer as the encoder would.
func (a ReceiveAnswer) AppendJSON(b []byte) []byte {
	size := 64
	for i := range a.Messages {
		size += len(a.Messages[i].Blob) + 768
	}
	b = append(slices.Grow(b, size), `{"messages":[`...)
	for i := range a.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.Messages[i].AppendJSON(b)
	}
	b = strconv.AppendInt(append(b, `],"count":`...), int64(a.Count), 10)
	return append(mmp.AppendBool(b, `,"more":`, a.More), '}')
}
