package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// claim is what an entry of the trail says about a cut: that it was found, or that a
// person knows of it.
type claim struct {
	After     int64  `json:"after"`
	UpTo      int64  `json:"up_to"`
	Hash      Hash   `json:"hash"`
	Reason    string `json:"reason"`
	PublicKey string `json:"public_key"`
	Signature string `json:"signature"`

	found bool
	seq   int64
	by    string
	at    time.Time
}

// covers reports whether a checkpoint is part of the cut the claim is about. One that
// was signed after the claim was made is not: it signs what was written since, and a
// cut of that is another.
func (c claim) covers(cp Checkpoint) bool {
	return c.After < cp.Seq && cp.Seq <= c.UpTo && !cp.At.After(c.at)
}

// text is what the hub signs, so that somebody who can only write to the database
// cannot acknowledge what they cut.
func (c claim) text() []byte {
	return fmt.Appendf(nil, "parley-audit-cut-v1\n%d\n%d\n%s\n%s\n%d\n%s", c.After, c.UpTo, c.Hash, c.by, c.at.UnixMicro(), c.PublicKey)
}

func (c claim) signed(trusted []ed25519.PublicKey) bool {
	key, err := hex.DecodeString(c.PublicKey)
	signature, bad := hex.DecodeString(c.Signature)
	if err != nil || bad != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	for _, t := range keysFor(trusted, Checkpoint{PublicKey: key}) {
		if t.Equal(ed25519.PublicKey(key)) {
			return ed25519.Verify(t, c.text(), signature)
		}
	}
	return false
}

// hear takes up what an entry says about cuts.
func (s *side) hear(e stored) {
	action := Action(e.Action)
	if action != TrailCut && action != TrailCutAcknowledged {
		return
	}
	var c claim
	if json.Unmarshal(e.Detail, &c) != nil {
		return
	}
	c.found, c.seq, c.by, c.at = action == TrailCut, e.Seq, e.Actor, time.UnixMicro(e.At).UTC()
	s.claims = append(s.claims, c)
}

// foundEntry tells the trail of a cut.
func foundEntry(cut Cut) Entry {
	return Entry{
		Actor: "hub", Action: TrailCut, Target: fmt.Sprint(cut.After), Outcome: "cut",
		Detail: map[string]any{"after": cut.After, "up_to": cut.UpTo, "hash": cut.hash.String(), "kept": cut.Kept},
	}
}

// NoteCuts compares, and writes one entry about each cut that nobody has acknowledged
// and no entry tells of yet. It returns what nobody has acknowledged.
func (l *Chain) NoteCuts(ctx context.Context, kept ...Kept) ([]Cut, error) {
	c, err := l.Compare(ctx, kept...)
	if err != nil {
		return nil, err
	}
	cuts := c.open()
	for _, cut := range cuts {
		known, err := l.hasEntryAbout(ctx, cut)
		if err != nil {
			return cuts, err
		}
		if known {
			continue
		}
		if err := l.Append(ctx, foundEntry(cut)); err != nil {
			return cuts, err
		}
	}
	return cuts, nil
}

// hasEntryAbout reports whether the trail tells of a cut already.
func (l *Chain) hasEntryAbout(ctx context.Context, cut Cut) (bool, error) {
	records, err := l.Query(ctx, Filter{Action: string(TrailCut), Target: fmt.Sprint(cut.After), Limit: 1000})
	for _, r := range records {
		upTo, _ := r.Detail["up_to"].(float64)
		if r.Action == TrailCut && int64(upTo) >= cut.UpTo {
			return true, err
		}
	}
	return false, err
}

// maxReason bounds what a person says about a cut.
const maxReason = 500

// AcknowledgeCuts writes who knows of the cuts that kept checkpoints show, and why
// they are there. Verify names them from then on instead of calling the trail broken;
// it never calls it intact again.
func (l *Chain) AcknowledgeCuts(ctx context.Context, by, reason string, kept ...Kept) ([]Cut, error) {
	if l.opts.Key == nil {
		return nil, fmt.Errorf("%w: a log without a key acknowledges nothing", ErrInvalid)
	}
	if reason == "" || len(reason) > maxReason {
		return nil, fmt.Errorf("%w: say why in up to %d characters", ErrInvalid, maxReason)
	}
	c, err := l.Compare(ctx, kept...)
	if err != nil {
		return nil, err
	}
	cuts := c.open()
	if len(cuts) == 0 {
		return nil, ErrNoCut
	}
	for i, cut := range cuts {
		e := l.acknowledgement(cut, by, reason)
		if err := l.Append(ctx, e); err != nil {
			return nil, err
		}
		cuts[i].Acknowledged = &Acknowledgement{By: by, At: e.At, Reason: reason}
	}
	return cuts, nil
}

func (l *Chain) acknowledgement(cut Cut, by, reason string) Entry {
	c := claim{After: cut.After, UpTo: cut.UpTo, Hash: cut.hash, by: by, at: time.UnixMicro(time.Now().UnixMicro()).UTC()}
	c.PublicKey = hex.EncodeToString(l.opts.Key.Public().(ed25519.PublicKey))
	c.Signature = hex.EncodeToString(ed25519.Sign(l.opts.Key, c.text()))
	return Entry{
		At: c.at, Actor: by, Action: TrailCutAcknowledged, Target: fmt.Sprint(cut.After),
		Detail: map[string]any{
			"after": c.After, "up_to": c.UpTo, "hash": c.Hash.String(), "kept": cut.Kept, "reason": reason, "public_key": c.PublicKey, "signature": c.Signature,
		},
	}
}
