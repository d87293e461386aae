package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/rest"
)

func depositOf(d board.Deposit, me string) rest.Deposit {
	out := rest.Deposit{
		SkillID: visible.Line(d.SkillID), Owner: visible.Line(d.DepositorID), Name: visible.Line(d.Name), Summary: visible.Line(d.Description), Tags: each(d.Tags, visible.Line),
		Format: visible.Line(d.Format), SizeBytes: d.SizeBytes, ContentHash: visible.Line(d.ContentHash), Deposited: d.DepositedAt.Time, Mine: d.DepositorID == me,
		Sections: each(d.Sections, visible.Line),
	}
	if s := str(d.Summary); s != "" {
		out.Summary = visible.Line(s)
	}
	out.FirstLines = visible.Text(str(d.FirstLines))
	for _, raw := range d.Attestations {
		var said struct {
			AgentID string `json:"agent_id"`
			Claim   string `json:"claim"`
			Signed  bool   `json:"signed"`
		}
		if mmp.DecodeTolerant(raw, &said) == nil && said.Claim != "" {
			out.Said = append(out.Said, rest.DepositClaim{Agent: visible.Line(said.AgentID), Claim: visible.Line(said.Claim), Signed: said.Signed})
		}
	}
	return out
}

func (r skillRoutes) deposits(ctx context.Context, who identity.Actor, in *rest.DepositQuery) (rest.Deposits, error) {
	me, found, err := r.s.As(who).Deposits(ctx, in.Agent, in.Place, in.Search, in.Limit)
	return rest.Deposits{Deposits: each(found, func(d board.Deposit) rest.Deposit { return depositOf(d, me) })}, err
}

func (r skillRoutes) deposit(ctx context.Context, who identity.Actor, in *rest.DepositRef) (rest.Deposit, error) {
	me, d, err := r.s.As(who).Deposit(ctx, in.Agent, in.Place, in.Owner, in.Skill)
	d.DepositorID = in.Owner
	return depositOf(d, me), err
}

func (r skillRoutes) acquire(ctx context.Context, who identity.Actor, in *rest.Acquisition) (rest.ReceivedSkill, error) {
	item, err := r.s.As(who).Acquire(ctx, in.Agent, in.Place, in.Owner, in.Skill)
	return receivedSkillOf(item), err
}

func (r skillRoutes) attest(ctx context.Context, who identity.Actor, in *rest.Attestation) (rest.None, error) {
	return rest.None{}, r.s.As(who).Attest(ctx, in.Agent, in.Place, in.Owner, in.Skill, in.Claim)
}
