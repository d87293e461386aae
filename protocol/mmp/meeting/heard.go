package meeting

import (
	"time"

	"parley.internal/protocol/mmp"
)

// Heard makes a message of what an agent answered to one of ours, said to it directly.
// Where its result has a ready answer, that is it; where the result only tells what it
// would take, the message that would have come by a relay is made from it. Without
// anything to go on there is none. The same answer gives the same message, so that what
// is said again has no second effect.
func (m Message) Heard(peer string, result mmp.Raw, now time.Time) (Message, bool) {
	o := mmp.OpenObject(result)
	if o.Err() != nil {
		return Message{}, false
	}
	if raw := o.Member("suggested_response"); raw.Kind() == '{' {
		answer, err := DecodeMessage(raw)
		if err != nil || answer.From != peer || answer.Recipient() != "" && answer.Recipient() != m.From {
			return Message{}, false
		}
		if answer.RepliesTo() == "" {
			answer.InReplyTo = &m.ID
		}
		return answer, true
	}
	action, payload := m.implied(o)
	if action == "" {
		return Message{}, false
	}
	answer, err := m.Reply(action, peer, payload, now)
	answer.ID = "msg_" + mmp.HashOf(peer + "\n" + action + "\n" + m.ID).Bare()[:16]
	return answer, err == nil
}

// implied is what a result without a ready answer comes to.
func (m Message) implied(o *mmp.Object) (action string, payload any) {
	status := o.Text("status", mmp.MaxScope)
	switch m.Action {
	case ActionOfferSkill:
		if status == ResultReceived && o.Flag("can_accept") {
			return ActionAccept, AcceptPayload{}
		}
		if status == ResultRejected {
			return ActionDecline, DeclinePayload{Reason: o.TextOr("reason", mmp.MaxReason, DeclineUser)}
		}
	case ActionRequestSkill:
		if status == ResultReceived {
			return firstMatch(o.Member("matches"))
		}
	case ActionSkillContent:
		if status == ResultReceived {
			return ActionReflect, ReflectPayload{Reflection: "It was received."}
		}
	}
	return "", nil
}

// firstMatch is the offer that a list of fitting skills comes to.
func firstMatch(matches mmp.Raw) (action string, payload any) {
	found := ReadSkillInfos(matches)
	if len(found) == 0 {
		return ActionDecline, DeclinePayload{Reason: DeclineNotAvailable}
	}
	s := found[0]
	return ActionOfferSkill, OfferSkillPayload{
		SkillID: s.ID, SkillName: s.Name, SkillSummary: s.Summary, SkillFormat: s.Format, ContentHash: s.ContentHash, Tags: s.Tags,
	}
}

// maxInfos is how many skills of a list of another agent are read.
const maxInfos = 200

// ReadSkillInfos reads a list of skills of another agent, as far as it fits.
func ReadSkillInfos(raw mmp.Raw) []SkillInfo {
	var all []mmp.Raw
	if mmp.DecodeTolerant(raw, &all) != nil {
		return nil
	}
	var out []SkillInfo
	for _, one := range all[:min(len(all), maxInfos)] {
		var s SkillInfo
		if mmp.DecodeTolerant(one, &s) != nil || s.ID == "" && s.Name == "" {
			continue
		}
		if s.ID == "" {
			s.ID = s.Name
		}
		out = append(out, s)
	}
	return out
}

// HeardContent reads the answer to a request for a skill's content: the message that
// carries it, or the packed skill alone.
func (m Message) HeardContent(peer, skillID string, body mmp.Raw, now time.Time) (Message, bool) {
	o := mmp.OpenObject(body)
	if sent, err := DecodeMessage(o.Member("message")); err == nil && sent.Action == ActionSkillContent && sent.From == peer {
		sent.InReplyTo = &m.ID
		return sent, true
	}
	part := o.Sub("packaged_skill")
	if part == nil {
		return Message{}, false
	}
	p := SkillContentPayload{
		SkillID: skillID, SkillName: part.Text("name", mmp.MaxName), Format: part.Text("format", mmp.MaxScope), Content: part.Text("content", mmp.MaxMeetingBody),
		ContentHash: part.Text("content_hash", mmp.MaxID), Provenance: ReadProvenance(part, "provenance"),
	}
	answer, err := m.Reply(ActionSkillContent, peer, p, now)
	answer.ID = "msg_" + mmp.HashOf(peer + "\n" + p.ContentHash + "\n" + m.ID).Bare()[:16]
	return answer, err == nil && part.Err() == nil && p.Content != ""
}
