package witness

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
)

// What can go wrong besides failures of the store.
var (
	// ErrInvalid says that something is no signed checkpoint.
	ErrInvalid = errors.New("not a signed checkpoint")
	// ErrFull says that no more is kept here, for this hub or at all.
	ErrFull = errors.New("no more checkpoints are kept here")
)

const (
	// maxHubs and maxPerHub bound what strangers with a token can make this hub keep.
	maxHubs   = 100
	maxPerHub = 500_000
	// maxAtOnce bounds one delivery.
	maxAtOnce = 1000
)

// Ledger keeps checkpoints that other hubs leave here.
type Ledger struct {
	db    *store.DB
	trail audit.Recorder
}

// NewLedger makes a ledger on a migrated store.
func NewLedger(db *store.DB, trail audit.Recorder) *Ledger { return &Ledger{db, trail} }

// Keep stores checkpoints that their own key signs and returns how many were new. The
// trail is told of each hub once: an entry for every checkpoint would have two hubs that
// witness each other write for ever.
func (l *Ledger) Keep(ctx context.Context, from string, cps []audit.Checkpoint) (added int64, err error) {
	if len(cps) == 0 || len(cps) > maxAtOnce {
		return 0, fmt.Errorf("%w: from 1 to %d at once", ErrInvalid, maxAtOnce)
	}
	for _, cp := range cps {
		if cp.Seq < 1 || len(cp.PublicKey) != ed25519.PublicKeySize || !cp.Valid(cp.PublicKey) {
			return 0, fmt.Errorf("%w: the one over entry %d", ErrInvalid, cp.Seq)
		}
	}
	err = l.db.Write(ctx, func(tx *store.Tx) error {
		added = 0
		for _, cp := range cps {
			n, err := l.keep(tx, from, cp)
			if err != nil {
				return err
			}
			added += n
		}
		return nil
	})
	return added, err
}

func (l *Ledger) keep(tx *store.Tx, from string, cp audit.Checkpoint) (int64, error) {
	key := hex.EncodeToString(cp.PublicKey)
	var mine, hubs int64
	err := tx.QueryRow(`SELECT (SELECT count(*) FROM audit_witnessed WHERE public_key = ?), (SELECT count(DISTINCT public_key) FROM audit_witnessed)`, key).Scan(&mine, &hubs)
	if err != nil {
		return 0, err
	}
	if mine >= maxPerHub || mine == 0 && hubs >= maxHubs {
		return 0, ErrFull
	}
	n, err := tx.Exec(`INSERT INTO audit_witnessed (public_key, seq, at, hash, signature, received_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		key, cp.Seq, cp.At.UnixMicro(), cp.Hash[:], cp.Signature, store.Micros(time.Now()))
	if err != nil || mine > 0 {
		return n, err
	}
	return n, l.trail.AppendTx(tx, audit.Entry{Actor: from, Action: audit.WitnessAdded, Target: key})
}

// Of lists up to limit checkpoints of a hub, those that sign more than after, lowest first.
func (l *Ledger) Of(ctx context.Context, key ed25519.PublicKey, after int64, limit int) (found []audit.Checkpoint, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		found = []audit.Checkpoint{}
		return tx.Each(func(row *sql.Rows) error {
			cp := audit.Checkpoint{PublicKey: key}
			var at int64
			var hash []byte
			err := row.Scan(&cp.Seq, &at, &hash, &cp.Signature)
			cp.At = store.Time(at)
			copy(cp.Hash[:], hash)
			found = append(found, cp)
			return err
		}, `SELECT seq, at, hash, signature FROM audit_witnessed WHERE public_key = ? AND seq > ? ORDER BY seq, at LIMIT ?`, hex.EncodeToString(key), after, limit)
	})
	return found, err
}
