package identity

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/store"
)

// revokedSubject carries changes between hubs.
const revokedSubject = "identity.revoked"

// ref names a credential that an actor depends on.
type ref struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// The kinds of refs.
const (
	refToken = "token"
	refPage  = "page"
)

// change is one line of the change log. Only a revocation ends live sessions;
// any change makes hubs forget what they have in memory.
type change struct {
	ref
	Revoked bool `json:"revoked"`
}

// refs are what the actor depends on. A device or person is revoked by
// revoking its tokens and pages, whose ids are never used again.
func (a Actor) refs() []ref {
	var refs []ref
	if a.TokenID != "" {
		refs = append(refs, ref{refToken, a.TokenID})
	}
	if a.PageID != "" {
		refs = append(refs, ref{refPage, a.PageID})
	}
	return refs
}

// write numbers the change in the transaction that makes it. The clock's row
// stays locked until the commit, so numbers become visible in order.
func (c change) write(tx *store.Tx) error {
	var seq int64
	if err := tx.QueryRow(`UPDATE identity_clock SET seq = seq + 1 WHERE one = 1 RETURNING seq`).Scan(&seq); err != nil {
		return err
	}
	what := "changed"
	if c.Revoked {
		what = "revoked"
	}
	_, err := tx.Exec(`INSERT INTO identity_changes (seq, kind, id, what, at) VALUES (?, ?, ?, ?, ?)`,
		seq, c.Kind, c.ID, what, store.Micros(time.Now()))
	return err
}

// announce makes committed changes known here and on the other hubs.
func (d *Directory) announce(changes ...change) {
	for _, c := range changes {
		d.apply(c)
		data, err := json.Marshal(c)
		if err == nil {
			err = d.bus.Publish(revokedSubject, data)
		}
		if err != nil {
			d.opts.Logger.Warn("a revocation reaches other hubs late", "error", err)
		}
	}
}

// apply is idempotent: the same change comes by bus and by the log.
func (d *Directory) apply(c change) {
	d.cache.drop(c.ref)
	if c.Revoked {
		d.live.revoke(c.ref)
	}
}

// heard takes a change from the bus.
func (d *Directory) heard(m bus.Msg) {
	var c change
	if err := json.Unmarshal(m.Data, &c); err != nil {
		d.opts.Logger.Warn("unreadable identity change", "error", err)
		return
	}
	d.apply(c)
}

// follow asks the store for changes the bus may have lost.
func (d *Directory) follow(ctx context.Context) {
	tick := time.NewTicker(d.opts.Recheck)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.sub.Lagged():
		}
		err := d.catchUp(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			d.opts.Logger.Error("cannot look for revocations", "error", err)
		}
		failing = err != nil
	}
}

// catchUp applies what the log has beyond d.applied.
func (d *Directory) catchUp(ctx context.Context) error {
	asked := time.Now()
	newest, err := d.clock(ctx)
	if err != nil {
		return err
	}
	if newest > d.applied {
		missed, last, err := d.changesAfter(ctx, d.applied)
		if err != nil {
			return err
		}
		for _, c := range missed {
			d.apply(c)
		}
		d.applied = last
	}
	d.cache.confirm(asked)
	return nil
}

func (d *Directory) clock(ctx context.Context) (int64, error) {
	var seq int64
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT seq FROM identity_clock WHERE one = 1`).Scan(&seq)
	})
	return seq, err
}

func (d *Directory) changesAfter(ctx context.Context, after int64) (changes []change, last int64, err error) {
	err = d.db.Read(ctx, func(tx *store.Tx) error {
		changes, last = nil, after
		return tx.Each(func(row *sql.Rows) error {
			var c change
			var what string
			err := row.Scan(&last, &c.Kind, &c.ID, &what)
			c.Revoked = what == "revoked"
			changes = append(changes, c)
			return err
		}, `SELECT seq, kind, id, what FROM identity_changes WHERE seq > ? ORDER BY seq`, after)
	})
	return changes, last, err
}
