package meeting

import (
	"errors"
	"slices"
	"time"

	"parley.internal/protocol/mmp"
)

// ErrInnerSender is a message that names another sender than the relay did.
var ErrInnerSender = errors.New("the message inside names another sender than the relay")

// RelayMeta is what the relay shows around a sealed message.
type RelayMeta struct {
	ID        string
	From      string
	To        string
	Type      string
	CreatedAt time.Time
}

// FromRelay is the outcome: a message, or a note for the agent's conversation.
type FromRelay struct {
	Message *Message
	Note    string
}

// ReadRelayed makes a message of an opened seal. Peers send short forms, so what
// is missing is taken from the relay, and members that belong to no message are
// the payload. A text, or an object without an action under a type that known does
// not know, is a note.
func ReadRelayed(content mmp.Content, meta RelayMeta, known func(action string) bool) (FromRelay, error) {
	if content.JSON == nil {
		return FromRelay{Note: content.Text}, nil
	}
	if content.JSON.Kind() != '{' {
		if s, err := mmp.Unquote(content.JSON); err == nil {
			return FromRelay{Note: s}, nil
		}
		return FromRelay{Note: string(content.JSON)}, nil
	}
	o := mmp.OpenObject(content.JSON)
	if o.Err() == nil && !o.Has("action") && !known(meta.Type) {
		return FromRelay{Note: string(content.JSON)}, nil
	}
	m, err := readShort(o, meta)
	if err != nil {
		return FromRelay{}, err
	}
	return FromRelay{Message: &m}, nil
}

// envelopeMembers never become payload.
var envelopeMembers = []string{"id", "action", "from", "to", "timestamp", "sent_at", "protocol_version", "in_reply_to", "payload"}

func readShort(o *mmp.Object, meta RelayMeta) (Message, error) {
	m := readMessage(o)
	sentAt := o.Text("sent_at", 64)
	if o.Err() != nil {
		return Message{}, o.Err()
	}
	local, _ := mmp.SplitAddress(meta.From)
	if m.From != "" && m.From != meta.From && m.From != local {
		return Message{}, ErrInnerSender
	}
	m.From = meta.From
	fill(&m.ID, meta.ID)
	fill(&m.Action, meta.Type)
	fill(&m.Timestamp, sentAt)
	fill(&m.Timestamp, mmp.Stamp(meta.CreatedAt))
	if m.To == nil && meta.To != "" {
		m.To = &meta.To
	}
	if !o.Has("payload") {
		payload, err := restOf(o)
		if err != nil {
			return Message{}, err
		}
		m.Payload = payload
	}
	return m, m.complete()
}

func fill(into *string, value string) {
	if *into == "" {
		*into = value
	}
}

// restOf is the object without the members of a message.
func restOf(o *mmp.Object) (mmp.Raw, error) {
	rest := map[string]mmp.Raw{}
	for name, value := range o.All() {
		if !slices.Contains(envelopeMembers, name) {
			rest[name] = value
		}
	}
	return mmp.EncodeSorted(rest)
}
