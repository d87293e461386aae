package mmp

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// query reads URL parameters; the first problem stays.
type query struct {
	values url.Values
	err    error
}

func (q *query) fail(name string) {
	if q.err == nil {
		q.err = InvalidParam(name)
	}
}

func (q *query) text(name string, limit int) string {
	s := q.values.Get(name)
	if utf8.RuneCountInString(s) > limit || !utf8.ValidString(s) {
		q.fail(name)
		return ""
	}
	return s
}

// count reads a whole number; too large becomes the maximum, too small the
// minimum, which for most is zero, so that a negative one is refused first.
func (q *query) count(name string, otherwise, low, high int) int {
	s := q.values.Get(name)
	if s == "" {
		return otherwise
	}
	if strings.Trim(s, "0123456789") != "" {
		q.fail(name)
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return high // only digits, and too many of them
	}
	return max(low, min(n, high))
}

func (q *query) flag(name string, otherwise bool) bool {
	switch q.values.Get(name) {
	case "":
		return otherwise
	case "true", "1", "yes":
		return true
	case "false", "0", "no":
		return false
	}
	q.fail(name)
	return otherwise
}

func (q *query) time(name string) time.Time {
	s := q.values.Get(name)
	if s == "" {
		return time.Time{}
	}
	t, err := ParseTime(s)
	if err != nil {
		q.fail(name)
	}
	return t
}

// agent reads the acting agent; a token fills it in or contradicts it.
func (q *query) agent(token string) string {
	id := q.text("agent_id", MaxID*2)
	if id != "" && !ValidID(id) && q.err == nil {
		q.err = ErrInvalidID
	}
	if q.err != nil {
		return ""
	}
	id, q.err = actAs("agent_id", id, token)
	return id
}

// AgentsQuery filters /agents. A limit of 0 means all.
type AgentsQuery struct {
	Scope, Capability, Search  string
	IncludeSelf, IncludeRemote bool
	Limit                      int
}

// ParseAgentsQuery reads the filter.
func ParseAgentsQuery(v url.Values) (AgentsQuery, error) {
	q := query{values: v}
	out := AgentsQuery{
		Scope: q.text("scope", MaxScope), Capability: q.text("capability", MaxScope), Search: q.text("search", MaxSearch),
		IncludeSelf: q.flag("include_self", true), IncludeRemote: q.flag("include_remote", true),
		Limit: q.count("limit", 0, 0, 10_000),
	}
	return out, q.err
}

// BrowseQuery filters the board.
type BrowseQuery struct {
	Type, AgentID, SkillFormat, Search string
	Tags                               []string
	Limit                              int
}

// ParseBrowseQuery reads the filter.
func ParseBrowseQuery(v url.Values) (BrowseQuery, error) {
	q := query{values: v}
	b := BrowseQuery{
		Type: q.text("type", MaxScope), AgentID: q.text("agent_id", MaxID), SkillFormat: q.text("skill_format", MaxScope),
		Search: q.text("search", MaxSearch), Limit: q.count("limit", 50, 0, 500),
	}
	for tag := range strings.SplitSeq(q.text("tags", MaxTags*(MaxTag+1)), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			b.Tags = append(b.Tags, tag)
		}
	}
	return b, q.err
}

// ParseAgentQuery reads a query that only names the acting agent.
func ParseAgentQuery(v url.Values, token string) (string, error) {
	q := query{values: v}
	id := q.agent(token)
	return id, q.err
}

// ReceiveQuery is a relay/receive or relay/peek.
type ReceiveQuery struct {
	AgentID   string
	Limit     int
	Wait      time.Duration
	ManualAck bool
	Lease     time.Duration
}

// ParseReceiveQuery reads it.
func ParseReceiveQuery(v url.Values, token string) (ReceiveQuery, error) {
	q := query{values: v}
	r := ReceiveQuery{
		AgentID: q.agent(token), Limit: q.count("limit", 10, 0, 100),
		Wait:  seconds(q.count("wait", 0, 0, int(MaxWait.Seconds()))),
		Lease: seconds(q.count("lease", int(DefaultLease.Seconds()), int(MinLease.Seconds()), int(MaxLease.Seconds()))),
	}
	switch v.Get("ack") {
	case "", "auto":
	case "manual":
		r.ManualAck = true
	default:
		q.fail("ack")
	}
	return r, q.err
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// SentQuery is a relay/sent.
type SentQuery struct {
	AgentID, RelayID string
	Limit            int
}

// ParseSentQuery reads it.
func ParseSentQuery(v url.Values, token string) (SentQuery, error) {
	q := query{values: v}
	out := SentQuery{AgentID: q.agent(token), RelayID: q.text("relay_id", MaxID), Limit: q.count("limit", 50, 0, 500)}
	return out, q.err
}

// AuditQuery filters /audit.
type AuditQuery struct {
	Limit         int
	Type, AgentID string
	Since         time.Time
}

// ParseAuditQuery reads it.
func ParseAuditQuery(v url.Values) (AuditQuery, error) {
	q := query{values: v}
	out := AuditQuery{
		Limit: q.count("limit", 100, 0, 10_000), Type: q.text("type", MaxScope),
		AgentID: q.text("agent_id", MaxID), Since: q.time("since"),
	}
	return out, q.err
}

// ParseHours reads how far back audit/stats looks.
func ParseHours(v url.Values) (int, error) {
	q := query{values: v}
	hours := q.count("hours", 24, 1, 400*24)
	return hours, q.err
}

// PreviewQuery is a look at a deposit.
type PreviewQuery struct {
	Owner string
	Lines int
}

// ParsePreviewQuery reads it.
func ParsePreviewQuery(v url.Values) (PreviewQuery, error) {
	q := query{values: v}
	out := PreviewQuery{Owner: q.text("owner", MaxID), Lines: q.count("first_lines", 30, 1, 100)}
	return out, q.err
}

// SkillQuery names a skill at a direct endpoint, by id or name.
type SkillQuery struct {
	SkillID string
	Lines   int
}

// ParseSkillQuery reads it.
func ParseSkillQuery(v url.Values) (SkillQuery, error) {
	q := query{values: v}
	s := SkillQuery{SkillID: q.text("skill_id", MaxName), Lines: q.count("lines", 20, 1, 20)}
	if q.err == nil && s.SkillID == "" {
		q.err = ErrMissingParam
	}
	return s, q.err
}

// HistoryQuery looks back at direct interactions.
type HistoryQuery struct {
	PeerID string
	Limit  int
}

// ParseHistoryQuery reads it.
func ParseHistoryQuery(v url.Values) (HistoryQuery, error) {
	q := query{values: v}
	out := HistoryQuery{PeerID: q.text("peer_id", 2*MaxID), Limit: q.count("limit", 50, 0, 1000)}
	return out, q.err
}
