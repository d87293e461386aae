package audit

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"parley.internal/internal/store"
)

// Checkpoint is a hub's word that the chain up to Seq ended in Hash.
type Checkpoint struct {
	Seq       int64
	At        time.Time
	Hash      Hash
	PublicKey ed25519.PublicKey
	Signature []byte
}

// text is what is signed.
func (c Checkpoint) text() []byte {
	return fmt.Appendf(nil, "parley-audit-checkpoint-v1\n%d\n%s\n%d\n%s", c.Seq, c.Hash, c.At.UnixMicro(), hex.EncodeToString(c.PublicKey))
}

// Valid reports whether the signature is right and its key is one of trusted.
func (c Checkpoint) Valid(trusted ...ed25519.PublicKey) bool {
	for _, key := range trusted {
		if key.Equal(c.PublicKey) {
			return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, c.text(), c.Signature)
		}
	}
	return false
}

// checkpoint signs the end of the chain, unless somebody did already.
func (l *Chain) checkpoint(ctx context.Context) (Checkpoint, error) {
	if l.opts.Key == nil {
		return Checkpoint{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var cp Checkpoint
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		end, err := l.lockHead(tx)
		if err != nil {
			return err
		}
		cp = l.sign(end)
		if end.seq == 0 {
			return nil
		}
		_, err = tx.Exec(`INSERT INTO audit_checkpoints (seq, at, hash, public_key, signature) VALUES (?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING`,
			cp.Seq, store.Micros(cp.At), cp.Hash[:], []byte(cp.PublicKey), cp.Signature)
		return err
	})
	if err == nil {
		l.tellNew()
	}
	return cp, err
}

// clockSkew is how far the clocks of hubs on one chain may be apart without one of
// them missing a checkpoint of another.
const clockSkew = 10 * time.Minute

// tellNew hands on what was signed since the last time, here or by other hubs.
func (l *Chain) tellNew() {
	if l.opts.OnCheckpoint == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	signed, err := l.signedSince(ctx, l.toldAt.Add(-clockSkew))
	if err != nil {
		l.opts.Logger.Error("checkpoints of the audit trail cannot be handed on", "error", err)
	}
	for _, cp := range signed {
		if _, known := l.told[cp.Hash]; !known && cp.Valid(l.trusted()...) {
			l.opts.OnCheckpoint(cp)
			l.hasTold(cp)
		}
	}
}

// hasTold remembers a checkpoint for as long as it could come up again.
func (l *Chain) hasTold(cp Checkpoint) {
	l.told[cp.Hash] = cp.At
	if !cp.At.After(l.toldAt) {
		return
	}
	l.toldAt = cp.At
	maps.DeleteFunc(l.told, func(_ Hash, at time.Time) bool { return at.Before(l.toldAt.Add(-clockSkew)) })
}

func (l *Chain) signedSince(ctx context.Context, since time.Time) (found []Checkpoint, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		found, err = scanCheckpoints(tx, selectCheckpoint+` WHERE at > ? ORDER BY at, seq`, since.UnixMicro())
		return err
	})
	return found, err
}

// Checkpoints lists up to limit of them, those that sign more than after, lowest first.
func (l *Chain) Checkpoints(ctx context.Context, after int64, limit int) (found []Checkpoint, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		found, err = scanCheckpoints(tx, selectCheckpoint+` WHERE seq > ? ORDER BY seq LIMIT ?`, after, limit)
		return err
	})
	return found, err
}

func scanCheckpoints(tx *store.Tx, query string, args ...any) ([]Checkpoint, error) {
	found := []Checkpoint{}
	err := tx.Each(store.IntoBy(&found, scanCheckpoint), query, args...)
	return found, err
}

func (l *Chain) sign(end head) Checkpoint {
	cp := Checkpoint{Seq: end.seq, At: time.UnixMicro(time.Now().UnixMicro()).UTC(), Hash: end.hash, PublicKey: l.opts.Key.Public().(ed25519.PublicKey)}
	cp.Signature = ed25519.Sign(l.opts.Key, cp.text())
	return cp
}

// trusted are the keys whose checkpoints count.
func (l *Chain) trusted() []ed25519.PublicKey {
	keys := append([]ed25519.PublicKey{}, l.opts.Trusted...)
	if l.opts.Key != nil {
		keys = append(keys, l.opts.Key.Public().(ed25519.PublicKey))
	}
	return keys
}

const selectCheckpoint = `SELECT seq, at, hash, public_key, signature FROM audit_checkpoints`

func scanCheckpoint(row store.Row) (Checkpoint, error) {
	var cp Checkpoint
	var at int64
	var hash []byte
	err := row.Scan(&cp.Seq, &at, &hash, (*[]byte)(&cp.PublicKey), &cp.Signature)
	cp.At = store.Time(at)
	cp.Hash = exactHash(hash)
	return cp, err
}

// lastCheckpoint is zero when there is none.
func (l *Chain) lastCheckpoint(ctx context.Context) (Checkpoint, error) {
	var cp Checkpoint
	err := l.db.Read(ctx, func(tx *store.Tx) (err error) {
		cp, err = scanCheckpoint(tx.QueryRow(selectCheckpoint + ` ORDER BY seq DESC LIMIT 1`))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Checkpoint{}, nil
	}
	return cp, err
}
