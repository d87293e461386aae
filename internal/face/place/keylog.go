package place

import (
	"math"

	"parley.internal/protocol/mmp"
)

func (r *request) keyHead() (answer, error) { return ok(r.d.Place.KeyHead(r.http.Context())) }

func (r *request) keyConsistency() (answer, error) {
	q := mmp.OpenQuery(r.query)
	from, to := q.Count("from", 0, 0, math.MaxInt), q.Count("to", 0, 0, math.MaxInt)
	if q.Err() != nil {
		return answer{}, q.Err()
	}
	return ok(r.d.Place.KeyConsistency(r.http.Context(), int64(from), int64(to)))
}

func (r *request) keyHistory() (answer, error) {
	id := r.query.Get("agent_id")
	if !mmp.ValidID(id) {
		return answer{}, mmp.ErrInvalidID
	}
	return ok(r.d.Place.KeyHistory(r.http.Context(), r.who, id))
}

func (r *request) seenHeads() (answer, error) {
	return ok(r.d.Place.Heads(r.http.Context(), r.who))
}

func (r *request) handOver() (answer, error) {
	heads, err := mmp.DecodeHeads(r.body)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.HandOver(r.http.Context(), r.who, heads))
}
