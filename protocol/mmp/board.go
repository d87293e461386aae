package mmp

import (
	"slices"
	"time"
)

// The types of postings.
const (
	PostOffer        = "offer_skill"
	PostRequest      = "request_skill"
	PostAnnouncement = "announcement"
)

// PostRequestBody is a board/post request.
type PostRequestBody struct {
	AgentID      string
	AgentName    string
	Type         string
	SkillName    string
	SkillSummary string
	SkillFormat  string
	Tags         []string
	TTL          time.Duration
	Metadata     Raw
}

// DecodePost reads a posting; token is the id of the token it came with, if any.
func DecodePost(body []byte, token string) (*PostRequestBody, error) {
	o := openObject(body)
	p := &PostRequestBody{
		AgentID: o.id("agent_id", ValidID), AgentName: o.text("agent_name", MaxName), Type: o.text("type", MaxScope),
		SkillName: o.text("skill_name", MaxName), SkillSummary: o.text("skill_summary", MaxSummary),
		SkillFormat: o.textOr("skill_format", MaxScope, FormatMarkdown),
		Tags:        o.texts("tags", MaxTags, MaxTag), TTL: readTTL(o),
		Metadata: o.raw("metadata", MaxRawField, kindObject),
	}
	if o.err != nil {
		return nil, o.err
	}
	var err error
	if p.AgentID, err = actAs("agent_id", p.AgentID, token); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{PostOffer, PostRequest, PostAnnouncement}, p.Type) {
		return nil, ErrInvalidType
	}
	return p, nil
}

// readTTL takes fractions of an hour too; what is too long becomes the longest.
func readTTL(o *object) time.Duration {
	hours, ok := o.number("ttl_hours")
	if !ok {
		return DefaultPostingTTL
	}
	if hours <= 0 {
		o.fail("ttl_hours")
		return 0
	}
	return time.Duration(min(hours, MaxPostingTTL.Hours()) * float64(time.Hour))
}

// DecodeRemove reads a board/remove request.
func DecodeRemove(body []byte, token string) (postingID, agentID string, err error) {
	o := openObject(body)
	postingID, agentID = o.text("posting_id", MaxID), o.id("agent_id", ValidID)
	if o.err != nil {
		return "", "", o.err
	}
	if postingID == "" {
		return "", "", Required("posting_id")
	}
	agentID, err = actAs("agent_id", agentID, token)
	return postingID, agentID, err
}

// Need is something an agent looks for.
type Need struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// NeedsRequest replaces an agent's needs.
type NeedsRequest struct {
	AgentID   string
	AgentName string
	AgentMode string
	Needs     []Need
}

// DecodeNeeds reads a board/needs request, of either method.
func DecodeNeeds(body []byte, token string) (*NeedsRequest, error) {
	o := openObject(body)
	n := &NeedsRequest{AgentID: o.id("agent_id", ValidID), AgentName: o.text("agent_name", MaxName), AgentMode: o.text("agent_mode", MaxScope)}
	for _, raw := range o.list("needs", MaxNeeds) {
		part := openObject(raw)
		part.prefix = "needs."
		if part.err != nil {
			o.fail("needs")
			break
		}
		n.Needs = append(n.Needs, Need{Name: part.text("name", MaxName), Description: part.text("description", MaxDescription)})
		o.join(part)
	}
	if o.err != nil {
		return nil, o.err
	}
	var err error
	n.AgentID, err = actAs("agent_id", n.AgentID, token)
	return n, err
}

// Posting is one on the board.
type Posting struct {
	ID           string   `json:"id"`
	AgentID      string   `json:"agent_id"`
	AgentName    *string  `json:"agent_name"`
	Type         string   `json:"type"`
	SkillName    *string  `json:"skill_name"`
	SkillSummary *string  `json:"skill_summary"`
	SkillFormat  string   `json:"skill_format"`
	Tags         []string `json:"tags"`
	CreatedAt    Time     `json:"created_at"`
	ExpiresAt    Time     `json:"expires_at"`
	Metadata     Raw      `json:"metadata"`
	Proven       bool     `json:"proven"`
}

// PostAnswer answers board/post.
type PostAnswer struct {
	PostingID string `json:"posting_id"`
	Status    string `json:"status"`
	ExpiresAt Time   `json:"expires_at"`
}

// RemoveAnswer answers board/remove.
type RemoveAnswer struct {
	PostingID string `json:"posting_id"`
	Status    string `json:"status"`
}

// The status words of board answers.
const (
	StatusPosted    = "posted"
	StatusRemoved   = "removed"
	StatusPublished = "published"
)

// BrowseAnswer holds both views: the postings of the first generation, and the
// mixed entries of the second.
type BrowseAnswer struct {
	Postings           []Posting `json:"postings"`
	Count              int       `json:"count"`
	Entries            []any     `json:"entries"`
	TotalAvailable     int       `json:"total_available"`
	Returned           int       `json:"returned"`
	Sampling           string    `json:"sampling"`
	AgentsContributing int       `json:"agents_contributing"`
	PlaceTrust         Raw       `json:"place_trust"`
}

// The types of browse entries that are not postings.
const (
	EntryAgent   = "agent"
	EntryNeed    = "need"
	EntryDeposit = "deposited_skill"
)

// NeedsAnswer answers publishing and removing needs.
type NeedsAnswer struct {
	Status      string `json:"status"`
	AgentID     string `json:"agent_id"`
	NeedsCount  *int   `json:"needs_count,omitzero"`
	SessionOnly bool   `json:"session_only,omitzero"`
}
