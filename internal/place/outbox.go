package place

import (
	"context"
	"time"

	"parley/internal/identity"
	"parley/internal/store"
	"parley/protocol/mmp"
)

// How long an outgoing message waits after a failure, and how many go at a time.
const (
	retryFirst  = 2 * time.Second
	retryMost   = 30 * time.Second
	outboxBatch = 50
)

// nudgeOutbox says that something waits for a peer.
func (p *Place) nudgeOutbox() {
	select {
	case p.outbox <- struct{}{}:
	default:
	}
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
	var due []*message
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		now := store.Micros(p.now())
		due, err = messages(tx, true, `SELECT `+messageColumns+`, blob FROM place_messages
			WHERE peer = ? AND peer <> '' AND state = 0 AND next_at <= ? AND expires_at > ? ORDER BY num LIMIT ?`, peer.Name, now, now, outboxBatch)
		return err
	})
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for _, m := range due {
		if held[m.recipient] {
			continue
		}
		verdict := p.deliver(ctx, peer, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.settle(ctx, m, verdict); err != nil {
			return err
		}
		if verdict.away {
			return nil
		}
		held[m.recipient] = verdict.wait
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

func (p *Place) deliver(ctx context.Context, peer Peer, m *message) outcome {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	to, _ := mmp.SplitAddress(m.recipient)
	body, err := mmp.Encode(Forwarded{
		RelayID: m.id, From: m.sender, To: to, Type: m.kind, Blob: string(m.blob), BlobHash: m.hash, CreatedAt: mmp.At(m.created), ExpiresAt: mmp.At(m.expires),
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

func (p *Place) settle(ctx context.Context, m *message, o outcome) error {
	return p.write(ctx, func(tx *store.Tx) error {
		switch {
		case o.done:
			if err := m.finish(tx, stateForwarded, "", p.now()); err != nil {
				return err
			}
			p.figures.bytes.Add(-m.size)
			return p.noteRelay(tx, actForwarded, m, "")
		case o.wait:
			pause := min(retryFirst<<min(m.attempt, 5), retryMost)
			_, err := tx.Exec(`UPDATE place_messages SET attempt = attempt + 1, next_at = ? WHERE num = ?`, store.Micros(p.now().Add(pause)), m.num)
			return err
		}
		return p.refuseMessage(tx, m, o.reason)
	})
}
