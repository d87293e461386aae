package mmpagent

import (
	"context"
	"fmt"
	"net/url"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// Skill is one to deposit.
type Skill struct {
	ID, Name, Description, Summary string
	Tags                           []string
	Content                        string
	// Provenance is the way it came, with this agent at its end; nil for none.
	Provenance *meeting.Provenance
}

// Deposit puts a skill on the place's shelf, signed. What lies there already under that id
// is replaced.
func (a *Agent) Deposit(ctx context.Context, s Skill) (out board.DepositAnswer, err error) {
	if a.ring().RSA == nil {
		return out, ErrUnsigned
	}
	sig, err := mmp.SignContent(a.ring().RSA, s.Content)
	if err != nil {
		return out, err
	}
	body := map[string]any{
		"skill_id": s.ID, "name": s.Name, "description": s.Description, "summary": s.Summary, "tags": append([]string{}, s.Tags...), "format": meeting.FormatMarkdown,
		"content": s.Content, "content_hash": mmp.HashOf(s.Content).Bare(), "signature": sig,
	}
	if s.Provenance != nil {
		body["provenance"] = s.Provenance
	}
	err = a.call(ctx, request{method: "POST", path: "/deposit", body: body}, &out)
	return out, err
}

// Deposits lists skills on the place's shelf: those that fit the search, or all, of the
// owner or of everybody.
func (a *Agent) Deposits(ctx context.Context, owner, search string, limit int) ([]board.Deposit, error) {
	v := url.Values{"limit": {fmt.Sprint(limit)}}
	for name, value := range map[string]string{"agent_id": owner, "search": search} {
		if value != "" {
			v.Set(name, value)
		}
	}
	var out struct {
		Entries []mmp.Raw `json:"entries"`
	}
	if err := a.call(ctx, request{method: "GET", path: "/board/browse", query: v}, &out); err != nil {
		return nil, err
	}
	var found []board.Deposit
	for _, raw := range out.Entries {
		var d board.Deposit
		if mmp.DecodeTolerant(raw, &d) != nil || d.Type != board.EntryDeposit {
			continue
		}
		if d.DepositorID = orElse(d.DepositorID, d.AgentID); owner == "" || d.DepositorID == owner {
			found = append(found, d)
		}
	}
	return found, nil
}

// Preview shows a deposited skill with its first lines, and what others say of it.
func (a *Agent) Preview(ctx context.Context, skillID, owner string) (out board.Deposit, err error) {
	err = a.call(ctx, request{method: "GET", path: "/preview/" + url.PathEscape(skillID), query: url.Values{"owner": {owner}}}, &out)
	return out, err
}

// Attest says something about another agent's deposited skill, signed for the text it has
// now.
func (a *Agent) Attest(ctx context.Context, skillID, owner, claim string) error {
	if a.ring().RSA == nil {
		return ErrUnsigned
	}
	d, err := a.Preview(ctx, skillID, owner)
	if err != nil {
		return err
	}
	about, err := mmp.ParseHash(d.ContentHash)
	if err != nil {
		return err
	}
	payload := "about a skill\n" + owner + "\n" + skillID + "\n" + about.Bare() + "\n" + claim
	sig, err := mmp.SignContent(a.ring().RSA, payload)
	if err != nil {
		return err
	}
	return a.call(ctx, request{method: "POST", path: "/board/attest", body: map[string]string{
		"skill_id": skillID, "owner_agent_id": owner, "claim": claim, "evidence_hash": about.Bare(), "signature": sig, "signed_payload": payload,
	}}, nil)
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
