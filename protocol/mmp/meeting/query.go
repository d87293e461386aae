package meeting

import (
	"net/url"

	"parley.internal/protocol/mmp"
)

// SkillQuery names a skill at a direct endpoint, by id or name.
type SkillQuery struct {
	SkillID string
	Lines   int
}

// ParseSkillQuery reads it.
func ParseSkillQuery(v url.Values) (SkillQuery, error) {
	q := mmp.OpenQuery(v)
	s := SkillQuery{SkillID: q.Text("skill_id", mmp.MaxName), Lines: q.Count("lines", 20, 1, 20)}
	if s.SkillID == "" {
		q.Refuse(mmp.ErrMissingParam)
	}
	return s, q.Err()
}

// HistoryQuery looks back at direct interactions.
type HistoryQuery struct {
	PeerID string
	Limit  int
}

// ParseHistoryQuery reads it.
func ParseHistoryQuery(v url.Values) (HistoryQuery, error) {
	q := mmp.OpenQuery(v)
	out := HistoryQuery{PeerID: q.Text("peer_id", 2*mmp.MaxID), Limit: q.Count("limit", 50, 0, 1000)}
	return out, q.Err()
}
