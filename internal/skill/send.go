package skill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// newOffer makes an offer and the exchange it opens; the content is kept as it is
// now, so that what is sent is what was offered.
func (s *Skills) newOffer(h Host, at, to string, own Own, now time.Time) (Exchange, meeting.Message, error) {
	hash := own.hash()
	provenance, err := own.Provenance.Send(h.ID).SignHop(h.Ring.RSA, hash)
	if err != nil {
		return Exchange{}, meeting.Message{}, err
	}
	raw, err := mmp.Encode(provenance)
	if err != nil {
		return Exchange{}, meeting.Message{}, err
	}
	m, err := meeting.NewMessage(meeting.ActionOfferSkill, h.ID, to, meeting.OfferSkillPayload{
		SkillID: own.ID, SkillName: own.Name, SkillSummary: fit.Clip(own.Summary, mmp.MaxSummary), SkillFormat: meeting.FormatMarkdown, ContentHash: s.c.Hashes.Of(hash), Tags: own.Tags,
	}, now)
	if err != nil {
		return Exchange{}, m, err
	}
	opened, err := mmp.Encode(m)
	return Exchange{
		me: h.ID, Agent: h.Name, Peer: to, Place: at, Side: meeting.SideOffering, Relayed: true, SkillID: own.ID, SkillName: own.Name, Summary: own.Summary,
		Format: meeting.FormatMarkdown, Hash: hash.Bare(), Opening: m.ID, opened: string(opened), content: own.Content, provenance: string(raw),
	}, m, err
}

// contentOf is the message that carries what was offered.
func (s *Skills) contentOf(h Host, e Exchange, reply string, now time.Time) (meeting.Message, error) {
	provenance, err := meeting.DecodeProvenance([]byte(e.provenance))
	if err != nil {
		return meeting.Message{}, err
	}
	m, err := meeting.NewMessage(meeting.ActionSkillContent, h.ID, e.Peer, meeting.SkillContentPayload{
		SkillID: e.SkillID, SkillName: e.SkillName, Format: e.Format, Content: e.content, ContentHash: s.c.Hashes.Of(mmp.HashOf(e.content)), Provenance: provenance,
	}, now)
	if reply != "" {
		m.InReplyTo = &reply
	}
	return m, err
}

func (s *Skills) newRequest(h Host, at, to string, p meeting.RequestSkillPayload, now time.Time) (Exchange, meeting.Message, error) {
	m, err := meeting.NewMessage(meeting.ActionRequestSkill, h.ID, to, p, now)
	return Exchange{
		me: h.ID, Agent: h.Name, Peer: to, Place: at, Side: meeting.SideRequesting, Relayed: true, SkillID: p.SkillID, SkillName: p.SkillName,
		Summary: p.Description, Opening: m.ID, opened: "{}",
	}, m, err
}

// words are what somebody says to another agent, as a person is shown them.
type words struct {
	tool  string
	Agent string `json:"agent,omitempty"`
	Place string `json:"place,omitempty"`
	To    string `json:"to,omitempty"`
	What  any    `json:"what,omitempty"`
}

// Allow asks the judge whether the actor may say something to others.
func (a Acting) Allow(ctx context.Context, tool string, what any) error {
	if a.s.d.Allow == nil {
		return nil
	}
	return a.s.d.Allow(ctx, a.who, tool, what)
}

// speak runs fn in a transaction, for an agent the actor may speak as and once the judge
// lets them, and lets out what it sends.
func (a Acting) speak(ctx context.Context, w words, fn func(tx *store.Tx, h Host) error) error {
	h, err := a.host(ctx, w.Agent)
	if err != nil {
		return err
	}
	if !mmp.ValidAddress(w.To) || w.To == h.ID {
		return fmt.Errorf("%w: %q is no other agent", ErrInvalid, w.To)
	}
	w.Agent = h.Name
	if err := a.Allow(ctx, w.tool, w); err != nil {
		return err
	}
	if err := a.s.d.DB.Write(ctx, func(tx *store.Tx) error { return fn(tx, h) }); err != nil {
		return err
	}
	a.s.wake.Ring()
	return nil
}

// allowed tells whether a peer that introduced itself has an extension.
func allowed(tx *store.Tx, me, to, extension string) error {
	p, err := loadPeer(tx, me, to)
	if err == nil && !p.shares(extension) {
		err = fmt.Errorf("%w: %s", ErrNotShared, extension)
	}
	return err
}

// Introduce tells a peer who an agent is; its answer is noted when it comes.
func (a Acting) Introduce(ctx context.Context, agent, at, to string) error {
	return a.speak(ctx, words{"skill_introduce", agent, at, to, nil}, func(tx *store.Tx, h Host) error {
		loaded, err := a.s.loaded(tx, h.ID)
		if err != nil {
			return err
		}
		_, m, err := a.s.introduction(h, loaded, a.s.public(tx, h))
		if err != nil {
			return err
		}
		m.To = &to
		return a.s.enqueue(tx, h, at, m, false)
	})
}

