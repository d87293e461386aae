package board

import (
	"slices"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
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
	Metadata     mmp.Raw
}

// DecodePost reads a posting; token is the id of the token it came with, if any.
func DecodePost(body []byte, token string) (*PostRequestBody, error) {
	o := mmp.OpenObject(body)
	p := &PostRequestBody{
		AgentID: o.ID("agent_id", mmp.ValidID), AgentName: o.Text("agent_name", mmp.MaxName), Type: o.Text("type", mmp.MaxScope),
		SkillName: o.Text("skill_name", mmp.MaxName), SkillSummary: o.Text("skill_summary", mmp.MaxSummary),
		SkillFormat: o.TextOr("skill_format", mmp.MaxScope, meeting.FormatMarkdown),
		Tags:        o.Texts("tags", mmp.MaxTags, mmp.MaxTag), TTL: readTTL(o),
		Metadata: o.Raw("metadata", mmp.MaxRawField, '{'),
	}
	if o.Err() != nil {
		return nil, o.Err()
	}
	var err error
	if p.AgentID, err = mmp.ActingAgent("agent_id", p.AgentID, token); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{PostOffer, PostRequest, PostAnnouncement}, p.Type) {
		return nil, mmp.ErrInvalidType
	}
	return p, nil
}

// readTTL takes fractions of an hour too; what is too long becomes the longest.
func readTTL(o *mmp.Object) time.Duration {
	hours, ok := o.Number("ttl_hours")
	if !ok {
		return mmp.DefaultPostingTTL
	}
	if hours <= 0 {
		o.Fail("ttl_hours")
		return 0
	}
	return time.Duration(min(hours, mmp.MaxPostingTTL.Hours()) * float64(time.Hour))
}

// DecodeRemove reads a board/remove request.
func DecodeRemove(body []byte, token string) (postingID, agentID string, err error) {
	o := mmp.OpenObject(body)
	postingID, agentID = o.Text("posting_id", mmp.MaxID), o.ID("agent_id", mmp.ValidID)
	if o.Err() != nil {
		return "", "", o.Err()
	}
	if postingID == "" {
		return "", "", mmp.Required("posting_id")
	}
	agentID, err = mmp.ActingAgent("agent_id", agentID, token)
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
	o := mmp.OpenObject(body)
	n := &NeedsRequest{AgentID: o.ID("agent_id", mmp.ValidID), AgentName: o.Text("agent_name", mmp.MaxName), AgentMode: o.Text("agent_mode", mmp.MaxScope)}
	for _, raw := range o.List("needs", mmp.MaxNeeds) {
		part := mmp.OpenPart(raw, "needs.")
		if part.Err() != nil {
			o.Fail("needs")
			break
		}
		n.Needs = append(n.Needs, Need{Name: part.Text("name", mmp.MaxName), Description: part.Text("description", mmp.MaxDescription)})
		o.Join(part)
	}
	if o.Err() != nil {
		return nil, o.Err()
	}
	var err error
	n.AgentID, err = mmp.ActingAgent("agent_id", n.AgentID, token)
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
	CreatedAt    mmp.Time `json:"created_at"`
	ExpiresAt    mmp.Time `json:"expires_at"`
	Metadata     mmp.Raw  `json:"metadata"`
	Proven       bool     `json:"proven"`
}

// PostAnswer answers board/post.
type PostAnswer struct {
	PostingID string   `json:"posting_id"`
	Status    string   `json:"status"`
	ExpiresAt mmp.Time `json:"expires_at"`
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
	PlaceTrust         mmp.Raw   `json:"place_trust"`
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
