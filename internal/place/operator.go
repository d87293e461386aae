package place

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// Graph is who sent how much to whom, the latest first: kept sums and what came
// after them.
func (p *Place) Graph(ctx context.Context, who Visitor, limit int) ([]Edge, error) {
	if err := who.mustRun(); err != nil {
		return nil, err
	}
	found := map[[2]string]Edge{}
	err := p.read(ctx, func(tx *store.Tx) error {
		rest, err := restOf(tx)
		if err != nil {
			return err
		}
		for pair, e := range rest.edges {
			found[pair] = Edge{From: pair[0], To: pair[1], Messages: e.count, Bytes: e.bytes, Last: store.Time(e.last)}
		}
		return keptEdges(tx, found, limit)
	})
	out := slices.SortedFunc(maps.Values(found), func(a, b Edge) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out[:min(len(out), limit)], err
}

// keptEdges adds the sums that are kept: the latest, and those of the pairs that
// were found already.
func keptEdges(tx *store.Tx, found map[[2]string]Edge, limit int) error {
	const edges = `SELECT sender, recipient, count, bytes, last_at FROM place_edges`
	fresh := slices.Collect(maps.Keys(found))
	seen := map[[2]string]bool{}
	add := func(r *sql.Rows) error {
		var e Edge
		var last int64
		if err := r.Scan(&e.From, &e.To, &e.Messages, &e.Bytes, &last); err != nil {
			return err
		}
		pair := [2]string{e.From, e.To}
		if seen[pair] {
			return nil
		}
		seen[pair] = true
		e.Last = store.Time(last)
		if had, ok := found[pair]; ok {
			e.Messages, e.Bytes, e.Last = e.Messages+had.Messages, e.Bytes+had.Bytes, had.Last
		}
		found[pair] = e
		return nil
	}
	for _, pair := range fresh {
		if err := tx.Each(add, edges+` WHERE sender = ? AND recipient = ?`, pair[0], pair[1]); err != nil {
			return err
		}
	}
	return tx.Each(add, edges+` ORDER BY last_at DESC, sender, recipient LIMIT ?`, limit)
}

// Pins lists the key directory, newest first: the keys of one's own agents, or all.
func (p *Place) Pins(ctx context.Context, who Visitor, limit int) ([]Pin, error) {
	var out []Pin
	mine, err := p.reach(ctx, who)
	if err != nil {
		return nil, err
	}
	agents, ids := mine.Where("k.agent")
	err = p.read(ctx, func(tx *store.Tx) error {
		return tx.Each(func(r *sql.Rows) error {
			k, err := scanKey(extra{r, 2, func(more []any) { out = append(out, Pin{Sessions: count(more[0]), Trusted: count(more[1]) > 0}) }})
			if err != nil {
				return err
			}
			pin := &out[len(out)-1]
			pin.Agent, pin.KeyID, pin.Fingerprint, pin.Previous, pin.Proof = k.agent, k.keyID, k.fingerprint, k.previous, k.proof
			pin.Registered, pin.Changed, pin.Proven, pin.Envelopes = k.registered, k.changed, k.proven, k.envelopes()
			return nil
		}, `SELECT `+keyColumns+`, (SELECT count(*) FROM place_tokens t WHERE t.agent = k.agent AND t.expires_at > ?),
			(SELECT count(*) FROM place_trust u WHERE u.key_id = k.key_id) FROM place_keys k WHERE `+agents+` ORDER BY registered_at DESC, agent LIMIT ?`,
			append(append([]any{store.Micros(p.now())}, ids...), limit)...)
	})
	return out, err
}

// extra scans columns that follow those a scanner knows.
type extra struct {
	rows *sql.Rows
	n    int
	then func([]any)
}

// Scan reads the known columns and hands the rest over.
func (e extra) Scan(into ...any) error {
	more := make([]any, e.n)
	for i := range more {
		more[i] = new(int64)
	}
	err := e.rows.Scan(append(into, more...)...)
	e.then(more)
	return err
}

func count(v any) int {
	n, _ := v.(*int64)
	return int(*n)
}

// Trusted lists the keys a person trusts.
func (p *Place) Trusted(ctx context.Context, who Visitor) ([]Trust, error) {
	if err := who.mustRun(); err != nil {
		return nil, err
	}
	var out []Trust
	err := p.read(ctx, func(tx *store.Tx) error {
		return tx.Each(func(r *sql.Rows) error {
			var t Trust
			var at int64
			err := r.Scan(&t.KeyID, &t.Address, &t.By, &at)
			t.At = store.Time(at)
			out = append(out, t)
			return err
		}, `SELECT key_id, address, trusted_by, at FROM place_trust ORDER BY at DESC`)
	})
	return out, err
}

// TrustedKey tells whether a person trusts the key.
func (p *Place) TrustedKey(ctx context.Context, keyID string) (is bool, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		var n int
		err := tx.QueryRow(`SELECT count(*) FROM place_trust WHERE key_id = ?`, keyID).Scan(&n)
		is = n > 0
		return err
	})
	return is, err
}

