package meeting

import (
	"parley.internal/protocol/mmp"
)

// Requests and answers of the direct endpoints that are not messages.

// SkillRef names a skill in a request to a direct endpoint.
type SkillRef struct {
	SkillID   string
	To        string
	InReplyTo string
}

// DecodeSkillRef reads skill_content and offer_skill requests. A maker needs the
// recipient too.
func DecodeSkillRef(body []byte, needTo bool) (SkillRef, error) {
	o := mmp.OpenObject(body)
	r := SkillRef{SkillID: o.First(mmp.MaxName, "skill_id", "skill_name"), To: o.ID("to", mmp.ValidAddress), InReplyTo: o.Text("in_reply_to", mmp.MaxID)}
	switch {
	case o.Err() != nil:
		return SkillRef{}, o.Err()
	case r.SkillID == "":
		return SkillRef{}, mmp.Required("skill_id")
	case needTo && r.To == "":
		return SkillRef{}, mmp.Required("to")
	}
	return r, nil
}

// ReplyRequest asks for an accept, decline or reflect in our agent's name.
type ReplyRequest struct {
	To        string
	InReplyTo string
	Reason    string
	Text      string
}

// DecodeReply reads it; the recipient and the answered message must be named.
func DecodeReply(body []byte) (ReplyRequest, error) {
	o := mmp.OpenObject(body)
	r := ReplyRequest{
		To: o.ID("to", mmp.ValidAddress), InReplyTo: o.Text("in_reply_to", mmp.MaxID),
		Reason: o.Text("reason", mmp.MaxReason), Text: o.First(mmp.MaxMeetingBody, "message", "reflection"),
	}
	switch {
	case o.Err() != nil:
		return ReplyRequest{}, o.Err()
	case r.To == "":
		return ReplyRequest{}, mmp.Required("to")
	case r.InReplyTo == "":
		return ReplyRequest{}, mmp.Required("in_reply_to")
	}
	return r, nil
}

// DecodeSessionStart reads who a session is with; with a token that is its agent.
func DecodeSessionStart(body []byte, token string) (string, error) {
	o := mmp.OpenObject(body)
	peer := o.ID("peer_id", mmp.ValidAddress)
	if o.Err() != nil {
		return "", o.Err()
	}
	return mmp.ActingAgent("peer_id", peer, token)
}

// SessionEnd ends a session: the last one, or the one that is named.
type SessionEnd struct {
	Summary   string
	SessionID string
	PeerID    string
}

// DecodeSessionEnd reads what a session came to.
func DecodeSessionEnd(body []byte) (SessionEnd, error) {
	o := mmp.OpenObject(body)
	r := SessionEnd{Summary: o.Text("summary", mmp.MaxDescription), SessionID: o.Text("session_id", mmp.MaxID), PeerID: o.ID("peer_id", mmp.ValidAddress)}
	return r, o.Err()
}

// GoodbyeAnswer answers POST goodbye.
type GoodbyeAnswer struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// SkillsAnswer lists public skills.
type SkillsAnswer struct {
	Skills         []SkillInfo `json:"skills"`
	Count          int         `json:"count"`
	ExchangePolicy mmp.Raw     `json:"exchange_policy"`
}

// SkillMetadata describes one.
type SkillMetadata struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Layer       string `json:"layer"`
	Format      string `json:"format"`
	Summary     string `json:"summary"`
	ContentHash string `json:"content_hash"`
	Available   bool   `json:"available"`
}

// SkillDetails answers skill_details.
type SkillDetails struct {
	Metadata SkillMetadata `json:"metadata"`
}

// PackagedSkill is a skill ready to travel.
type PackagedSkill struct {
	Name        string      `json:"name"`
	Format      string      `json:"format"`
	Content     string      `json:"content"`
	ContentHash string      `json:"content_hash"`
	Provenance  *Provenance `json:"provenance"`
}

// PackagedAnswer answers skill_content.
type PackagedAnswer struct {
	Message       Message       `json:"message"`
	PackagedSkill PackagedSkill `json:"packaged_skill"`
}

// MadeAnswer is a message made in our agent's name.
type MadeAnswer struct {
	Message Message `json:"message"`
}

// SessionAnswer names a session.
type SessionAnswer struct {
	SessionID string `json:"session_id"`
}

// HistoryAnswer looks back.
type HistoryAnswer struct {
	Interactions []any `json:"interactions"`
	Summary      any   `json:"summary"`
}
