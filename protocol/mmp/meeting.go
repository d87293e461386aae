package mmp

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
	o := openObject(body)
	r := SkillRef{SkillID: o.first(MaxName, "skill_id", "skill_name"), To: o.id("to", ValidAddress), InReplyTo: o.text("in_reply_to", MaxID)}
	switch {
	case o.err != nil:
		return SkillRef{}, o.err
	case r.SkillID == "":
		return SkillRef{}, Required("skill_id")
	case needTo && r.To == "":
		return SkillRef{}, Required("to")
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
	o := openObject(body)
	r := ReplyRequest{
		To: o.id("to", ValidAddress), InReplyTo: o.text("in_reply_to", MaxID),
		Reason: o.text("reason", MaxReason), Text: o.first(MaxMeetingBody, "message", "reflection"),
	}
	switch {
	case o.err != nil:
		return ReplyRequest{}, o.err
	case r.To == "":
		return ReplyRequest{}, Required("to")
	case r.InReplyTo == "":
		return ReplyRequest{}, Required("in_reply_to")
	}
	return r, nil
}

// DecodeSessionStart reads who a session is with; with a token that is its agent.
func DecodeSessionStart(body []byte, token string) (string, error) {
	o := openObject(body)
	peer := o.id("peer_id", ValidAddress)
	if o.err != nil {
		return "", o.err
	}
	return actAs("peer_id", peer, token)
}

// SessionEnd ends a session: the last one, or the one that is named.
type SessionEnd struct {
	Summary   string
	SessionID string
	PeerID    string
}

// DecodeSessionEnd reads what a session came to.
func DecodeSessionEnd(body []byte) (SessionEnd, error) {
	o := openObject(body)
	r := SessionEnd{Summary: o.text("summary", MaxDescription), SessionID: o.text("session_id", MaxID), PeerID: o.id("peer_id", ValidAddress)}
	return r, o.err
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
	ExchangePolicy Raw         `json:"exchange_policy"`
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
