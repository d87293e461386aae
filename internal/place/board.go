package place

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

const postingQuery = `SELECT p.id, p.agent, p.agent_name, p.type, p.skill_name, p.summary, p.format, p.tags, p.metadata, p.created_at, p.expires_at,
	` + provenSince + `, COALESCE(a.name, '')
	FROM place_postings p LEFT JOIN place_keys k ON k.agent = p.agent LEFT JOIN place_agents a ON a.id = p.agent`

func scanPosting(r store.Row) (board.Posting, error) {
	var p board.Posting
	var name, skill, summary, tags, metadata, registered string
	var created, expires, proven int64
	err := r.Scan(&p.ID, &p.AgentID, &name, &p.Type, &skill, &summary, &p.SkillFormat, &tags, &metadata, &created, &expires, &proven, &registered)
	if err != nil {
		return p, err
	}
	if name == "" {
		name = registered
	}
	p.AgentName, p.SkillName, p.SkillSummary = optional(name), optional(skill), optional(summary)
	p.CreatedAt, p.ExpiresAt, p.Metadata, p.Proven = mmp.At(store.Time(created)), mmp.At(store.Time(expires)), raw(metadata), proven != 0 && created >= proven
	p.Tags, err = texts(tags)
	return p, err
}

// texts reads a list of texts out of the store.
func texts(encoded string) ([]string, error) {
	out := []string{}
	if encoded == "" {
		return out, nil
	}
	err := mmp.Decode([]byte(encoded), &out)
	return out, err
}

func encodeTexts(list []string) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	encoded, err := mmp.Encode(list)
	return string(encoded), err
}

// Post puts a posting on the board.
func (p *Place) Post(ctx context.Context, who Visitor, req *board.PostRequestBody) (board.PostAnswer, error) {
	err := errors.Join(shown("agent_name", req.AgentName, "skill_name", req.SkillName, "skill_format", req.SkillFormat), clean("skill_summary", req.SkillSummary))
	if err != nil {
		return board.PostAnswer{}, err
	}
	tags, err := encodeTexts(req.Tags)
	if err != nil {
		return board.PostAnswer{}, mmp.InvalidField("tags")
	}
	now := p.now()
	ttl := req.TTL
	if ttl == mmp.DefaultPostingTTL {
		ttl = p.c.PostingTTL
	}
	out := board.PostAnswer{PostingID: mmp.NewPostingID(), Status: board.StatusPosted, ExpiresAt: mmp.At(now.Add(ttl))}
	err = p.write(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, req.AgentID); err != nil {
			return err
		}
		var living int
		if err := tx.QueryRow(`SELECT count(*) FROM place_postings WHERE agent = ? AND expires_at > ?`, req.AgentID, store.Micros(now)).Scan(&living); err != nil {
			return err
		}
		if living >= p.c.PostingLimit {
			return mmp.MaxPostings(p.c.PostingLimit)
		}
		_, err := tx.Exec(`INSERT INTO place_postings (id, agent, agent_name, type, skill_name, summary, format, tags, metadata, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, out.PostingID, req.AgentID, req.AgentName, req.Type, req.SkillName, req.SkillSummary,
			req.SkillFormat, tags, string(req.Metadata), store.Micros(now), store.Micros(out.ExpiresAt.Time))
		if err != nil {
			return err
		}
		return p.note(tx, board.AuditEntry{EventType: board.AuditBulletin, Action: "post", AgentID: req.AgentID, PostingID: out.PostingID})
	})
	if err != nil {
		return board.PostAnswer{}, err
	}
	p.figures.stale()
	return out, nil
}

// RemovePosting takes a posting down: its agent may, that agent's person, and the operator.
func (p *Place) RemovePosting(ctx context.Context, who Visitor, id, agent string) (board.RemoveAnswer, error) {
	mine, err := p.reach(ctx, who)
	if err != nil {
		return board.RemoveAnswer{}, err
	}
	err = p.write(ctx, func(tx *store.Tx) error {
		if !who.OfHub() {
			if _, err := p.guard(tx, who, agent); err != nil {
				return err
			}
		}
		posting, err := p.living(tx, id)
		if errors.Is(err, mmp.ErrPostingNotFound) {
			return mmp.ErrRemoveNotFound
		}
		if err != nil {
			return err
		}
		if !mine.Has(posting.AgentID) && (who.OfHub() || posting.AgentID != agent) {
			return mmp.ErrRemoveNotAuthorized
		}
		if _, err := tx.Exec(`DELETE FROM place_postings WHERE id = ?`, id); err != nil {
			return err
		}
		return p.note(tx, board.AuditEntry{EventType: board.AuditBulletin, Action: "remove", AgentID: posting.AgentID, PostingID: id})
	})
	if err != nil {
		return board.RemoveAnswer{}, err
	}
	p.figures.stale()
	return board.RemoveAnswer{PostingID: id, Status: board.StatusRemoved}, nil
}

func (p *Place) living(tx *store.Tx, id string) (board.Posting, error) {
	if clean("posting_id", id) != nil {
		return board.Posting{}, mmp.ErrPostingNotFound
	}
	posting, err := scanPosting(tx.QueryRow(postingQuery+` WHERE p.id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) || err == nil && !posting.ExpiresAt.After(p.now()) {
		return posting, mmp.ErrPostingNotFound
	}
	return posting, err
}

