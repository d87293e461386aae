package room

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// frame is one thing a connection said; its form and its rate are fine.
func (r *room) frame(cid string, f kibitz.ClientFrame, m *message) {
	c := r.conns[cid]
	if c == nil {
		return
	}
	if err := r.sure(); err != nil {
		// The next owner hears what other hubs' connections say as well, and answers.
		if c.hub == "" || !errors.Is(err, lease.ErrLost) {
			c.nak(f.Number(), err)
		}
		return
	}
	switch f := f.(type) {
	case *kibitz.Voice:
		r.voice(c, f)
	case *kibitz.Knock:
		if c.p == nil {
			r.announce(c, f.N, &f.Announce, false)
		} else {
			c.ack(f.N)
		}
	case *kibitz.Resume:
		r.resume(c, f)
	case *kibitz.Send:
		r.accept(c, m)
	case *kibitz.Leave:
		r.leaves(c, f)
	case *kibitz.Ping:
		c.send(&kibitz.Pong{N: f.N})
	case *kibitz.Pong:
	default:
		r.memberFrame(c, f)
	}
}

// memberFrame is what only those in the room may say.
func (r *room) memberFrame(c *conn, f kibitz.ClientFrame) {
	if c.p == nil {
		c.nak(f.Number(), errNotAdmitted)
		return
	}
	switch f := f.(type) {
	case *kibitz.SetGrant:
		_, err := r.setGrant(r.byParticipant(c.p), f.ID, grantOf(f))
		c.answer(f.N, err)
	case *kibitz.Mod:
		if f.Token != "" {
			r.signedCommand(c, f)
			return
		}
		err := r.command(r.byParticipant(c.p), HostCommand{Op: f.Op, Target: f.Target, Reason: f.Reason})
		c.answer(f.N, err)
	case *kibitz.Sig:
		c.answer(f.N, r.signal(c.p, f))
	case *kibitz.Media:
		c.answer(f.N, r.media(c.p, f.Lanes))
	case *kibitz.Blocked:
		c.answer(f.N, r.reported(c.p, f))
	case *kibitz.Sync:
		now := time.Now()
		r.sendRoster(c.p, now)
		r.sendCaps(c.p, now)
		c.ack(f.N)
	}
}

// grantOf is the grant of a frame; nil clears.
func grantOf(f *kibitz.SetGrant) *kibitz.Grant {
	if f.Clears() {
		return nil
	}
	g := kibitz.Sanitise(f.Grant)
	return &g
}

// voice announces, withdraws or updates.
func (r *room) voice(c *conn, f *kibitz.Voice) {
	switch {
	case c.p == nil && f.Withdraws():
		c.ack(f.N)
	case c.p == nil:
		r.announce(c, f.N, &f.Announce, true)
	case f.Withdraws():
		r.withdraw(c)
		c.ack(f.N)
	default:
		r.update(c, f)
	}
}

// withdraw takes somebody out of the roster; its connection stays.
func (r *room) withdraw(c *conn) {
	p := c.p
	p.unseat()
	r.leave(p, false)
	c.p, c.cleared, c.withdrawn = nil, true, true
	c.challenge, c.proveBy = time.Time{}, time.Time{}
	c.deadline = time.Now().Add(r.e.d.Limits.Lobby)
	r.need(c.deadline)
}

// leaves is a clean exit: at once, and not to be taken up again.
func (r *room) leaves(c *conn, f *kibitz.Leave) {
	c.ack(f.N)
	if p := c.p; p != nil {
		p.unseat()
		r.leave(p, false)
		c.p = nil
	}
	r.drop(c)
	c.link.Close(1000, "left")
}

// update is voice of somebody who is in.
func (r *room) update(c *conn, f *kibitz.Voice) {
	p, a := c.p, &f.Announce
	err := a.CheckProofs()
	if err == nil {
		err = a.CheckFields()
	}
	fp := kibitz.NormalFingerprint(a.FP)
	switch {
	case err != nil:
	case fp != "" && p.FP != "" && fp != p.FP:
		r.blocked(p, "sig", kibitz.SigFingerprint)
		err = deny(kibitz.SigFingerprint, "the certificate is fixed while present")
	case fp != "" && !kibitz.ValidFingerprint(fp):
		err = deny(kibitz.SigFingerprint, "not a SHA-256 fingerprint")
	}
	if err != nil {
		c.nak(f.N, err)
		return
	}
	if fp != "" {
		p.FP = fp
	}
	if err := r.redescribe(c, a); err != nil {
		if c.p == p {
			c.nak(f.N, err)
		}
		return
	}
	r.rank()
	r.changed()
	if a.AgentAssertion == "" && (a.AgentCredit == "" || !r.policy.Credits.Require) {
		c.ack(f.N)
		return
	}
	r.reprove(c, f)
}

// reprove verifies the answer to a challenge and a renewed credit beside the
// room.
func (r *room) reprove(c *conn, f *kibitz.Voice) {
	p, a, policy, nonce := c.p, &f.Announce, r.policy, c.Nonce
	now := time.Now()
	fp := kibitz.ChannelFingerprint(c.Origin, r.id, nonce)
	r.beside(func(ctx context.Context) func() {
		var err error
		var credit *kibitz.Credit
		if a.AgentAssertion != "" {
			_, err = kibitz.VerifyAssertion(a.AgentAssertion, r.id, fp, []kibitz.AllowedKey{{Key: p.Key}}, now)
		}
		if err == nil && a.AgentCredit != "" && policy.Credits.Require && p.Kind == kibitz.Agent {
			credit, err = r.e.keys.Credit(ctx, a.AgentCredit, policy.Credits, r.id)
		}
		return func() {
			if c.p != p || r.conns[c.CID] != c {
				return
			}
			if err == nil && credit != nil {
				err = r.renew(p, credit)
			}
			if err == nil && a.AgentAssertion != "" && c.Nonce == nonce {
				c.proveBy = time.Time{}
				c.challenge = time.Now().Add(r.e.d.Limits.Challenge)
				r.need(c.challenge)
			}
			c.answer(f.N, err)
		}
	})
}

// renew stamps a participant with a new credit; the old one stays if it cannot.
func (r *room) renew(p *participant, credit *kibitz.Credit) error {
	oldSub, oldExp := p.CreditSub, p.CreditExp
	p.CreditSub, p.CreditExp = credit.Sub, credit.Exp
	err := r.write(func(tx *store.Tx) error {
		if oldSub != credit.Sub {
			if _, err := tx.Exec(`DELETE FROM room_credits WHERE sub = ? AND room = ? AND participant = ?`, oldSub, r.id, p.ID); err != nil {
				return err
			}
		}
		if err := claimCredit(tx, credit.Sub, r.id, p.ID, credit.Exp, time.Now()); err != nil {
			return err
		}
		return r.save(tx, p)
	}, r.entry(audit.RoomCredit, p.ID, p, "renewed"))
	if err != nil {
		p.CreditSub, p.CreditExp = oldSub, oldExp
		return err
	}
	r.need(p.CreditExp.Add(kibitz.CreditReapLeeway))
	return nil
}
