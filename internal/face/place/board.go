package place

import (
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

func (r *request) post() (answer, error) {
	req, err := board.DecodePost(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return created(r.d.Place.Post(r.http.Context(), r.who, req))
}

func (r *request) remove() (answer, error) {
	id, agent, err := board.DecodeRemove(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.RemovePosting(r.http.Context(), r.who, id, agent))
}

func (r *request) browse() (answer, error) {
	q, err := board.ParseBrowseQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Browse(r.http.Context(), r.who, q))
}

func (r *request) posting() (answer, error) {
	return ok(r.d.Place.Posting(r.http.Context(), r.who, r.arg))
}

func (r *request) myPostings() (answer, error) {
	agent, err := board.ParseAgentQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.MyPostings(r.http.Context(), r.who, agent))
}

func (r *request) publishNeeds() (answer, error) {
	req, err := board.DecodeNeeds(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.PublishNeeds(r.http.Context(), r.who, req))
}

func (r *request) removeNeeds() (answer, error) {
	req, err := board.DecodeNeeds(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.RemoveNeeds(r.http.Context(), r.who, req.AgentID))
}

func (r *request) deposit() (answer, error) {
	if r.who.Agent == "" {
		return answer{}, mmp.ErrAuthRequired
	}
	req, err := board.DecodeDeposit(r.body, "")
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Deposit(r.http.Context(), r.who, req))
}

func (r *request) updateDeposit() (answer, error) {
	if r.who.Agent == "" {
		return answer{}, mmp.ErrAuthRequired
	}
	if !mmp.ValidID(r.arg) {
		return answer{}, mmp.ErrDepositNotFound
	}
	req, err := board.DecodeDeposit(r.body, r.arg)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.UpdateDeposit(r.http.Context(), r.who, req))
}

func (r *request) withdraw() (answer, error) {
	if r.who.Agent == "" {
		return answer{}, mmp.ErrAuthRequired
	}
	reason, err := board.DecodeWithdraw(r.body)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Withdraw(r.http.Context(), r.who, r.arg, reason))
}

func (r *request) preview() (answer, error) {
	q, err := board.ParsePreviewQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Preview(r.http.Context(), r.who, r.arg, q))
}

func (r *request) skillContent() (answer, error) {
	q, err := board.ParsePreviewQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.SkillContent(r.http.Context(), r.who, r.arg, q.Owner))
}

func (r *request) attest() (answer, error) {
	if r.who.Agent == "" {
		return answer{}, mmp.ErrAuthRequired
	}
	req, err := board.DecodeAttest(r.body)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Attest(r.http.Context(), r.who, req))
}
