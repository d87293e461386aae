package place

import (
	"net/http"

	"parley/protocol/mmp"
)

func (r *request) send() (answer, error) {
	req, err := mmp.DecodeSend(r.body, r.http.Header.Get("Idempotency-Key"), r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	r.body = nil // the blob is in req now; a large body need not stay for the wait
	out, err := r.d.Place.Send(r.http.Context(), r.who, req)
	if out.Duplicate {
		return answer{http.StatusOK, out}, err
	}
	return created(out, err)
}

func (r *request) receive() (answer, error) {
	q, err := mmp.ParseReceiveQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Receive(r.http.Context(), r.who, q))
}

func (r *request) peek() (answer, error) {
	q, err := mmp.ParseReceiveQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Peek(r.http.Context(), r.who, q))
}

func (r *request) queueStatus() (answer, error) {
	agent, err := mmp.ParseAgentQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.QueueStatus(r.http.Context(), r.who, agent))
}

func (r *request) relayStats() (answer, error) {
	return ok(r.d.Place.RelayStats(r.http.Context(), r.who))
}

func (r *request) ack() (answer, error) {
	req, err := mmp.DecodeAck(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Ack(r.http.Context(), r.who, req))
}

func (r *request) sent() (answer, error) {
	q, err := mmp.ParseSentQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Sent(r.http.Context(), r.who, q))
}
