package place

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/lease"
	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/board"
)

// How long things are kept after they ended, and how much at a time is swept.
const (
	auditLife = 30 * 24 * time.Hour
	auditMost = 1_000_000
	hoursLife = 400 * 24
)

// housekeep sweeps, sums and keeps peers company. Of several hubs one does.
func (p *Place) housekeep(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var mine *lease.Lease
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		mine = p.hold(ctx, mine)
		p.leading.Store(mine != nil || p.d.Leases == nil)
		if !p.leading.Load() {
			continue
		}
		if err := p.chores(ctx, n); err != nil && ctx.Err() == nil {
			p.d.Log.Warn("place: housekeeping failed", "error", err)
		}
	}
}

// hold takes or keeps the lease of the housekeeper; nil when another hub has it.
func (p *Place) hold(ctx context.Context, mine *lease.Lease) *lease.Lease {
	if p.d.Leases == nil {
		return nil
	}
	if mine != nil {
		select {
		case <-mine.Lost():
		default:
			return mine
		}
	}
	got, err := p.d.Leases.Acquire(ctx, "place.housekeeper")
	var held *lease.HeldError
	if err != nil && !errors.As(err, &held) && ctx.Err() == nil {
		p.d.Log.Warn("place: no housekeeper's lease", "error", err)
	}
	return got
}

func (p *Place) chores(ctx context.Context, n int) error {
	errs := []error{p.Sweep(ctx)}
	if n%5 == 0 {
		errs = append(errs, p.rollUp(ctx))
	}
	if n%60 == 30 {
		errs = append(errs, p.trim(ctx), p.recount(ctx), p.oldSalt(ctx), p.digest(ctx))
	}
	return errors.Join(errs...)
}

// Sweep ends what has expired: messages leave their queue with an audit entry, the
// rest just goes. What is expired is never served, swept or not.
func (p *Place) Sweep(ctx context.Context) error {
	for {
		gone, err := p.relay.Expire(ctx)
		if err != nil {
			return p.storage(err)
		}
		if len(gone) == 0 {
			break
		}
		p.figures.stale()
	}
	now := p.now()
	gone := now.Add(-5 * time.Second)
	return p.deleteSome(ctx, []sweeping{
		{`place_nonces`, `nonce`, `expires_at <= ?`, []any{store.Micros(now)}},
		{`place_tokens`, `hash`, `expires_at <= ?`, []any{store.Micros(now.Add(-time.Minute))}},
		{`place_postings`, `id`, `expires_at <= ?`, []any{store.Micros(now)}},
		{`place_meetings`, `id`, `started_at <= ?`, []any{store.Micros(now.Add(-talkLife))}},
		{`place_needs`, `agent`, `expires_at <= ?`, []any{store.Micros(now)}},
		// One further life in which a heartbeat revives. The first condition has an
		// index, so that nobody alive is looked at.
		{`place_agents`, `id`, `expires_at <= ? AND expires_at + ttl <= ?`, []any{store.Micros(gone.Add(-min(p.c.RegistryTTL, p.c.ProvenTTL))), store.Micros(gone)}},
		{`place_messages`, `num`, `state <> 0 AND changed_at <= ?`, []any{store.Micros(now.Add(-relay.KeepFates))}},
	})
}

type sweeping struct {
	table, key, where string
	args              []any
}

// deleteSome asks before it writes, since mostly there is nothing.
func (p *Place) deleteSome(ctx context.Context, all []sweeping) error {
	for _, s := range all {
		found := false
		err := p.read(ctx, func(tx *store.Tx) error {
			var one int
			err := tx.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM `+s.table+` WHERE `+s.where+` LIMIT 1) t`, s.args...).Scan(&one)
			found = one > 0
			return err
		})
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		err = p.write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(`DELETE FROM `+s.table+` WHERE `+s.key+` IN (SELECT `+s.key+` FROM `+s.table+` WHERE `+s.where+` LIMIT 2000)`, s.args...)
			return err
		})
		if err != nil {
			return fmt.Errorf("sweeping %s: %w", s.table, err)
		}
		p.figures.stale()
	}
	return nil
}

// trim bounds the audit and its sums.
func (p *Place) trim(ctx context.Context) error {
	now := p.now()
	return p.write(ctx, func(tx *store.Tx) error {
		rolled, err := rolledTo(tx)
		if err != nil {
			return err
		}
		// The newest entry stays: the next one is numbered after it.
		if _, err := tx.Exec(`DELETE FROM place_audit WHERE seq <= ? AND seq IN (SELECT seq FROM place_audit WHERE at < ? ORDER BY seq LIMIT 5000)
			AND seq < (SELECT max(seq) FROM place_audit)`,
			rolled, store.Micros(now.Add(-auditLife))); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM place_audit WHERE seq <= ? AND seq <= (SELECT COALESCE(max(seq), 0) FROM place_audit) - ?`, rolled, auditMost); err != nil {
			return err
		}
		first := store.Micros(now)/hourMicros - hoursLife
		if _, err := tx.Exec(`DELETE FROM place_hours WHERE hour < ?`, first); err != nil {
			return err
		}
		_, err = tx.Exec(`DELETE FROM place_hour_agents WHERE hour < ?`, first)
		return err
	})
}

// digest puts a hash of the last full hour into the hub's hash-chained trail,
// once: whoever changed the place's own audit later would not fit it.
func (p *Place) digest(ctx context.Context) error {
	hour := store.Micros(p.now())/hourMicros - 1
	name := strconv.FormatInt(hour, 10)
	var done, sum string
	var entries int
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		if done, err = getMeta(tx, "digested"); err == nil && done < name {
			sum, entries, err = auditDigest(tx, hour)
		}
		return err
	})
	if err != nil || done >= name {
		return err
	}
	return p.write(ctx, func(tx *store.Tx) error {
		if err := setMeta(tx, "digested", name); err != nil || entries == 0 {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{
			Actor: "hub", Action: audit.PlaceAuditDigest, Target: board.HourKey(store.Time(hour * hourMicros)), Digest: sum,
			Detail: map[string]any{"entries": entries},
		})
	})
}

// auditDigest hashes an hour's entries in order, walking back from the newest.
func auditDigest(tx *store.Tx, hour int64) (sum string, entries int, err error) {
	h := sha256.New()
	errDone := errors.New("enough")
	err = tx.Each(func(r *sql.Rows) error {
		a, err := scanAudit(r)
		switch {
		case err != nil:
			return err
		case a.at < hour*hourMicros:
			return errDone
		case a.at >= (hour+1)*hourMicros:
			return nil
		}
		for _, e := range slices.Backward(a.unpack()) {
			entries++
			_, _ = fmt.Fprintf(h, "%d %d %q %q %q %q %q %q %d %q %q\n", e.seq, e.at, e.event, e.action, e.agent, e.other, e.ref, e.kind, e.size, e.hash, e.detailRaw)
		}
		return nil
	}, auditColumns+` ORDER BY seq DESC`)
	if errors.Is(err, errDone) {
		err = nil
	}
	return hex.EncodeToString(h.Sum(nil)), entries, err
}
