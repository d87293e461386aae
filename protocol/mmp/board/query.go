package board

import (
	"net/url"
	"strings"
	"time"

	"parley.internal/protocol/mmp"
)

// AgentsQuery filters /agents. A limit of 0 means all.
type AgentsQuery struct {
	Scope, Capability, Search  string
	IncludeSelf, IncludeRemote bool
	Limit                      int
}

// ParseAgentsQuery reads the filter.
func ParseAgentsQuery(v url.Values) (AgentsQuery, error) {
	q := mmp.OpenQuery(v)
	out := AgentsQuery{
		Scope: q.Text("scope", mmp.MaxScope), Capability: q.Text("capability", mmp.MaxScope), Search: q.Text("search", mmp.MaxSearch),
		IncludeSelf: q.Flag("include_self", true), IncludeRemote: q.Flag("include_remote", true),
		Limit: q.Count("limit", 0, 0, 10_000),
	}
	return out, q.Err()
}

// BrowseQuery filters the board.
type BrowseQuery struct {
	Type, AgentID, SkillFormat, Search string
	Tags                               []string
	Limit                              int
}

// ParseBrowseQuery reads the filter.
func ParseBrowseQuery(v url.Values) (BrowseQuery, error) {
	q := mmp.OpenQuery(v)
	b := BrowseQuery{
		Type: q.Text("type", mmp.MaxScope), AgentID: q.Text("agent_id", mmp.MaxID), SkillFormat: q.Text("skill_format", mmp.MaxScope),
		Search: q.Text("search", mmp.MaxSearch), Limit: q.Count("limit", 50, 0, 500),
	}
	for tag := range strings.SplitSeq(q.Text("tags", mmp.MaxTags*(mmp.MaxTag+1)), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			b.Tags = append(b.Tags, tag)
		}
	}
	return b, q.Err()
}

// ParseAgentQuery reads a query that only names the acting agent.
func ParseAgentQuery(v url.Values, token string) (string, error) {
	q := mmp.OpenQuery(v)
	id := q.Agent(token)
	return id, q.Err()
}

// AuditQuery filters /audit.
type AuditQuery struct {
	Limit         int
	Type, AgentID string
	Since         time.Time
}

// ParseAuditQuery reads it.
func ParseAuditQuery(v url.Values) (AuditQuery, error) {
	q := mmp.OpenQuery(v)
	out := AuditQuery{
		Limit: q.Count("limit", 100, 0, 10_000), Type: q.Text("type", mmp.MaxScope),
		AgentID: q.Text("agent_id", mmp.MaxID), Since: q.Time("since"),
	}
	return out, q.Err()
}

// ParseHours reads how far back audit/stats looks.
func ParseHours(v url.Values) (int, error) {
	q := mmp.OpenQuery(v)
	hours := q.Count("hours", 24, 1, 400*24)
	return hours, q.Err()
}

// PreviewQuery is a look at a deposit.
type PreviewQuery struct {
	Owner string
	Lines int
}

// ParsePreviewQuery reads it.
func ParsePreviewQuery(v url.Values) (PreviewQuery, error) {
	q := mmp.OpenQuery(v)
	out := PreviewQuery{Owner: q.Text("owner", mmp.MaxID), Lines: q.Count("first_lines", 30, 1, 100)}
	return out, q.Err()
}
