package meeting

import (
	"time"

	"parley.internal/protocol/mmp"
)

// The core actions; nobody replaces or disables them.
const (
	ActionIntroduce = "introduce"
	ActionGoodbye   = "goodbye"
	ActionError     = "error"
)

// The actions of the standard extensions.
const (
	ActionOfferSkill   = "offer_skill"
	ActionRequestSkill = "request_skill"
	ActionAccept       = "accept"
	ActionDecline      = "decline"
	ActionSkillContent = "skill_content"
	ActionReflect      = "reflect"

	ActionPropose    = "propose"
	ActionSupport    = "support"
	ActionOppose     = "oppose"
	ActionSynthesize = "synthesize"

	ActionOffer    = "offer"
	ActionCounter  = "counter"
	ActionAgree    = "agree"
	ActionWithdraw = "withdraw"

	ActionProposeExtension  = "propose_extension"
	ActionEvaluateExtension = "evaluate_extension"
	ActionShareExtension    = "share_extension"
	ActionAdoptExtension    = "adopt_extension"
)

// CoreActions lists what every agent understands.
func CoreActions() []string { return []string{ActionIntroduce, ActionGoodbye, ActionError} }

// IsCore tells whether an action belongs to the core.
func IsCore(action string) bool {
	return action == ActionIntroduce || action == ActionGoodbye || action == ActionError
}

// Message is one word between two agents.
type Message struct {
	ID              string  `json:"id"`
	Action          string  `json:"action"`
	From            string  `json:"from"`
	To              *string `json:"to,omitzero"`
	Timestamp       string  `json:"timestamp"`
	ProtocolVersion string  `json:"protocol_version"`
	Payload         mmp.Raw `json:"payload"`
	InReplyTo       *string `json:"in_reply_to,omitzero"`
}

// NewMessage makes a message of ours. An empty to is a broadcast.
func NewMessage(action, from, to string, payload any, now time.Time) (Message, error) {
	raw, err := mmp.Encode(payload)
	if err != nil {
		return Message{}, err
	}
	if payload == nil || mmp.Raw(raw).Kind() == 'n' {
		raw = []byte("{}")
	}
	m := Message{ID: mmp.NewMessageID(), Action: action, From: from, Timestamp: mmp.Stamp(now), ProtocolVersion: mmp.ProtocolVersion, Payload: raw}
	if to != "" {
		m.To = &to
	}
	return m, nil
}

// Reply makes the answer to m: its sender becomes the recipient.
func (m Message) Reply(action, from string, payload any, now time.Time) (Message, error) {
	r, err := NewMessage(action, from, m.From, payload, now)
	r.InReplyTo = &m.ID
	return r, err
}

// Recipient is who the message is for; empty for a broadcast.
func (m Message) Recipient() string { return deref(m.To) }

// RepliesTo is the message this one answers; empty for none.
func (m Message) RepliesTo() string { return deref(m.InReplyTo) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// DecodeMessage reads and validates a message: what is missing is listed, a
// version or payload left out is filled in.
func DecodeMessage(body []byte) (Message, error) {
	if len(body) > mmp.MaxMeetingBody {
		return Message{}, mmp.ErrBodyTooLarge
	}
	o := mmp.OpenObject(body)
	m := readMessage(o)
	if o.Err() != nil {
		return Message{}, o.Err()
	}
	return m, m.complete()
}

func readMessage(o *mmp.Object) Message {
	m := Message{
		ID: o.Text("id", mmp.MaxID), Action: o.Text("action", mmp.MaxExtensionName), From: o.ID("from", mmp.ValidAddress),
		Timestamp: o.Text("timestamp", 64), ProtocolVersion: o.Text("protocol_version", 32),
		Payload: o.Raw("payload", mmp.MaxMeetingBody, '{'),
	}
	if to := o.ID("to", mmp.ValidAddress); to != "" {
		m.To = &to
	}
	if id := o.Text("in_reply_to", mmp.MaxID); id != "" {
		m.InReplyTo = &id
	}
	if m.ProtocolVersion == "" {
		m.ProtocolVersion = mmp.ProtocolVersion
	}
	if m.Payload == nil {
		m.Payload = mmp.Raw("{}")
	}
	return m
}

func (m Message) complete() error {
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"id", m.ID}, {"action", m.Action}, {"from", m.From}, {"timestamp", m.Timestamp},
	} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		return mmp.MissingFields(missing...)
	}
	return nil
}

// Timely refuses a message that is not of now: an old one that somebody kept, or one
// of a clock that is wrong.
func (m Message) Timely(now time.Time) error {
	at, err := mmp.ParseTime(m.Timestamp)
	switch {
	case err != nil:
		return mmp.InvalidField("timestamp")
	case now.Sub(at).Abs() > mmp.ReplayWindow:
		return mmp.ErrTimestamp
	}
	return nil
}

// HasAction tells a message from a bare introduction.
func HasAction(body []byte) bool { return mmp.OpenObject(body).Has("action") }
