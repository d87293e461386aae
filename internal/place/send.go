package place

import (
	"context"

	"parley.internal/internal/place/relay"
	"parley.internal/protocol/mmp"
	wire "parley.internal/protocol/mmp/relay"
)

// Send stores a sealed message. It is durable when Send returns.
func (p *Place) Send(ctx context.Context, who Visitor, req *wire.SendRequest) (wire.SendAnswer, error) {
	if err := clean("message_type", req.MessageType, "idempotency_key", req.IdempotencyKey); err != nil {
		return wire.SendAnswer{}, err
	}
	now := p.now()
	out, err := p.queue(ctx, &relay.Sending{Who: who, Message: &relay.Message{
		Sender: req.From, Recipient: req.To, Kind: req.MessageType, Hash: req.BlobHash, Size: int64(len(req.Blob)),
		Blob: req.Blob, Key: req.IdempotencyKey, Created: now, Expires: now.Add(p.c.RelayTTL),
	}})
	if err == nil && who.Agent == "" {
		p.touch(req.From)
	}
	return out, err
}

// queue gives a message to the relay and tells those who wait for it.
func (p *Place) queue(ctx context.Context, s *relay.Sending) (wire.SendAnswer, error) {
	if err := p.storage(p.relay.Send(ctx, s)); err != nil {
		return wire.SendAnswer{}, err
	}
	if first := s.First; first != nil {
		return wire.SendAnswer{RelayID: first.ID, Status: string(wire.FateQueued), ExpiresAt: mmp.At(first.Expires), Duplicate: true}, nil
	}
	p.figures.stale()
	if s.Message.Peer != "" {
		p.nudgeOutbox()
	} else {
		p.hints.add(s.Message.Recipient)
		p.tell(subjectWake, s.Message.Recipient)
	}
	out := wire.SendAnswer{RelayID: s.Message.ID, Status: string(wire.FateQueued), ExpiresAt: mmp.At(s.Message.Expires)}
	if s.Dropped != nil {
		out.Dropped = &wire.Dropped{RelayID: s.Dropped.ID, Reason: "queue_full"}
	}
	return out, nil
}
