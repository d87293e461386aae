package room

import (
	"time"

	"parley.internal/protocol/kibitz"
)

// signal passes WebRTC signalling between two participants, after the checks of
// the protocol in their order: size, certificate, media at all, the right to
// speak, recipient.
func (r *room) signal(p *participant, f *kibitz.Sig) error {
	s, err := kibitz.ReadSignal(f.D)
	if err != nil {
		return err
	}
	if err := s.Judge(p.FP, !r.policy.Mesh.Media, p.effective(time.Now())); err != nil {
		if code := kibitz.CodeOf(err); code == kibitz.ActDenied || code == kibitz.SigFingerprint {
			r.blocked(p, "sig", code)
		}
		return err
	}
	to := r.byID[f.To]
	switch {
	case f.To == p.ID:
		return deny(kibitz.ToSelf, "that is you")
	case to == nil || to.conn == nil:
		return deny(kibitz.ToUnknown, "no such participant")
	}
	d, err := s.Encode()
	if err != nil {
		return err
	}
	to.conn.send(&kibitz.Sig{From: p.ID, D: d})
	return nil
}

// media says which lanes somebody publishes.
func (r *room) media(p *participant, lanes kibitz.Lanes) error {
	switch {
	case !lanes.Any():
	case !p.effective(time.Now()).Has(kibitz.Speak):
		r.blocked(p, "media", kibitz.ActDenied)
		return kibitz.Lacks(kibitz.Speak)
	case !r.policy.Mesh.Media:
		return deny(kibitz.SigOff, "no media in this room")
	case !p.media.Any() && r.publishing() >= mediaPublishers:
		return deny(kibitz.LimitRate, "the room has as many media publishers as it can take")
	}
	p.media = lanes
	r.changed()
	return nil
}

// reported is a participant telling what somebody sent over its link without the
// right to. The room believes it only of those who do lack the right.
func (r *room) reported(p *participant, f *kibitz.Blocked) error {
	of, right := r.byID[f.ID], f.Right()
	switch {
	case !r.policy.Peers().Data:
		return deny(kibitz.SigOff, "no content goes peer to peer in this room")
	case right == "":
		return deny(kibitz.ContentBad, "no such content")
	case f.ID == p.ID:
		return deny(kibitz.ToSelf, "that is you")
	case of == nil:
		return deny(kibitz.ToUnknown, "no such participant")
	case !of.may(bit(right), seconds(time.Now())):
		r.blockedBy(p.ID, of, f.C, kibitz.ActDenied)
	case f.C == string(kibitz.EnvelopeView) && !r.publisher(of):
		r.blockedBy(p.ID, of, f.C, kibitz.ViewNotPublisher)
	}
	return nil
}

// mediaPublishers is how many participants may publish lanes at a time.
const mediaPublishers = 12

func (r *room) publishing() (n int) {
	for _, p := range r.order {
		if p.media.Any() {
			n++
		}
	}
	return n
}
