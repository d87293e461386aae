package room

import (
	"encoding/json"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// policyState is the policy in force.
func (r *room) policyState(more ...string) PolicyState {
	return PolicyState{Version: r.version, Policy: r.policy, Warnings: append(r.policy.Warnings(), more...)}
}

// ifVersion compares what a caller has seen; 0 has seen nothing.
func (r *room) ifVersion(seen int64) error {
	if seen != 0 && seen != r.version {
		return ErrStale
	}
	return nil
}

// signature is what a manifest leaves behind.
type signature struct {
	signer string
	ver    float64
}

// setPolicy puts a policy in force: on disk, then upon everybody who is here.
func (r *room) setPolicy(who by, p *kibitz.Policy, sig *signature, detail string) error {
	doc, err := json.Marshal(p)
	if err != nil {
		return err
	}
	version, signer, ver := r.version+1, r.signer, r.signedVer
	if sig != nil {
		signer, ver = sig.signer, sig.ver
	}
	err = r.write(func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE rooms SET version = ?, policy = ?, signer = ?, signed_ver = ?, lobby = ? WHERE id = ?`,
			version, string(doc), signer, ver, store.Bool(p.Lobby.On), r.id)
		if err != nil {
			return err
		}
		return insertPolicy(tx, r.id, version, string(doc), who.actor)
	}, r.entry(audit.RoomPolicy, who.actor, nil, detail))
	if err != nil {
		return err
	}
	r.version, r.policy, r.signer, r.signedVer, r.lobby = version, p, signer, ver, p.Lobby.On
	r.apply()
	return nil
}

func insertPolicy(tx *store.Tx, room string, version int64, doc, actor string) error {
	_, err := tx.Exec(`INSERT INTO room_policies (room, version, policy, by_whom, at) VALUES (?, ?, ?, ?, ?)`,
		room, version, doc, actor, store.Micros(time.Now()))
	return err
}

// apply finds everybody's anchor again under a new policy.
func (r *room) apply() {
	now := time.Now()
	r.shared = r.shared && r.policy.Sealed // a room that is sealed anew has another key
	var changed []*participant
	var entries []audit.Entry
	before := map[string]kibitz.Grant{}
	for _, p := range r.everybody() {
		allowed, ok := p.reanchor(r.policy, p.Kind, r.id, now)
		if !ok {
			r.kick(p, deny(kibitz.KeyRevoked, "the key was taken from the policy"), "policy", false)
			continue
		}
		if sameGrant(allowed, p.Allowed) {
			continue
		}
		before[p.ID] = p.effective(now)
		p.Allowed, p.Override = allowed, nil
		p.setBase()
		if p.Kind == kibitz.Agent && p.Anchor.Kind != anchorHosted {
			p.disclose(nil)
		}
		changed = append(changed, p)
		entries = append(entries, r.entry(audit.RoomGranted, "policy", p, p.grant().String()))
	}
	if len(changed) > 0 {
		_ = r.write(func(tx *store.Tx) error { // the policy itself is on disk: a reload does the same
			for _, p := range changed {
				if err := r.save(tx, p); err != nil {
					return err
				}
			}
			return nil
		}, entries...)
	}
	r.rank()
	r.rosterOut = nil
	r.changed()
	r.allCaps(now)
	for _, p := range changed {
		p.refreshGrant()
		r.reveal(p, before[p.ID], p.effective(now), now)
		if p.expires > 0 {
			r.need(timeOf(p.expires))
		}
	}
	r.dropLapsed(now)
	r.regate(now)
}

// regate looks again at those who have passed the gate and are not in: what they
// were let through by may be gone.
func (r *room) regate(now time.Time) {
	for _, c := range r.conns {
		if c.p != nil || c.passed == nil {
			continue
		}
		allowed, ok := c.passed.reanchor(r.policy, c.passed.kind, r.id, now)
		if ok {
			c.passed.Allowed = allowed
			continue
		}
		waited, was := c.waiting, c.passed
		c.waiting, c.cleared, c.passed = false, false, nil
		if waited {
			r.refuse(c, deny(kibitz.GateUnlisted, "no matching allowed key"), was)
		}
	}
}

// dropLapsed looks at the credits of those here when the gate was switched on.
func (r *room) dropLapsed(now time.Time) {
	if !r.policy.Credits.Require {
		return
	}
	for _, p := range slices.Clone(r.order) {
		if p.Kind == kibitz.Agent && p.CreditExp.IsZero() {
			// It came before credits were asked for: it has the usual leeway to bring one.
			p.CreditExp = now
		}
		if !p.CreditExp.IsZero() {
			r.need(p.CreditExp.Add(kibitz.CreditReapLeeway))
		}
	}
}

func sameGrant(a, b kibitz.Grant) bool {
	return a.String() == b.String() && a.ExpiresAt == b.ExpiresAt && a.Backend == b.Backend && a.Egress == b.Egress
}

// manifest takes a signed membership as the policy. The first one pins its
// signer.
func (r *room) manifest(who by, token string, key kibitz.Raw) ([]string, error) {
	public, err := kibitz.ParsePublicKey(key)
	if err != nil {
		return nil, deny(kibitz.PolicyBad, "the manifest's key cannot be imported")
	}
	m, err := kibitz.VerifyManifest(token, r.id, "", public, time.Now())
	if err != nil {
		return nil, err
	}
	signer := public.Thumbprint()
	if r.signer != "" && (r.signer != signer || m.Ver <= r.signedVer) {
		return nil, deny(kibitz.PolicyStale, "another signer, or not a higher ver")
	}
	next := *r.policy
	if err := next.Apply(m); err != nil {
		return nil, err
	}
	var warnings []string
	if m.Mode == kibitz.ManifestNames {
		warnings = append(warnings, "a list of names proves nothing: people enter by this hub's own accounts")
	}
	return warnings, r.setPolicy(who, &next, &signature{signer, m.Ver}, "manifest")
}
