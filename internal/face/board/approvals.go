package board

import (
	"parley/protocol/viber"
)

func approvalKey(id string) string { return "approval " + id }

// respond answers a question. What is recorded comes back, whoever was first.
func (r *request) respond(p *viber.ApprovalResponse) {
	ctx, cancel := r.act()
	defer cancel()
	claim := r.c.claim(approvalKey(p.ApprovalID), r.id)
	out, err := r.c.face.d.Work.Answer(ctx, r.who(), p)
	switch {
	case err != nil:
		r.c.unclaim(claim)
		r.fail(err, "")
	case out.Resolved == nil && out.Required != nil: // more people must agree
		r.c.unclaim(claim)
		r.answer(out.Required)
	case out.Resolved == nil:
		r.c.unclaim(claim)
		r.answer(viber.NewError(viber.CodeInternalError, "", "the answer is recorded; nothing is decided yet"))
	case !out.First:
		r.c.unclaim(claim)
		r.answer(out.Resolved)
	default:
		r.c.work.Go(func() {
			r.guard(func() { r.c.awaitClaim(claim, out.Resolved, r.c.following(out.Resolved.TaskID)) })
		})
	}
}

func (r *request) approvals() {
	ctx, cancel := r.call()
	defer cancel()
	list, err := r.c.face.d.Work.Approvals(ctx, r.who())
	if err != nil {
		r.fail(err, "")
		return
	}
	if list == nil {
		list = []viber.ApprovalRequired{}
	}
	r.answer(&viber.ApprovalListResponse{Approvals: list})
}
