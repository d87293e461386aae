package hosts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// Meet opens a conversation with the agent at an address: both have introduced
// themselves when this returns. What is said to it from then on goes straight there, and
// what it answers comes in like a message from a relay.
func (p *Hosts) Meet(ctx context.Context, who identity.Actor, r skill.VisitRequest) (skill.Visit, skill.Met, error) {
	v, err := p.mayGo(ctx, who, "place_meet", r)
	if err != nil {
		return skill.Visit{}, skill.Met{}, err
	}
	d, met, err := p.approach(ctx, v)
	if err != nil {
		return skill.Visit{}, skill.Met{}, err
	}
	v.URL, v.Peer, v.Name, v.PlaceKey, v.Place = d.Address(), met.ID(), met.Name, met.KeyID(), d.place
	if v, err = p.d.Skills.BeginVisit(ctx, who.String(), v, r.Length()); err != nil {
		d.leave(ctx)
		return skill.Visit{}, skill.Met{}, err
	}
	p.begin(ctx, v, d)
	p.wakeAll()
	return v, skill.Met{
		ID: met.ID(), Name: met.Name, KeyID: met.KeyID(), Proven: met.Proven, Actions: met.Actions, Extensions: met.Extensions, Skills: met.Skills,
	}, nil
}

// meetingName names the conversation with an agent at an address, for all that is said
// in it.
func meetingName(address, peer string) string {
	sum := sha256.Sum256([]byte(address + "\n" + peer))
	return "direct_" + hex.EncodeToString(sum[:8])
}

// approach looks who answers at the address, holds it to whom it was before, and only
// then says who we are.
func (p *Hosts) approach(ctx context.Context, v skill.Visit) (*withPeer, mmpagent.Met, error) {
	opts, err := p.away(ctx, v)
	if err != nil {
		return nil, mmpagent.Met{}, err
	}
	d, err := mmpagent.OpenDirect(v.URL, opts)
	if err != nil {
		return nil, mmpagent.Met{}, unreached(err)
	}
	w := &withPeer{Direct: d, hosts: p, agent: v.Agent, me: v.AgentID}
	met, err := w.look(ctx)
	if err == nil {
		w.met, w.place = met, meetingName(d.Address(), met.ID())
		err = w.introduce(ctx)
	}
	if err != nil {
		_ = d.Close()
		return nil, met, unreached(err)
	}
	return w, met, nil
}

// withPeer is an agent of this hub in conversation with another.
type withPeer struct {
	*mmpagent.Direct
	hosts     *Hosts
	agent, me string
	place     string
	met       mmpagent.Met
}

// look asks who answers; another agent or another key at the address is an alarm.
func (w *withPeer) look(ctx context.Context) (mmpagent.Met, error) {
	met, err := w.Look(ctx)
	if err != nil {
		return met, err
	}
	if met.ID() == w.me {
		return met, fmt.Errorf("%w: that is the agent itself", skill.ErrInvalid)
	}
	return met, w.hosts.d.Skills.CheckPlace(ctx, w.Address(), met.ID(), met.KeyID())
}

func (w *withPeer) same(ctx context.Context) error {
	_, err := w.look(ctx)
	return err
}

// introduce says who our agent is, and notes what the other one can do.
func (w *withPeer) introduce(ctx context.Context) error {
	ours, said, err := w.hosts.d.Skills.Introduction(ctx, w.agent)
	if err != nil {
		return err
	}
	if _, err := w.Introduce(ctx, ours); err != nil {
		return err
	}
	m, err := said.Reply(meeting.ActionIntroduce, w.met.ID(), w.met.Raw, time.Now())
	if err != nil {
		return err
	}
	return w.heard(ctx, m)
}

// heard takes what the other one said, as a message of its own. Nobody signed it, so it
// counts for no more than that somebody who holds the key answers at this address.
func (w *withPeer) heard(ctx context.Context, m meeting.Message) error {
	from := place.Sender{ID: w.met.ID(), Proven: w.met.Proven, Version: 1}
	if w.met.Proven {
		from.KeyID = w.met.KeyID()
	}
	return w.hosts.d.Skills.Relayed(ctx, w.agent, w.place, from, m.ID, meeting.FromRelay{Message: &m})
}

func (w *withPeer) line() skill.Line { return peerLine{w} }

// receive waits: what comes is an answer to what is sent.
func (w *withPeer) receive(ctx context.Context, _ mmpagent.Handler) error {
	<-ctx.Done()
	return ctx.Err()
}

func (w *withPeer) leave(ctx context.Context) {
	_ = w.Goodbye(ctx)
	_ = w.Close()
}

// peerLine is how skills reach the one agent that is met.
type peerLine struct{ w *withPeer }

// Send says a message and takes in what it is answered. A message that is said again
// after a crash gets its first answer, which has no second effect.
func (l peerLine) Send(ctx context.Context, to string, m meeting.Message) error {
	if to != l.w.met.ID() {
		return fmt.Errorf("%w: only %s is met here", skill.ErrInvalid, l.w.met.ID())
	}
	result, err := l.w.Say(ctx, m)
	if err != nil {
		return err
	}
	answer, ok := m.Heard(to, result, time.Now())
	if m.Action == meeting.ActionAccept {
		answer, ok, err = l.fetch(ctx, to, m)
	}
	if err != nil || !ok {
		return err
	}
	return l.w.heard(ctx, answer)
}

// fetch gets the skill that was accepted; one that is not given is declined.
func (l peerLine) fetch(ctx context.Context, to string, accept meeting.Message) (meeting.Message, bool, error) {
	ref, err := accept.ReadAccept()
	if err != nil {
		return meeting.Message{}, false, err
	}
	body, err := l.w.Content(ctx, accept, ref.SkillID)
	if err != nil && !mmpagent.Refused(err) {
		return meeting.Message{}, false, err
	}
	if err == nil {
		if m, ok := accept.HeardContent(to, ref.SkillID, body, time.Now()); ok {
			return m, true, nil
		}
	}
	m, err := accept.Reply(meeting.ActionDecline, to, meeting.DeclinePayload{Reason: meeting.DeclineNotAvailable, SkillID: ref.SkillID}, time.Now())
	return m, err == nil, err
}

// Key is the key of the one that is met.
func (l peerLine) Key(_ context.Context, address string) *mmp.PublicKey {
	if address != l.w.met.ID() {
		return nil
	}
	return l.w.met.Key
}

// AcceptKey has nothing to do: the key belongs to the address, which a person accepted.
func (l peerLine) AcceptKey(context.Context, string, string) error { return nil }
