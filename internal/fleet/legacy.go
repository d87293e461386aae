package fleet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// mintLegacy makes a bearer for an endpoint without keys. Earlier ones stay good
// until the new one is first used, or their grace ends.
func (f *Fleet) mintLegacy(tx *store.Tx, req MintRequest, hash string, minted *Minted, now time.Time) error {
	if !f.d.InsecureLegacyTokens {
		return fault.Errorf(fault.Conflict, "bearer tokens of endpoints without keys are switched off (fleet.legacy_tokens)")
	}
	held, err := heldKeys(tx, req.Machine)
	if err != nil {
		return err
	}
	if len(held) > 0 {
		return fault.Errorf(fault.Conflict, "the machine %q has a key; it is never accepted by bearer", req.Machine)
	}
	if req.TTL == 0 {
		minted.Expires = now.Add(legacyLife).UTC()
	}
	grace := f.d.Limits.KeyGrace
	if req.Grace != nil {
		grace = max(*req.Grace, 0)
	}
	until := store.Micros(now.Add(grace))
	if _, err := tx.Exec(`UPDATE fleet_legacy SET expires_at = ? WHERE machine = ? AND expires_at > ?`, until, req.Machine, until); err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO fleet_legacy (hash, machine, created_at, expires_at, proved_at) VALUES (?, ?, ?, ?, 0)`,
		hash, req.Machine, store.Micros(now), store.Micros(minted.Expires))
	return err
}

// proveLegacy accepts a bearer, if that is switched on, for a machine that has no
// key and a register without any sign of the newer handshake.
func (f *Fleet) proveLegacy(ctx context.Context, g *Greeting, m *machine) (*machine, string, error) {
	refuse := func(why string) (*machine, string, error) { return nil, "", fmt.Errorf("%w: %s", ErrRefused, why) }
	switch {
	case !f.d.InsecureLegacyTokens:
		return refuse("bearer tokens are switched off")
	case g.reg.Protocol != "" || g.reg.ClientNonce != nil:
		return refuse("neither the signature handshake nor the plain bearer one")
	case g.reg.Token == "" || m == nil:
		return refuse("unknown id or no token")
	case len(m.record().keys) > 0:
		return refuse("a machine with a key is not accepted by bearer")
	}
	hash := hashOf(g.reg.Token)
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		now := store.Micros(time.Now())
		var proved int64
		err := tx.QueryRow(`SELECT proved_at FROM fleet_legacy WHERE hash = ? AND machine = ? AND expires_at > ?`, hash, m.id, now).Scan(&proved)
		if err != nil || proved != 0 {
			return err
		}
		// First use of a rotated token ends the older ones.
		if _, err := tx.Exec(`UPDATE fleet_legacy SET expires_at = ? WHERE machine = ? AND hash <> ? AND created_at < (SELECT created_at FROM fleet_legacy WHERE hash = ?)`, now, m.id, hash, hash); err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE fleet_legacy SET proved_at = ? WHERE hash = ?`, now, hash)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return refuse("the bearer is not valid")
	}
	if err != nil {
		return nil, "", err
	}
	f.stats.Handshake("legacy")
	f.events.Hub(m.id, kenny.LevelWarn, "legacy", "connected with a bearer token instead of a key", map[string]any{"address": g.address})
	return m, "", nil
}