// Posting shows one.
func (p *Place) Posting(ctx context.Context, who Visitor, id string) (out board.Posting, err error) {
	if err := p.admit(who); err != nil {
		return out, err
	}
	err = p.read(ctx, func(tx *store.Tx) (err error) {
		out, err = p.living(tx, id)
		return err
	})
	return out, err
}

// postings collects the newest that match.
func (p *Place) postings(tx *store.Tx, q board.BrowseQuery) (out []board.Posting, err error) {
	out = []board.Posting{}
	if q.Limit == 0 {
		return out, nil
	}
	query, args := postingQuery+` WHERE p.expires_at > ?`, []any{store.Micros(p.now())}
	if q.AgentID != "" {
		query, args = query+` AND p.agent = ?`, append(args, q.AgentID)
	}
	errDone := errors.New("enough")
	err = tx.Each(func(r *sql.Rows) error {
		posting, err := scanPosting(r)
		if err != nil {
			return err
		}
		if matchesPosting(q, posting) {
			out = append(out, posting)
		}
		if len(out) >= q.Limit {
			return errDone
		}
		return nil
	}, query+` ORDER BY p.created_at DESC, p.id DESC`, args...)
	if errors.Is(err, errDone) {
		err = nil
	}
	return out, err
}

func matchesPosting(q board.BrowseQuery, p board.Posting) bool {
	switch {
	case q.Type != "" && p.Type != q.Type, q.SkillFormat != "" && p.SkillFormat != q.SkillFormat:
		return false
	case len(q.Tags) > 0 && !slices.ContainsFunc(q.Tags, func(t string) bool { return slices.Contains(p.Tags, t) }):
		return false
	}
	return q.Search == "" || contains(text(p.SkillName), q.Search) || contains(text(p.SkillSummary), q.Search)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// MyPostings lists an agent's own.
func (p *Place) MyPostings(ctx context.Context, who Visitor, agent string) (board.BrowseAnswer, error) {
	return p.Browse(ctx, who, board.BrowseQuery{AgentID: agent, Limit: 500})
}

// Needs live as long as a session would.
const needsLife = 24 * time.Hour

// PublishNeeds replaces what an agent looks for.
func (p *Place) PublishNeeds(ctx context.Context, who Visitor, req *board.NeedsRequest) (board.NeedsAnswer, error) {
	names, texts := []string{"agent_name", req.AgentName, "agent_mode", req.AgentMode}, []string{}
	for _, n := range req.Needs {
		names, texts = append(names, "needs", n.Name), append(texts, "needs", n.Description)
	}
	if err := errors.Join(shown(names...), clean(texts...)); err != nil {
		return board.NeedsAnswer{}, err
	}
	encoded, err := mmp.Encode(req.Needs)
	if err != nil {
		return board.NeedsAnswer{}, mmp.InvalidField("needs")
	}
	now := p.now()
	err = p.write(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, req.AgentID); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO place_needs (agent, agent_name, agent_mode, needs, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (agent) DO UPDATE SET agent_name = excluded.agent_name, agent_mode = excluded.agent_mode, needs = excluded.needs,
				created_at = excluded.created_at, expires_at = excluded.expires_at`,
			req.AgentID, req.AgentName, req.AgentMode, string(encoded), store.Micros(now), store.Micros(now.Add(needsLife)))
		if err != nil {
			return err
		}
		return p.note(tx, board.AuditEntry{EventType: board.AuditBulletin, Action: "needs", AgentID: req.AgentID})
	})
	count := len(req.Needs)
	return board.NeedsAnswer{Status: board.StatusPublished, AgentID: req.AgentID, NeedsCount: &count, SessionOnly: true}, err
}

// RemoveNeeds forgets what an agent looks for.
func (p *Place) RemoveNeeds(ctx context.Context, who Visitor, agent string) (board.NeedsAnswer, error) {
	err := p.write(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, agent); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM place_needs WHERE agent = ?`, agent)
		return err
	})
	return board.NeedsAnswer{Status: board.StatusRemoved, AgentID: agent}, err
}

func needsOf(tx *store.Tx, agent string, now time.Time) ([]board.Need, error) {
	out := []board.Need{}
	var encoded string
	err := tx.QueryRow(`SELECT needs FROM place_needs WHERE agent = ? AND expires_at > ?`, agent, store.Micros(now)).Scan(&encoded)
	if errors.Is(err, sql.ErrNoRows) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	return out, mmp.Decode([]byte(encoded), &out)
}

// Profile is all the place knows about an agent.
func (p *Place) Profile(ctx context.Context, who Visitor, id string) (board.ProfileAnswer, error) {
	var out board.ProfileAnswer
	agent, err := p.Agent(ctx, who, id)
	if err != nil {
		return out, err
	}
	out.Agent = agent
	err = p.read(ctx, func(tx *store.Tx) (err error) {
		if out.DepositedSkills, err = p.depositsOf(tx, id); err != nil {
			return err
		}
		if out.Needs, err = needsOf(tx, id, p.now()); err != nil {
			return err
		}
		out.Postings, err = p.postings(tx, board.BrowseQuery{AgentID: id, Limit: 500})
		return err
	})
	out.DepositCount = len(out.DepositedSkills)
	return out, err
}
