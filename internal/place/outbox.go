package place

import (
	"context"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/place/relay"
	"parley.internal/protocol/mmp"
)

// How long an outgoing message waits after a failure, and how many go at a time.
const (
	retryFirst  = 2 * time.Second
	retryMost   = 30 * time.Second
	outboxBatch = 50
)

// nudgeOutbox says that something waits for a peer.
func (p *Place) nudgeOutbox() {
	p.outbox.Ring()
}

// federate forwards and refreshes on the hub that keeps house.
func (p *Place) federate(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	asked := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.outbox:
		case <-tick.C:
		}
		if !p.leading.Load() {
			continue
		}
		if err := p.federateOnce(ctx, asked); err != nil && ctx.Err() == nil {
			p.d.Log.Warn("place: federation failed", "error", err)
		}
	}
}

func (p *Place) federateOnce(ctx context.Context, asked map[string]time.Time) error {
	peers, err := p.Peers(ctx, Visitor{Actor: identity.Hub()})
	if err != nil {
		return err
	}
	for _, peer := range peers {
		if now := p.now(); now.Sub(asked[peer.PlaceID]).Abs() >= refreshEvery || peer.Problem != "" && now.Sub(asked[peer.PlaceID]).Abs() >= 2*time.Second {
			asked[peer.PlaceID] = now
			if err := p.refresh(ctx, peer); err != nil {
				return err
			}
		}
		if peer.Waiting > 0 {
			if err := p.forward(ctx, peer); err != nil {
				return err
			}
		}
	}
	return nil
}

// Federate does one round now; the background does so by itself.
func (p *Place) Federate(ctx context.Context) error {
	return p.federateOnce(ctx, map[string]time.Time{})
}

// forward sends what is due, in order; a queue that is full there holds up only
// its own messages.
func (p *Place) forward(ctx context.Context, peer Peer) error {
	due, err := p.relay.Due(ctx, peer.Name, outboxBatch)
	if err != nil {
		return p.storage(err)
	}
	held := map[string]bool{}
	for _, m := range due {
		if held[m.Recipient] {
			continue
		}
		verdict := p.deliver(ctx, peer, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.told(ctx, m, verdict); err != nil {
			return err
		}
		if verdict.away {
			return nil
		}
		held[m.Recipient] = verdict.wait
	}
	return nil
}

// outcome is what came of handing a message to a peer.
type outcome struct {
	done   bool
	wait   bool   // try again
	away   bool   // and so for everything else for that peer
	reason string // it will never work
}

func (p *Place) deliver(ctx context.Context, peer Peer, m *relay.Message) outcome {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	to, _ := mmp.SplitAddress(m.Recipient)
	body, err := mmp.Encode(Forwarded{
		RelayID: m.ID, From: m.Sender, To: to, Type: m.Kind, Blob: string(m.Blob), BlobHash: m.Hash, CreatedAt: mmp.At(m.Created), ExpiresAt: mmp.At(m.Expires),
	})
	if err != nil {
		return outcome{reason: "internal_error"}
	}
	status, answer, err := p.call(ctx, peer, "POST", peerPath+"/relay", body)
	switch {
	case err != nil || status >= 500 || status == 401 || status == 403:
		return outcome{wait: true, away: true}
	case status == 200 || status == 201:
		return outcome{done: true}
	case status == 429:
		return outcome{wait: true}
	}
	var refusal mmp.ErrorBody
	if mmp.Decode(answer, &refusal) != nil || refusal.Code == "" || len(refusal.Code) > 64 || clean("code", refusal.Code) != nil {
		refusal.Code = "refused"
	}
	return outcome{reason: refusal.Code}
}

// told keeps what came of it.
func (p *Place) told(ctx context.Context, m *relay.Message, o outcome) error {
	switch {
	case o.wait:
		return p.storage(p.relay.Postpone(ctx, m, p.now().Add(min(retryFirst<<min(m.Attempt, 5), retryMost))))
	case o.done:
		return p.storage(p.relay.Forwarded(ctx, m, ""))
	}
	return p.storage(p.relay.Forwarded(ctx, m, o.reason))
}
