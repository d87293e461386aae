package place

import (
	"net/http"

	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

func (r *request) health() (answer, error) { return ok(r.d.Place.Health(r.http.Context())) }

func (r *request) info() (answer, error) { return ok(r.d.Place.Info(r.http.Context(), r.who)) }

func (r *request) stats() (answer, error) { return ok(r.d.Place.Stats(r.http.Context(), r.who)) }

func (r *request) welcome() (answer, error) { return ok(r.d.Place.Welcome(r.http.Context()), nil) }

func (r *request) challenge() (answer, error) {
	id, err := board.DecodeAgentRef(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	if r.calledHere(); r.who.Called == "" {
		return answer{}, mmp.ErrAddress
	}
	return ok(r.d.Place.Challenge(r.http.Context(), r.who, id))
}

func (r *request) register() (answer, error) {
	req, err := board.DecodeRegister(r.body)
	if err != nil {
		return answer{}, err
	}
	if req.Made && r.who.Agent != "" {
		req.ID = r.who.Agent
	}
	r.calledHere()
	return ok(r.d.Place.Register(r.http.Context(), r.who, req))
}

func (r *request) heartbeat() (answer, error) {
	id, err := board.DecodeAgentRef(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Heartbeat(r.http.Context(), r.who, id))
}

func (r *request) unregister() (answer, error) {
	id, err := board.DecodeAgentRef(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Unregister(r.http.Context(), r.who, id))
}

func (r *request) agents() (answer, error) {
	q, err := board.ParseAgentsQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Agents(r.http.Context(), r.who, q))
}

// address is the path's agent; what can be nobody's id is nobody.
func (r *request) address(otherwise error) (string, error) {
	if !mmp.ValidAddress(r.arg) {
		return "", otherwise
	}
	return r.arg, nil
}

func (r *request) agent() (answer, error) {
	id, err := r.address(mmp.ErrAgentNotFound)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Agent(r.http.Context(), r.who, id))
}

func (r *request) profile() (answer, error) {
	id, err := r.address(mmp.ErrAgentNotFound)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Profile(r.http.Context(), r.who, id))
}

func (r *request) registerKey() (answer, error) {
	req, err := mmp.DecodeKey(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	r.calledHere()
	return created(r.d.Place.RegisterKey(r.http.Context(), r.who, req))
}

func (r *request) key() (answer, error) {
	id, err := r.address(mmp.ErrKeyNotFound)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Key(r.http.Context(), r.who, id))
}

func (r *request) audit() (answer, error) {
	q, err := board.ParseAuditQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Audit(r.http.Context(), r.who, q))
}

func (r *request) auditStats() (answer, error) {
	hours, err := board.ParseHours(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.AuditStats(r.http.Context(), r.who, hours))
}

// called verifies that another place makes the call.
func (r *request) called() (place.Peer, error) {
	h := r.http.Header
	return r.d.Place.PeerCall(r.http.Context(), place.InboundCall{
		Method: r.http.Method, Target: r.http.URL.RequestURI(), Body: r.body,
		Peer: h.Get(mmp.HeaderPeer), Time: h.Get(mmp.HeaderTime), Nonce: h.Get(mmp.HeaderNonce), Sig: h.Get(mmp.HeaderSignature),
	})
}

func (r *request) peerAgents() (answer, error) {
	peer, err := r.called()
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.PeerAgents(r.http.Context(), peer))
}

func (r *request) peerKey() (answer, error) {
	peer, err := r.called()
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.PeerKey(r.http.Context(), peer, r.arg))
}

func (r *request) peerRelay() (answer, error) {
	peer, err := r.called()
	if err != nil {
		return answer{}, err
	}
	var m place.Forwarded
	if mmp.Decode(r.body, &m) != nil {
		return answer{}, mmp.ErrInvalidJSON
	}
	out, err := r.d.Place.PeerRelay(r.http.Context(), peer, m)
	if out.Duplicate {
		return answer{http.StatusOK, out}, err
	}
	return created(out, err)
}