// Offer offers a public skill to a peer. The offer is on disk when it returns, and
// goes out by the relay of the place.
func (a Acting) Offer(ctx context.Context, agent, at, skill, to string) (e Exchange, err error) {
	err = a.speak(ctx, words{"skill_offer", agent, at, to, skill}, func(tx *store.Tx, h Host) error {
		if err := allowed(tx, h.ID, to, meeting.ExtensionSkillExchange); err != nil {
			return err
		}
		own, err := a.s.find(tx, h, skill)
		if err != nil {
			return err
		}
		var m meeting.Message
		if e, m, err = a.s.newOffer(h, at, to, own, a.s.now()); err != nil {
			return err
		}
		return errors.Join(e.become(tx, meeting.ExOffered, a.s.now()), a.s.enqueue(tx, h, at, m, false))
	})
	return e, err
}

// Request asks a peer for a skill.
func (a Acting) Request(ctx context.Context, agent, at, to string, p meeting.RequestSkillPayload) (e Exchange, err error) {
	err = a.speak(ctx, words{"skill_request", agent, at, to, p}, func(tx *store.Tx, h Host) error {
		if err := allowed(tx, h.ID, to, meeting.ExtensionSkillExchange); err != nil {
			return err
		}
		var m meeting.Message
		if e, m, err = a.s.newRequest(h, at, to, p, a.s.now()); err != nil {
			return err
		}
		return errors.Join(e.become(tx, meeting.ExRequested, a.s.now()), a.s.enqueue(tx, h, at, m, false))
	})
	return e, err
}

// Accept takes an offer that waits; what comes goes into quarantine.
func (a Acting) Accept(ctx context.Context, id string) (Exchange, error) {
	if err := a.answers(ctx, id, words{tool: "skill_accept", What: id}); err != nil {
		return Exchange{}, err
	}
	return a.reply(ctx, id, meeting.ExAccepted, meeting.ActionAccept, func(e Exchange) any { return meeting.AcceptPayload{SkillID: e.SkillID} })
}

// Decline turns an offer down.
func (a Acting) Decline(ctx context.Context, id, reason string) (Exchange, error) {
	if err := a.answers(ctx, id, words{tool: "skill_decline", What: firstText(reason, id)}); err != nil {
		return Exchange{}, err
	}
	return a.reply(ctx, id, meeting.ExDeclined, meeting.ActionDecline, func(e Exchange) any {
		return meeting.DeclinePayload{Reason: firstText(reason, meeting.DeclineUser), SkillID: e.SkillID}
	})
}

// answers asks the judge about an answer to an offer. Of one that is not the actor's nobody
// is asked.
func (a Acting) answers(ctx context.Context, id string, w words) error {
	mine, err := a.reach(ctx)
	if err != nil {
		return err
	}
	var e Exchange
	err = a.s.d.DB.Read(ctx, func(tx *store.Tx) error {
		e, err = scanExchange(tx.QueryRow(`SELECT `+exchangeColumns+` FROM skill_exchanges WHERE id = ?`, id))
		return err
	})
	if err == nil && !mine.Has(e.Agent) {
		err = ErrNotFound
	}
	if err != nil {
		return err
	}
	w.Agent, w.Place, w.To = e.Agent, e.Place, e.Peer
	return a.Allow(ctx, w.tool, w)
}

func (a Acting) reply(ctx context.Context, id string, next meeting.ExchangeState, action string, payload func(Exchange) any) (e Exchange, err error) {
	mine, err := a.reach(ctx)
	if err != nil {
		return e, err
	}
	err = a.s.d.DB.Write(ctx, func(tx *store.Tx) error {
		if e, err = scanExchange(tx.QueryRow(`SELECT `+exchangeColumns+` FROM skill_exchanges WHERE id = ?`+tx.ForUpdate(), id)); err != nil {
			return err
		}
		if !mine.Has(e.Agent) {
			return ErrNotFound
		}
		if e.Side != meeting.SideReceiving || e.State != meeting.ExOfferReceived {
			return ErrState
		}
		m, err := meeting.NewMessage(action, e.me, e.Peer, payload(e), a.s.now())
		if err != nil {
			return err
		}
		m.InReplyTo = &e.Opening
		e.accepting, e.Relayed = m.ID, true
		return errors.Join(e.become(tx, next, a.s.now()), a.s.enqueue(tx, Host{ID: e.me, Name: e.Agent}, e.Place, m, false))
	})
	a.s.wake.Ring()
	return e, err
}
