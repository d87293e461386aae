package meeting

import (
	"parley.internal/protocol/mmp"
)

// ErrorCode is the code of an error message.
type ErrorCode string

// The error codes.
const (
	CodeUnsupportedAction ErrorCode = "unsupported_action"
	CodeInvalidPayload    ErrorCode = "invalid_payload"
	CodeUnauthorized      ErrorCode = "unauthorized"
	CodeRateLimited       ErrorCode = "rate_limited"
	CodeInternal          ErrorCode = "internal_error"
	CodeVersionMismatch   ErrorCode = "protocol_version_mismatch"
	CodeExtensionNotFound ErrorCode = "extension_not_found"
	CodeHashMismatch      ErrorCode = "hash_mismatch"
	CodeTimeout           ErrorCode = "timeout"
)

// The reasons to say goodbye.
const (
	GoodbyeSessionComplete = "session_complete"
	GoodbyeTimeout         = "timeout"
	GoodbyeUserRequest     = "user_request"
	GoodbyeError           = "error"
	GoodbyeMaintenance     = "maintenance"
)

// The reasons to decline.
const (
	DeclineFormat       = "format_not_accepted"
	DeclineNotAvailable = "skill_not_available"
	DeclinePolicy       = "policy_violation"
	DeclineCapacity     = "capacity_exceeded"
	DeclineUser         = "user_declined"
)

// ErrorPayload reports a problem.
type ErrorPayload struct {
	ErrorCode   ErrorCode `json:"error_code"`
	Message     string    `json:"message"`
	Recoverable bool      `json:"recoverable"`
	Details     mmp.Raw   `json:"details,omitzero"`
}

// GoodbyePayload ends a talk.
type GoodbyePayload struct {
	Reason  string `json:"reason"`
	Summary string `json:"summary"`
}

// OfferSkillPayload offers a skill.
type OfferSkillPayload struct {
	SkillID      string   `json:"skill_id"`
	SkillName    string   `json:"skill_name"`
	SkillSummary string   `json:"skill_summary"`
	SkillFormat  string   `json:"skill_format"`
	ContentHash  string   `json:"content_hash"`
	Tags         []string `json:"tags,omitempty"`
}

// RequestSkillPayload asks for one, by id, name or description.
type RequestSkillPayload struct {
	SkillID     string   `json:"skill_id,omitzero"`
	SkillName   string   `json:"skill_name,omitzero"`
	Description string   `json:"description,omitzero"`
	Tags        []string `json:"tags,omitempty"`
}

// DeclinePayload says no.
type DeclinePayload struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitzero"`
	SkillID string `json:"skill_id,omitzero"`
}

// AcceptPayload says yes to what in_reply_to names.
type AcceptPayload struct {
	SkillID string `json:"skill_id,omitzero"`
	Message string `json:"message,omitzero"`
}

// SkillContentPayload is a skill on its way.
type SkillContentPayload struct {
	SkillID     string      `json:"skill_id"`
	SkillName   string      `json:"skill_name"`
	Format      string      `json:"format"`
	Content     string      `json:"content"`
	ContentHash string      `json:"content_hash"`
	Provenance  *Provenance `json:"provenance,omitzero"`
}

// ReflectPayload looks back at an exchange.
type ReflectPayload struct {
	Reflection     string `json:"reflection"`
	Interpretation string `json:"interpretation,omitzero"`
}

// payload opens a message's payload for one of the readers below; its errors name
// the member.
func (m Message) payload() *mmp.Object {
	return mmp.OpenPart(m.Payload, "payload.")
}

// ReadError reads an error message's fields.
func (m Message) ReadError() (ErrorPayload, error) {
	o := m.payload()
	p := ErrorPayload{
		ErrorCode: ErrorCode(o.First(mmp.MaxScope, "error_code", "code")), Message: o.Text("message", mmp.MaxDescription),
		Recoverable: o.Flag("recoverable"), Details: o.Raw("details", mmp.MaxRawField, '{', '[', '"'),
	}
	return p, o.Err()
}

// ReadGoodbye reads a goodbye.
func (m Message) ReadGoodbye() (GoodbyePayload, error) {
	o := m.payload()
	p := GoodbyePayload{Reason: o.Text("reason", mmp.MaxScope), Summary: o.Text("summary", mmp.MaxDescription)}
	return p, o.Err()
}

// OfferedFormat reads only the format of an offer: it is judged before any other
// field is looked at.
func (m Message) OfferedFormat() string {
	return format(m.payload(), "skill_format", "format")
}

// format reads the format of a skill; the first nodes name none and mean Markdown.
func format(o *mmp.Object, keys ...string) string {
	if f := o.First(mmp.MaxScope, keys...); f != "" {
		return f
	}
	return FormatMarkdown
}

// ReadOfferSkill reads an offer.
func (m Message) ReadOfferSkill() (OfferSkillPayload, error) {
	o := m.payload()
	p := OfferSkillPayload{
		SkillID: o.Text("skill_id", mmp.MaxID), SkillName: o.First(mmp.MaxName, "skill_name", "name"),
		SkillSummary: o.First(mmp.MaxSummary, "skill_summary", "summary"), SkillFormat: format(o, "skill_format", "format"),
		ContentHash: o.Text("content_hash", mmp.MaxID), Tags: o.Texts("tags", mmp.MaxTags, mmp.MaxTag),
	}
	return p, o.Err()
}

// ReadRequestSkill reads a request.
func (m Message) ReadRequestSkill() (RequestSkillPayload, error) {
	o := m.payload()
	p := RequestSkillPayload{
		SkillID: o.Text("skill_id", mmp.MaxID), SkillName: o.First(mmp.MaxName, "skill_name", "name"),
		Description: o.First(mmp.MaxDescription, "description", "query"), Tags: o.Texts("tags", mmp.MaxTags, mmp.MaxTag),
	}
	return p, o.Err()
}

// ReadAccept reads an acceptance.
func (m Message) ReadAccept() (AcceptPayload, error) {
	o := m.payload()
	p := AcceptPayload{SkillID: o.Text("skill_id", mmp.MaxID), Message: o.Text("message", mmp.MaxDescription)}
	return p, o.Err()
}

// ReadDecline reads a refusal.
func (m Message) ReadDecline() (DeclinePayload, error) {
	o := m.payload()
	p := DeclinePayload{Reason: o.Text("reason", mmp.MaxReason), Message: o.Text("message", mmp.MaxDescription), SkillID: o.Text("skill_id", mmp.MaxID)}
	return p, o.Err()
}

// ReadSkillContent reads a skill on its way.
func (m Message) ReadSkillContent() (SkillContentPayload, error) {
	o := m.payload()
	p := SkillContentPayload{
		SkillID: o.Text("skill_id", mmp.MaxID), SkillName: o.First(mmp.MaxName, "skill_name", "name"),
		Format: format(o, "format", "skill_format"), Content: o.Text("content", mmp.MaxMeetingBody),
		ContentHash: o.Text("content_hash", mmp.MaxID), Provenance: ReadProvenance(o, "provenance"),
	}
	return p, o.Err()
}

// ReadReflect reads a reflection.
func (m Message) ReadReflect() (ReflectPayload, error) {
	o := m.payload()
	p := ReflectPayload{Reflection: o.Text("reflection", mmp.MaxMeetingBody), Interpretation: o.Text("interpretation", mmp.MaxMeetingBody)}
	return p, o.Err()
}
