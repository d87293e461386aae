package place

import (
	"errors"
	"time"

	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// hosts is who speaks here; nobody hosts any when it is missing.
func (r *request) hosts() (place.Meeting, error) {
	m := r.meeting.Load()
	if m == nil {
		return nil, mmp.ErrNotFound
	}
	return *m, nil
}

// named is the agent a direct call is for: the query's, or the front agent.
func (r *request) named() string { return r.query.Get("agent") }

// admitted wants a token where the policy does.
func (r *request) admitted() (place.Meeting, error) {
	if r.d.Place.Policy() == place.Strict && r.who.Agent == "" && !r.who.OfHub() {
		return nil, mmp.ErrAuthRequired
	}
	return r.hosts()
}

func (r *request) introduction() (answer, error) {
	m, err := r.hosts()
	if err != nil {
		return answer{}, err
	}
	in, message, err := m.Introduction(r.http.Context(), r.named())
	if err == nil && r.query.Get("nonce") != "" {
		r.calledHere()
		in.Proof, err = m.Encounter(r.http.Context(), r.named(), mmp.Encounter{Address: r.who.Called, Caller: r.query.Get("agent_id"), Nonce: r.query.Get("nonce")})
	}
	return ok(meeting.NewIntroduceAnswer(message, in), err)
}

// introduce takes a bare introduction or a message that carries one.
func (r *request) introduce() (answer, error) {
	m, err := r.hosts()
	if err != nil {
		return answer{}, err
	}
	msg, peer, bare, err := readIntroduce(r.body, r.who.Agent, time.Now())
	if err != nil {
		return answer{}, err
	}
	agent := r.named()
	if agent == "" {
		agent = msg.Recipient()
	}
	ours, _, err := m.Introduction(r.http.Context(), agent)
	if err != nil {
		return answer{}, err
	}
	proven, from, err := r.proof(peer, msg)
	if err != nil {
		return answer{}, err
	}
	msg.From = from.ID
	result, err := m.Handle(r.http.Context(), agent, from, msg)
	if err != nil {
		return answer{}, err
	}
	common := meeting.CommonExtensions(ours.Extensions, peer.Extensions)
	version := peer.Version
	if !bare {
		version = msg.ProtocolVersion
	}
	out := meeting.IntroducedAnswer{
		Status: meeting.ResultReceived, Action: meeting.ActionIntroduce, From: msg.From, IdentityVerified: proven.Verified, Introduction: ours,
		PeerIdentity: peer.Raw, PeerExtensions: list(peer.Extensions), CommonExtensions: list(common),
		Compatibility: meeting.Compatibility(version, common, peer.Actions), Result: result, SuggestedResponse: result.Suggested, SessionToken: proven.Token,
	}
	if bare {
		// Its sender wants to know who it met, not what it said itself.
		if out.PeerIdentity, err = mmp.Encode(ours); err != nil {
			return answer{}, err
		}
	}
	return ok(out, nil)
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// readIntroduce reads either form; a bare introduction becomes a message.
func readIntroduce(body []byte, token string, now time.Time) (meeting.Message, *meeting.PeerIntroduction, bool, error) {
	if meeting.HasAction(body) {
		msg, err := meeting.DecodeMessage(body)
		if err == nil {
			err = msg.Timely(now)
		}
		if err != nil {
			return msg, nil, false, err
		}
		peer, err := meeting.ReadIntroduction(msg.Payload)
		return msg, peer, false, err
	}
	peer, err := meeting.ReadIntroduction(body)
	if err != nil {
		return meeting.Message{}, nil, true, err
	}
	from := token
	for _, id := range []string{peer.ClaimedAgent, peer.InstanceID} {
		if from == "" {
			from = id
		}
	}
	if from == "" || !mmp.ValidAddress(from) {
		from = mmp.NewAgentID()
	}
	msg, err := meeting.NewMessage(meeting.ActionIntroduce, from, "", peer.Raw, now)
	if peer.Version != "" {
		msg.ProtocolVersion = peer.Version
	}
	return msg, peer, true, err
}

// proof checks what an introduction shows. Without any it is a stranger's, which
// is not believed when the name it uses is proven.
func (r *request) proof(peer *meeting.PeerIntroduction, msg meeting.Message) (place.Proven, place.Sender, error) {
	from := place.Sender{ID: msg.From, Direct: true}
	if r.who.Agent != "" {
		s, err := r.d.Place.Speak(r.http.Context(), r.who, msg.From)
		return place.Proven{Verified: true}, s, err
	}
	if !mmp.ValidID(msg.From) {
		return place.Proven{}, from, nil
	}
	r.calledHere()
	proven, err := r.d.Place.Prove(r.http.Context(), r.who, place.ProveRequest{
		Agent: msg.From, PublicKey: peer.PublicKey, Static: peer.Static, Proof: peer.Proof,
	})
	if err != nil {
		return proven, from, err
	}
	if !proven.Challenged {
		return proven, from, nil
	}
	from.Proven, from.KeyID = true, proven.KeyID
	return proven, from, nil
}

// speak reads who a direct message comes from and holds it to its rate.
func (r *request) speak(from string) (place.Sender, error) {
	s, err := r.d.Place.Speak(r.http.Context(), r.who, from)
	if err != nil {
		return s, err
	}
	if ok, wait := r.peer.Allow(s.ID, time.Now()); !ok {
		return s, mmp.ErrRateLimited.WithRetry(seconds(wait))
	}
	return s, nil
}

func (r *request) message() (answer, error) {
	m, err := r.hosts()
	if err != nil {
		return answer{}, err
	}
	msg, err := meeting.DecodeMessage(withSender(r.body, r.who.Agent))
	switch {
	case errors.Is(err, mmp.ErrInvalidJSON):
		return answer{}, err
	case r.who.Agent == "" && member(r.body, "from") == "":
		return answer{}, mmp.ErrAuthRequired // nobody can be asked what is missing
	case err != nil:
		return answer{}, err
	}
	if err := msg.Timely(time.Now()); err != nil {
		return answer{}, err
	}
	return r.handleMessage(m, msg)
}

func (r *request) handleMessage(m place.Meeting, msg meeting.Message) (answer, error) {
	from, err := r.speak(msg.From)
	if err != nil {
		return answer{}, err
	}
	msg.From = from.ID
	agent := r.named()
	if agent == "" {
		agent = msg.Recipient()
	}
	return ok(m.Handle(r.http.Context(), agent, from, msg))
}

func (r *request) goodbye() (answer, error) {
	if err := r.d.Place.Logout(r.http.Context(), r.who); err != nil {
		return answer{}, err
	}
	return ok(meeting.GoodbyeAnswer{Status: "goodbye", Message: "Session ended"}, nil)
}

func (r *request) capabilities() (answer, error) {
	m, err := r.admitted()
	if err != nil {
		return answer{}, err
	}
	in, _, err := m.Introduction(r.http.Context(), r.named())
	return ok(in.Capabilities, err)
}

func (r *request) skills() (answer, error) {
	m, err := r.admitted()
	if err != nil {
		return answer{}, err
	}
	return ok(m.Skills(r.http.Context(), r.named()))
}

func (r *request) skillDetails() (answer, error) {
	m, err := r.admitted()
	if err != nil {
		return answer{}, err
	}
	q, err := meeting.ParseSkillQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(m.Skill(r.http.Context(), r.named(), q.SkillID))
}

func (r *request) skillPreview() (answer, error) {
	m, err := r.admitted()
	if err != nil {
		return answer{}, err
	}
	q, err := meeting.ParseSkillQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	return ok(m.PreviewSkill(r.http.Context(), r.named(), q.SkillID, q.Lines))
}

func (r *request) packageSkill() (answer, error) {
	m, err := r.admitted()
	if err != nil {
		return answer{}, err
	}
	ref, err := meeting.DecodeSkillRef(r.body, false)
	if err != nil {
		return answer{}, err
	}
	from := place.Sender{ID: r.who.Agent, Direct: true}
	if r.who.Proven {
		from.Proven, from.KeyID = true, r.who.KeyID
	}
	return ok(m.Package(r.http.Context(), r.named(), from, ref))
}
