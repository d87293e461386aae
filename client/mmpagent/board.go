package mmpagent

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"parley.internal/protocol/mmp/board"
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
