package board

import (
	"parley.internal/protocol/viber"
)

// respond answers a question. What is recorded comes back, whoever was first.
func (r *request) respond(p *viber.ApprovalResponse) {
	ctx, cancel := r.act()
	defer cancel()
	if err := r.c.desk.Answer(ctx, r.who(), p, r.id); err != nil {
		r.fail(err, "")
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
