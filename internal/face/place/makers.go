package place

import (
	"errors"
	"time"

	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// maker may be used by whoever runs the agents here: the operator, or anybody on
// this machine where the place is open.
func (r *request) maker(action string) (answer, error) {
	m, err := r.hosts()
	if err != nil {
		return answer{}, err
	}
	open := r.d.Place.Policy() == place.Open && r.d.Loopback && r.who.Agent == ""
	if !r.who.Operator() && !open {
		return answer{}, mmp.ErrOperatorOnly
	}
	return ok(m.Make(r.http.Context(), r.named(), action, r.body))
}

func (r *request) offerSkill() (answer, error) { return r.maker(meeting.ActionOfferSkill) }

func (r *request) accept() (answer, error) { return r.maker(meeting.ActionAccept) }

func (r *request) decline() (answer, error) { return r.maker(meeting.ActionDecline) }

func (r *request) requestSkill() (answer, error) { return r.makeOrHandle(meeting.ActionRequestSkill) }

func (r *request) reflect() (answer, error) { return r.makeOrHandle(meeting.ActionReflect) }

// makeOrHandle makes a message in our agent's name when it is for somebody else,
// and else takes the body as a message to our agent, in whichever form.
func (r *request) makeOrHandle(action string) (answer, error) {
	m, err := r.hosts()
	if err != nil {
		return answer{}, err
	}
	_, intro, err := m.Introduction(r.http.Context(), r.named())
	if err != nil {
		return answer{}, err
	}
	to := member(r.body, "to")
	if to != "" && to != intro.From && to != r.named() {
		return r.maker(action)
	}
	from := member(r.body, "from")
	if r.who.Agent != "" {
		from = r.who.Agent
	}
	if from == "" {
		return answer{}, mmp.ErrAuthRequired
	}
	if !mmp.ValidID(from) {
		return answer{}, mmp.ErrInvalidID
	}
	read, err := meeting.ReadRelayed(mmp.ReadContent(r.body), meeting.RelayMeta{ID: mmp.NewMessageID(), From: from, Type: action, CreatedAt: time.Now()},
		func(string) bool { return true })
	switch {
	case errors.Is(err, meeting.ErrInnerSender):
		return answer{}, mmp.ErrNotYourAgent
	case err != nil:
		return answer{}, err
	case read.Message == nil:
		return answer{}, mmp.ErrInvalidJSON
	}
	read.Message.Action = action
	return r.handleMessage(m, *read.Message)
}

// member reads a text out of a body that may be anything; what is no text is "".
func member(body []byte, name string) string {
	var members map[string]mmp.Raw
	if mmp.Decode(body, &members) != nil {
		return ""
	}
	var text string
	if mmp.Decode(members[name], &text) != nil {
		return ""
	}
	return text
}

// withSender puts the token's agent into a message that names no sender.
func withSender(body []byte, token string) []byte {
	var members map[string]mmp.Raw
	if token == "" || mmp.Decode(body, &members) != nil || members == nil {
		return body
	}
	if from, there := members["from"]; there && from.Kind() != 'n' {
		return body
	}
	members["from"] = mmp.Raw(`"` + token + `"`) // ids need no escaping
	filled, err := mmp.Encode(members)
	if err != nil {
		return body
	}
	return filled
}

// host is the id of the agent of this hub that a call is about.
func (r *request) host(m place.Meeting) (string, error) {
	_, message, err := m.Introduction(r.http.Context(), r.named())
	return message.From, err
}

func (r *request) startSession() (answer, error) {
	m, err := r.admitted()
	if err != nil {
		return answer{}, err
	}
	peer, err := meeting.DecodeSessionStart(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	if !r.who.Operator() {
		if _, err := r.d.Place.Speak(r.http.Context(), r.who, peer); err != nil {
			return answer{}, err
		}
	}
	host, err := r.host(m)
	if err != nil {
		return answer{}, err
	}
	t, err := r.d.Place.StartTalk(r.http.Context(), r.who, host, peer)
	return ok(meeting.SessionAnswer{SessionID: t.ID}, err)
}

func (r *request) endSession() (answer, error) {
	m, err := r.admitted()
	if err != nil {
		return answer{}, err
	}
	req, err := meeting.DecodeSessionEnd(r.body)
	if err != nil {
		return answer{}, err
	}
	host, err := r.host(m)
	if err != nil {
		return answer{}, err
	}
	t, err := r.d.Place.EndTalk(r.http.Context(), r.who, host, req)
	return ok(meeting.SessionAnswer{SessionID: t.ID}, err)
}

// history is the operator's: it tells with whom an agent had to do. An agent may
// see what it had to do with ours.
func (r *request) history() (answer, error) {
	m, err := r.hosts()
	if err != nil {
		return answer{}, err
	}
	q, err := meeting.ParseHistoryQuery(r.query)
	if err != nil {
		return answer{}, err
	}
	open := r.d.Place.Policy() == place.Open && r.d.Loopback
	switch {
	case r.who.Operator() || open:
	case r.who.Agent != "" && (q.PeerID == "" || q.PeerID == r.who.Agent):
		q.PeerID = r.who.Agent
	case r.who.Agent != "":
		return answer{}, mmp.ErrNotYourAgent
	default:
		return answer{}, mmp.ErrAuthRequired
	}
	host, err := r.host(m)
	if err != nil {
		return answer{}, err
	}
	out, err := m.History(r.http.Context(), r.named(), q)
	if err != nil {
		return answer{}, err
	}
	talks, err := r.d.Place.Talks(r.http.Context(), host, q.PeerID, q.Limit)
	out.Summary = map[string]any{"total": len(out.Interactions), "sessions": talks}
	return ok(out, err)
}
