package room

import (
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/limit"
	"parley.internal/protocol/kibitz"
)

// message is content on its way in. Its form was judged where the socket is; the
// refusals wait here for their turn.
type message struct {
	*kibitz.Send
	content    *kibitz.Content
	contentErr error
	// wire is what goes out if the room is sealed or not as assumed.
	sealed  bool
	wire    kibitz.Raw
	wireErr error
}

// prepare judges what needs no knowledge of the room, off its goroutine.
func prepare(s *kibitz.Send, sealed bool) *message {
	m := &message{Send: s, sealed: sealed}
	if m.content, m.contentErr = kibitz.OpenContent(s.C); m.contentErr == nil {
		m.wire, m.wireErr = m.content.Check(sealed, s.To != "")
	}
	return m
}

// accept is the life of one message, in the protocol's order.
func (r *room) accept(c *conn, m *message) {
	p := c.p
	if p == nil {
		c.nak(m.N, errNotAdmitted)
		return
	}
	if wait := r.roomRate(m); wait > 0 {
		c.send(&kibitz.Nak{N: m.N, Code: kibitz.LimitRate, Reason: "the room is too lively", RetryMs: wait.Milliseconds() + 1})
		return
	}
	now := time.Now()
	if err := r.authorise(p, m, now); err != nil {
		c.nak(m.N, err)
		return
	}
	if seq, ok := p.sent.find(m.ID); ok && m.ID != "" {
		if m.N > 0 {
			c.send(&kibitz.Ack{N: m.N, Seq: seq, Dup: true})
		}
		return
	}
	if err := r.check(p, m, now); err != nil {
		c.nak(m.N, err)
		return
	}
	r.deliver(c, p, m, now)
}

func (r *room) roomRate(m *message) time.Duration {
	if r.e.d.Limits.NoRates || m.content != nil && m.content.Kind == kibitz.ContentInk {
		return 0
	}
	return limit.Spend(r.content, 1)
}

// authorise asks what the sender may, before a word about its fields.
func (r *room) authorise(p *participant, m *message, now time.Time) error {
	if m.contentErr != nil {
		if kibitz.CodeOf(m.contentErr) == kibitz.GrantDenied {
			r.blocked(p, "caps", kibitz.GrantDenied)
		}
		return m.contentErr
	}
	if m.content.IsView() && !r.publisher(p) {
		r.blocked(p, m.content.Detail(), kibitz.ViewNotPublisher)
		return deny(kibitz.ViewNotPublisher, "only publishers send views")
	}
	if right := m.content.Right(); !p.may(bit(right), seconds(now)) {
		r.blocked(p, m.content.Detail(), kibitz.ActDenied)
		return kibitz.Lacks(right)
	}
	return nil
}

// check applies field limits, then looks for the recipient.
func (r *room) check(p *participant, m *message, now time.Time) error {
	if m.sealed != r.policy.Sealed {
		m.wire, m.wireErr = m.content.Check(r.policy.Sealed, m.To != "")
	}
	switch {
	case m.wireErr != nil:
		return m.wireErr
	case m.content.IsView() && m.To == "" && r.policy.Views.DirectedOnly:
		return deny(kibitz.ViewDirectedOnly, "views of this room are for one participant each")
	case m.content.Kind == kibitz.ContentSchema && !r.kept.schemaFits(p.ID, m.content.SchemaName()):
		return deny(kibitz.SchemaLimit, "too many schemas of one participant")
	case m.To == "":
		return nil
	case m.To == p.ID:
		return deny(kibitz.ToSelf, "that is you")
	}
	to := r.byID[m.To]
	if to == nil {
		return deny(kibitz.ToUnknown, "no such participant")
	}
	if !to.may(bitDirected, seconds(now)) {
		return kibitz.Lacks(kibitz.ReceiveDirected)
	}
	return nil
}

// deliver numbers a message, sends it to those who may perceive it, keeps it and
// answers.
func (r *room) deliver(c *conn, p *participant, m *message, now time.Time) {
	seq, err := r.nextSeq()
	if err != nil {
		c.nak(m.N, err)
		return
	}
	it := &item{seq: seq, ts: now.UnixMilli(), from: p.ID, to: m.To, c: m.wire}
	it.now = r.quiet()
	to, withheld := r.fan(p, it, seconds(now))
	r.ring.add(it)
	r.retain(p, m.content, it)
	p.sent.add(m.ID, seq)
	if m.content.Kind == kibitz.ContentApp && m.content.Envelope == kibitz.EnvelopeAct {
		r.note(note{kind: audit.RoomActed, actor: p.ID, id: p.ID, keyID: p.KeyID, detail: "act"})
	}
	if m.N == 0 {
		return
	}
	ack := &kibitz.Ack{N: m.N, Seq: seq}
	if p.tier != "" { // counted apart: nobody else's message pays for it
		heard, spared := to, withheld
		ack.To, ack.Withheld = &heard, &spared
	}
	out := encode(ack)
	out.Now = it.now
	c.link.Send(out)
}

// fewMembers is how many a room has at most that writes to its members by itself:
// more are written to side by side.
const fewMembers = 8

// quiet says that the room is small and has nothing else to do.
func (r *room) quiet() bool { return len(r.order) <= fewMembers && len(r.mail) == 0 }

// fan sends a message to everybody it may reach: one frame for all.
func (r *room) fan(p *participant, it *item, now float64) (to, withheld int) {
	if it.to != "" {
		if q := r.byID[it.to]; q.out != nil {
			q.out.Send(it.out())
		}
		return 1, 0
	}
	out := it.out()
	for _, q := range r.order {
		switch {
		case q == p:
		case !q.may(bitReadChat, now):
			withheld++
			r.withhold(q)
		default:
			to++
			if q.out != nil {
				q.out.Send(out)
			}
		}
	}
	return to, withheld
}
