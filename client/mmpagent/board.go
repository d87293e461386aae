package mmpagent

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// Posting is what an agent puts on the board.
type Posting struct {
	Type    string // mmp.PostOffer, PostRequest or PostAnnouncement
	Skill   string
	Summary string
	Format  string
	Tags    []string
	TTL     time.Duration // 0 for the place's usual
}

// Post puts it there.
func (a *Agent) Post(ctx context.Context, p Posting) (out board.PostAnswer, err error) {
	body := map[string]any{"agent_id": a.ID(), "agent_name": a.opts.Name, "type": p.Type, "skill_name": p.Skill, "skill_summary": p.Summary, "tags": p.Tags}
	if p.Format != "" {
		body["skill_format"] = p.Format
	}
	if p.TTL > 0 {
		body["ttl_hours"] = p.TTL.Hours()
	}
	err = a.call(ctx, request{method: "POST", path: "/board/post", body: body}, &out)
	return out, err
}

// RemovePosting takes one of the agent's own down.
func (a *Agent) RemovePosting(ctx context.Context, id string) error {
	return a.call(ctx, request{method: "POST", path: "/board/remove", body: map[string]string{"posting_id": id, "agent_id": a.ID()}}, nil)
}

// Browse looks at the board.
func (a *Agent) Browse(ctx context.Context, q board.BrowseQuery) ([]board.Posting, error) {
	v := url.Values{}
	for name, value := range map[string]string{
		"type": q.Type, "agent_id": q.AgentID, "skill_format": q.SkillFormat, "search": q.Search, "tags": strings.Join(q.Tags, ","),
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", fmt.Sprint(q.Limit))
	}
	var out struct {
		Postings []board.Posting `json:"postings"`
	}
	err := a.call(ctx, request{method: "GET", path: "/board/browse", query: v}, &out)
	return out.Postings, err
}

// Skill is one to deposit.
type Skill struct {
	ID, Name, Description, Summary string
	Tags                           []string
	Content                        string
}

// Deposit puts a skill on the place's shelf, signed.
func (a *Agent) Deposit(ctx context.Context, s Skill) (out board.DepositAnswer, err error) {
	if a.ring().RSA == nil {
		return out, ErrUnsigned
	}
	sig, err := mmp.SignContent(a.ring().RSA, s.Content)
	if err != nil {
		return out, err
	}
	err = a.call(ctx, request{method: "POST", path: "/deposit", body: map[string]any{
		"skill_id": s.ID, "name": s.Name, "description": s.Description, "summary": s.Summary, "tags": s.Tags, "format": meeting.FormatMarkdown,
		"content": s.Content, "content_hash": mmp.HashOf(s.Content).Bare(), "signature": sig,
	}}, &out)
	return out, err
}

// Withdraw takes one's own skill from the shelf.
func (a *Agent) Withdraw(ctx context.Context, skillID, reason string) error {
	return a.call(ctx, request{method: "DELETE", path: "/deposit/" + url.PathEscape(skillID), body: map[string]string{"reason": reason}}, nil)
}

// SkillContent fetches a deposited skill and checks its hash.
func (a *Agent) SkillContent(ctx context.Context, skillID, owner string) (out board.ContentAnswer, err error) {
	v := url.Values{}
	if owner != "" {
		v.Set("owner", owner)
	}
	err = a.call(ctx, request{method: "GET", path: "/skill_content/" + url.PathEscape(skillID), query: v}, &out)
	if err == nil && !mmp.HashFits(out.ContentHash, out.Content) {
		err = fmt.Errorf("skill %s: %s", skillID, meeting.TextHashMismatch)
	}
	return out, err
}