// Trust marks the key an address has now as looked at by a person.
func (p *Place) Trust(ctx context.Context, who Visitor, address, keyID string) (Trust, error) {
	if err := who.mustRun(); err != nil {
		return Trust{}, err
	}
	if !mmp.ValidAddress(address) {
		return Trust{}, mmp.ErrInvalidID
	}
	key, err := p.Key(ctx, Visitor{Actor: identity.Hub()}, address)
	if err != nil {
		return Trust{}, err
	}
	if keyID != "" && !mmp.SameHash(keyID, key.KeyID) {
		return Trust{}, mmp.ErrKeyPinned
	}
	t := Trust{KeyID: key.KeyID, Address: address, By: who.Actor.String(), At: p.now()}
	err = p.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO place_trust (key_id, address, trusted_by, at) VALUES (?, ?, ?, ?)
			ON CONFLICT (key_id) DO UPDATE SET address = excluded.address, trusted_by = excluded.trusted_by, at = excluded.at`,
			t.KeyID, t.Address, t.By, store.Micros(t.At))
		if err != nil {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{Actor: t.By, Action: audit.PlaceTrusted, Target: address, Detail: map[string]any{"key_id": t.KeyID}})
	})
	return t, err
}

// Untrust takes that back.
func (p *Place) Untrust(ctx context.Context, who Visitor, keyID string) error {
	if err := who.mustRun(); err != nil {
		return err
	}
	h, err := mmp.ParseHash(keyID)
	if err != nil {
		return mmp.ErrKeyNotFound
	}
	return p.write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM place_trust WHERE key_id = ?`, h.Prefixed())
		if err == nil && n == 0 {
			err = mmp.ErrKeyNotFound
		}
		if err != nil {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{Actor: who.Actor.String(), Action: audit.PlaceUntrusted, Target: h.Prefixed()})
	})
}

// Forget releases a pin. To whom the agent is not, it does not exist.
func (p *Place) Forget(ctx context.Context, who Visitor, agent string) error {
	mine, err := p.manages(ctx, who, agent)
	if err != nil {
		return err
	}
	if !mine {
		return mmp.ErrKeyNotFound
	}
	err = p.write(ctx, func(tx *store.Tx) error {
		k, err := keyOf(tx, agent, true)
		if err != nil {
			return err
		}
		if k == nil {
			return mmp.ErrKeyNotFound
		}
		p.keys.forget(agent)
		if _, err := tx.Exec(`DELETE FROM place_keys WHERE agent = ?`, agent); err != nil {
			return err
		}
		if err := p.leave(tx, agent, true); err != nil {
			return err
		}
		if err := p.note(tx, board.AuditEntry{EventType: board.AuditKeyRegistration, Action: "forget", AgentID: agent, KeyFingerprint: k.fingerprint, KeyID: k.keyID}); err != nil {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{Actor: who.Actor.String(), Action: audit.PlacePinReleased, Target: agent, Detail: map[string]any{"key_id": k.keyID}})
	})
	if err == nil {
		p.tell(subjectRevoked, agent)
		p.figures.stale()
	}
	return err
}

// RevokeTokens ends every session of an agent and its open polls. To whom the agent is
// not, it does not exist.
func (p *Place) RevokeTokens(ctx context.Context, who Visitor, agent string) (n int, err error) {
	mine, err := p.manages(ctx, who, agent)
	if err != nil {
		return 0, err
	}
	if !mine {
		return 0, mmp.ErrAgentNotFound
	}
	err = p.write(ctx, func(tx *store.Tx) error {
		if n, err = revoke(tx, agent); err != nil {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{Actor: who.Actor.String(), Action: audit.PlaceTokensRevoked, Target: agent, Detail: map[string]any{"count": n}})
	})
	if err == nil {
		p.tell(subjectRevoked, agent)
	}
	return n, err
}

// Polls is how many requests wait on this hub.
func (p *Place) Polls() int { return p.waiters.number() }

// noRows tells an empty answer from trouble.
func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
