package keylog

import (
	"crypto/ed25519"
	"database/sql"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// reader reads stored hashes of the tree.
func reader(tx *store.Tx) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, at := range indexes {
			var raw []byte
			if err := tx.QueryRow(`SELECT hash FROM place_key_hashes WHERE i = ?`, at).Scan(&raw); err != nil {
				return nil, err
			}
			copy(out[i][:], raw)
		}
		return out, nil
	})
}

// Size is how many bindings there are.
func Size(tx *store.Tx) (n int64, err error) {
	err = tx.QueryRow(`SELECT COALESCE(max(n) + 1, 0) FROM place_key_log`).Scan(&n)
	return n, err
}

// Append adds a binding. The caller keeps other writers away until it commits.
func Append(tx *store.Tx, b mmp.Binding, pem string) error {
	leaf, err := b.Leaf()
	if err != nil {
		return err
	}
	n, err := Size(tx)
	if err != nil {
		return err
	}
	hashes, err := tlog.StoredHashes(n, []byte(leaf), reader(tx))
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO place_key_log (n, agent, key_id, leaf, pem) VALUES (?, ?, ?, ?, ?)`, n, b.AgentID, b.KeyID, leaf, pem); err != nil {
		return err
	}
	first := tlog.StoredHashIndex(0, n)
	for i, h := range hashes {
		if _, err := tx.Exec(`INSERT INTO place_key_hashes (i, hash) VALUES (?, ?)`, first+int64(i), h[:]); err != nil {
			return err
		}
	}
	return nil
}

// Head signs the log as it is.
func Head(tx *store.Tx, key ed25519.PrivateKey) (mmp.Head, error) {
	n, err := Size(tx)
	if err != nil {
		return mmp.Head{}, err
	}
	root, err := tlog.TreeHash(n, reader(tx))
	h := mmp.Head{Size: n, Root: root}
	h.Sign(key)
	return h, err
}

// Prove shows that an id's key is in the log; nil when it is not.
func Prove(tx *store.Tx, key ed25519.PrivateKey, agent, keyID string) (*mmp.Inclusion, error) {
	var in mmp.Inclusion
	err := tx.QueryRow(`SELECT n, leaf FROM place_key_log WHERE agent = ? AND key_id = ? ORDER BY n DESC LIMIT 1`, agent, keyID).Scan(&in.Index, &in.Leaf)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if in.Head, err = Head(tx, key); err != nil {
		return nil, err
	}
	in.Proof, err = tlog.ProveRecord(in.Head.Size, in.Index, reader(tx))
	return &in, err
}

// Consistency shows that the log of length to continues that of length from.
func Consistency(tx *store.Tx, from, to int64) ([]tlog.Hash, error) {
	n, err := Size(tx)
	if err != nil {
		return nil, err
	}
	if from < 1 || from > to || to > n {
		return nil, mmp.InvalidParam("from")
	}
	return tlog.ProveTree(to, from, reader(tx))
}

// mostBindings is how much of an id's history is told: the newest.
const mostBindings = 200

// History lists an id's bindings, the oldest first.
func History(tx *store.Tx, agent string) ([]mmp.Logged, error) {
	out := []mmp.Logged{}
	err := tx.Each(func(r *sql.Rows) error {
		var l mmp.Logged
		err := r.Scan(&l.Index, &l.Leaf, &l.PublicKey)
		out = append(out, l)
		return err
	}, `SELECT n, leaf, pem FROM (SELECT n, leaf, pem FROM place_key_log WHERE agent = ? ORDER BY n DESC LIMIT ?) newest ORDER BY n`, agent, mostBindings)
	return out, err
}
